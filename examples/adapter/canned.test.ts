import assert from 'node:assert/strict';
import { it } from 'node:test';
import { installationOf } from '../../src/contract/tools-for-tests.ts';
import { adapterSuite } from '../../src/testing/adapter-suite.ts';
import { createCannedAdapter } from './canned.ts';

const tools = { echo: {}, fail: { fails: 'failed as asked' }, wait: { waits: true } };
const open = () => createCannedAdapter().open(installationOf('demo', { tools }), []);

adapterSuite('canned', async () => {
  const connection = open();
  return {
    connection,
    tools: { echo: 'demo.echo', fail: 'demo.fail', wait: 'demo.wait' },
    close: () => connection.close(),
  };
});

it('canned says which tools its config has', async () => {
  const found = await open().discover(new AbortController().signal);
  assert.deepEqual(
    found.tools.map(({ contract }) => contract.id),
    ['demo.echo', 'demo.fail', 'demo.wait'],
  );
});
