import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createFsHandle } from '../../src/capabilities/fs/handle.ts';
import { createSchemaCompiler } from '../../src/loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../src/stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../src/testing/tool-harness-for-tests.ts';
import { fileLineCount } from './file-line-count.ts';

describe('file_line_count', () => {
  let harness: ToolHarness;
  before(async () => {
    harness = await createToolHarness({
      capabilities: { fs: createFsHandle },
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
    });
  });
  after(() => harness.close());

  it('counts line feeds', async () => {
    harness.put('a.txt', 'one\ntwo\n');
    const { data, effects } = await harness.call(fileLineCount, { path: './a.txt' });
    assert.deepEqual(data, { lines: 2 });
    assert.deepEqual(effects, [{ kind: 'fs.read', path: 'a.txt' }]);
  });

  it('refuses what is not there', async () => {
    assert.equal((await harness.refuse(fileLineCount, { path: 'none' })).reason, 'path.not_found');
  });
});
