// Owns: a temporary workspace with toolpacks of examples/ in it, and a runtime on it that needs no engine.
// Refuses: to leave anything behind.
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '../../../src/base/digest.ts';
import type { CallResponse } from '../../../src/contract/envelope.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { ObjectId } from '../../../src/contract/object-store.ts';
import type { RunData, RunParts } from '../../../src/contract/runs.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../../src/preset/default.ts';
import { writeTrusted } from '../../../src/preset/trust/trust-for-tests.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples/toolpacks');

export interface ToolpackWorkspace {
  readonly root: string;
  /** Started on first use, and again after `restart`. */
  runtime(): Promise<DefaultRuntime>;
  restart(): Promise<DefaultRuntime>;
  import(content: string): Promise<ObjectId>;
  call(tool: string, args: JsonObject): Promise<CallResponse & { readonly data: RunData }>;
  /** What images are, on a machine that has none. */
  image: string;
}

export async function withToolpacks(
  names: readonly string[],
  use: (workspace: ToolpackWorkspace) => Promise<void>,
  policy = '',
): Promise<void> {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-toolpacks-')));
  for (const name of names) cpSync(join(EXAMPLES, name), join(root, 'toolpacks', name), { recursive: true });
  const packs = names.map((name) => `  - toolpacks/${name}\n`).join('');
  writeTrusted(join(root, 'haft.yaml'), `version: 1\npacks:\n${packs}${policy}`);
  let runtime: DefaultRuntime | undefined;
  const workspace: ToolpackWorkspace = {
    root,
    image: fakeDigest('first'),
    async runtime() {
      runtime ??= await createDefaultRuntime({
        workspace: root,
        runs: (usual: RunParts) => ({ ...usual, pinImage: async () => workspace.image }),
      });
      return runtime;
    },
    async restart() {
      await runtime?.close();
      runtime = undefined;
      return workspace.runtime();
    },
    async import(content) {
      const artifacts = await (await workspace.runtime()).artifacts();
      return (await artifacts.importBytes(Buffer.from(content))).id;
    },
    async call(tool, args) {
      return (await (await workspace.runtime()).call({ tool, args })) as CallResponse & { data: RunData };
    },
  };
  try {
    await use(workspace);
  } finally {
    await runtime?.close();
    rmSync(root, { recursive: true, force: true });
  }
}

export const fakeDigest = (name: string): string => `sha256:${sha256Hex(name)}`;
