// Owns: for tests of the file tools, a harness with the real files and a real object store.
// Refuses: a policy; tests say what is denied where that is what they are about.
import { after } from 'node:test';
import { createFsHandle } from '../../capabilities/fs/handle.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';

/** Await it while a test file loads: it adds a hook that removes the workspace. */
export async function fileHarness(): Promise<ToolHarness> {
  const harness = await createToolHarness({
    capabilities: { fs: createFsHandle },
    openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
    schemas: createSchemaCompiler(),
  });
  after(() => harness.close());
  return harness;
}
