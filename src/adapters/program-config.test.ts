import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from '../base/redact/create-redactor.ts';
import { installationOf } from '../contract/tools-for-tests.ts';
import { fillConfig, programOf } from './program-config.ts';

const SELF = import.meta.filename;
const FOLDER = import.meta.dirname;
const MODULES = FOLDER.replace(/src\/adapters$/, 'node_modules');

describe('programOf', () => {
  const COMMANDS: readonly (readonly [command: readonly [string, ...string[]], parts: readonly string[]])[] =
    [
      [['node', SELF, '/etc'], [FOLDER]],
      [['node', '--no-warnings', SELF], [FOLDER]],
      [['/usr/bin/python3', SELF], [FOLDER]],
      [['node', `${MODULES}/fast-check/package.json`], [MODULES]],
      [['node', 'node_modules/a/dist/x.js'], ['node_modules']],
      [['node', './sub/node_modules/a/node_modules/b/x.js'], ['sub/node_modules']],
      [['node', 'servers/x.js'], ['servers']],
      [['./bin/server', 'notes/a'], ['bin']],
      [['node', './x.js'], []],
      [['node', 'a/../x.js'], []],
      [
        ['node', '--import', './lib/a.mjs', 'servers/x.js'],
        ['lib', 'servers'],
      ],
      [['env', 'node', 'servers/x.js'], ['servers']],
      [['python3', '-W', 'ignore', 'srv/x.py'], ['srv']],
      [['node', '-e', 'import("./a/b")'], []],
      [['python3', '-m', 'a/b'], []],
      [['bash', '-lc', 'x/y'], []],
      [['jq', '.a/.b'], []],
      [['/usr/bin/env'], []],
      [['node', '/no/such/file.js'], []],
    ];
  for (const [command, parts] of COMMANDS)
    it(`knows what ${command.map((word) => word.replace(FOLDER, '…').replace(MODULES, '…')).join(' ')} is made of`, () => {
      assert.deepEqual(programOf({ command }).needs.parts, parts);
    });

  it('grants nothing that the config does not', () => {
    const { env, needs } = programOf({ command: ['x'] }, { SECRET: '1' });
    assert.deepEqual(
      [env, needs],
      [{}, { parts: [], named: ['x'], reads: [], writes: [], network: [], subprocess: false }],
    );
    const passed = programOf(
      { command: ['x'], env: { passthrough: ['A', 'B'], set: { B: '3', C: '4' } } },
      { A: '1', B: '2' },
    );
    assert.deepEqual(passed.env, { A: '1', B: '3', C: '4' });
    const own = programOf(
      { command: ['x'], env: { passthrough: ['HAFT_KEY', 'A'] } },
      { HAFT_KEY: 'k', A: '1' },
    );
    assert.deepEqual(own.env, { A: '1' });
  });
});

const hub = installationOf('hub', {});

describe('fillConfig', () => {
  it('puts secrets and granted variables in, where they are named, and nowhere else', async () => {
    const config = {
      command: ['{{ not.filled }}'],
      credentials: ['hub'],
      env: { passthrough: ['WHO'], set: { TOKEN: '{{ credentials.hub.token }}', PLAIN: 'x' } },
      headers: {
        authorization: 'Bearer {{ credentials.hub.token }}',
        'x-who': '{{ env.WHO }}{{ env.SECRET }}',
      },
    };
    const asked: unknown[] = [];
    const secretsFor = async (_: unknown, providers: readonly string[]) => {
      asked.push(providers);
      const secrets = { hub: { token: 's3cret' } };
      return { secrets, redactor: createRedactor({ secrets: ['s3cret'] }) };
    };
    const filled = await fillConfig(config, hub, secretsFor, { WHO: 'ada', SECRET: 'no' });
    assert.equal(filled.redactor?.text('as s3cret'), 'as [redacted]');
    assert.deepEqual(filled.config, {
      ...config,
      env: { passthrough: ['WHO'], set: { TOKEN: 's3cret', PLAIN: 'x' } },
      headers: { authorization: 'Bearer s3cret', 'x-who': 'ada' },
    });
    assert.deepEqual(asked, [['hub']]);
  });

  it('asks for nothing where nothing is named', async () => {
    const config = { credentials: ['hub'], headers: { a: 'b' } };
    const filled = await fillConfig(config, hub, () => assert.fail('not needed'));
    assert.deepEqual(filled, { config, redactor: undefined });
  });

  it('refuses what is missing or cannot be filled in, without showing a value', async () => {
    const headers = { a: '{{ credentials.hub.token }}' };
    await assert.rejects(fillConfig({ credentials: ['hub'], headers }, hub, undefined), {
      reason: 'credentials.missing',
    });
    await assert.rejects(fillConfig({ headers }, hub, undefined), {
      reason: 'pack.invalid',
      message: 'Cannot fill in headers.a of "hub": "credentials.hub" is undefined',
    });
  });
});
