// Owns: what `haft tools check` prints, and its exit codes.
// Refuses: the rules themselves; loader/tool-yaml has those.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePack, manifest } from '../../../loader/tool-yaml/pack-for-tests.ts';
import { runForTests } from '../run-for-tests.ts';

const run = (...args: string[]) => runForTests(['tools', 'check', ...args]);

describe('haft tools check', () => {
  it('says that a pack is fine', async () => {
    const folder = makePack({ 'a.tool.yaml': manifest(), 'b/c.tool.yaml': manifest({ id: 'demo.c' }) });
    assert.deepEqual(await run(folder), { exit: 0, out: '2 tools are fine\n', err: '' });
    assert.deepEqual(JSON.parse((await run(folder, '--json')).out), {
      ok: true,
      tools: ['demo.c', 'demo.tool'],
      diagnostics: [],
    });
  });

  it('prints every problem where a terminal finds it, and exits with 2', async () => {
    const folder = makePack({
      'a.tool.yaml': manifest({ timeoutMs: 'true', timeout: '1' }),
      'sub/b.tool.yaml': 'id: X',
    });
    const { exit, out, err } = await run(`${folder}/`);
    assert.equal(exit, 2);
    assert.equal(out, '2 tools, 10 problems\n');
    assert.ok(
      err.includes(`${folder}/a.tool.yaml:4:12: error timeout.invalid: timeoutMs: expected a whole number`),
      err,
    );
    assert.ok(
      err.includes(`${folder}/a.tool.yaml:9:1: error key.unknown`) &&
        err.includes('hint: did you mean timeoutMs?'),
      err,
    );
    assert.ok(err.includes(`${folder}/sub/b.tool.yaml:1:5: error id.invalid`), err);
  });

  it('counts a script that is not there as a problem, and says the path of a file once', async () => {
    const root = makePack({
      'haft.yaml': 'version: 1\n',
      'packs/a.tool.yaml': manifest({ execution: '{ kind: python, script: gone.py }' }),
      'packs/b.tool.yaml': manifest({
        id: 'demo.b',
        inputSchema: "{ $ref: '../schemas/x.json' }",
        execution: "{ kind: cli, cmd: [echo, '{{ input.x }}'] }",
      }),
      'schemas/x.json': '{"type": "object"}',
    });
    const { exit, out, err } = await run(join(root, 'packs'), '--workspace', root);
    assert.deepEqual([exit, out], [2, '2 tools, 1 problem, 1 warning\n']);
    assert.match(
      err,
      /packs\/a\.tool\.yaml:\d+:\d+: error script\.missing: execution\.script: there is no file "gone\.py"/,
    );
    assert.equal(err.split('packs/a.tool.yaml').length, 2);
  });

  it('checks several folders together, and tells one that is not there', async () => {
    const [one, two] = [makePack({ 'a.tool.yaml': manifest() }), makePack({ 'b.tool.yaml': manifest() })];
    const { exit, err } = await run(one, two, join(one, 'no'));
    assert.equal(exit, 2);
    assert.ok(err.includes('id.duplicate') && err.includes(`${one}/no:1:1: error pack.missing`), err);
  });

  it('says where there is nothing to check, and which command checks a toolpack', async () => {
    const [none, pack] = [makePack({ 'README.md': 'x' }), makePack({ 'a.tool.yaml': manifest() })];
    const empty = await run(pack, none);
    assert.deepEqual([empty.exit, empty.out], [2, '1 tool, 1 problem\n']);
    assert.ok(
      empty.err.includes(`${none}:1:1: error pack.empty: There is no *.tool.yaml file in it`),
      empty.err,
    );
    const toolpack = makePack({ 'package.json': '{"haft": {"toolpack": "toolpack.ts"}}', 'toolpack.ts': '' });
    const other = await run(toolpack);
    assert.equal(other.exit, 2);
    assert.ok(other.err.includes(`hint: haft toolpack check ${toolpack}`), other.err);
  });

  it('says of what is no folder that it is none, and why', async () => {
    const pack = makePack({ 'a.tool.yaml': manifest() });
    for (const [path, says] of [
      ['a.tool.yaml', 'It is not a folder'],
      ['a.tool.yaml/x', 'a part of its path is a file'],
      ['n'.repeat(300), 'its name is too long'],
      ['nope', 'There is no such folder; check the path'],
    ] as const)
      for (const command of ['tools', 'toolpack']) {
        const { exit, err } = await runForTests([command, 'check', join(pack, path)]);
        assert.equal(exit, 2);
        assert.ok(err.startsWith(`${join(pack, path)}:1:1: error pack.`) && err.includes(says), err);
      }
  });

  it('shows its help, and wants a folder', async () => {
    assert.match((await run('--help')).out, /^usage: haft tools check DIR…[\s\S]*haft tools check packs/);
    assert.equal((await run()).exit, 2);
  });
});
