import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeWorkspace } from '../../../../test/e2e/support/workspace.ts';
import { packFiles } from '../../../adapters/pack-for-tests.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { createDefaultRuntime } from '../../default.ts';

const greeting = { type: 'string', default: 'hello' };
const config = (properties: object) => ({ type: 'object', properties, additionalProperties: true });
const echo = { kind: 'cli', cmd: ['echo', '{{ config.greeting }} {{ config.who }}'] };
const rest = { templating: { engine: 'jinja2' }, outputSchema: { type: 'string' } };
const FILES = packFiles([
  ['p.greet', echo, { ...rest, config: config({ greeting }) }],
  ['p.name', echo, { ...rest, config: config({ who: { type: 'string', default: 'all', minLength: 2 } }) }],
]);

async function withPack<T>(given: JsonObject, use: (call: () => Promise<unknown>) => Promise<T>): Promise<T> {
  const policy = { version: 1, packs: [{ path: 'packs/p', config: given }], shell_allow: ['^echo(\\s|$)'] };
  const workspace = makeWorkspace({ ...FILES, 'haft.yaml': JSON.stringify(policy) });
  try {
    const runtime = await createDefaultRuntime({ workspace: workspace.root });
    try {
      return await use(async () => (await runtime.call({ tool: 'p.greet', args: {} })).data);
    } finally {
      await runtime.close();
    }
  } finally {
    workspace.remove();
  }
}

describe('a folder of tools', () => {
  it('is configured with the defaults of its tools where haft.yaml says nothing', async () => {
    assert.equal(await withPack({}, (call) => call()), 'hello all');
    assert.equal(await withPack({ who: 'ada' }, (call) => call()), 'hello ada');
  });

  it('is refused with a config that one of its tools cannot take', async () => {
    await assert.rejects(
      withPack({ who: 'x' }, (call) => call()),
      { reason: 'pack.invalid', message: /for p\.name config\/who/ },
    );
  });

  it('tells of a file by its path, once', async () => {
    const files = packFiles([['p.braces', { kind: 'cli', cmd: ['echo', '{{ input.x }}'] }]]);
    const workspace = makeWorkspace({ ...files, 'haft.yaml': 'version: 1\npacks: [packs/p]\n' });
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    try {
      await (await createDefaultRuntime({ workspace: workspace.root, onWarning })).close();
      assert.match(warnings.join('\n'), /^packs\/p\/p\.braces\.tool\.yaml:1: /m);
    } finally {
      workspace.remove();
    }
  });
});
