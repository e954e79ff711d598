// Owns: a workspace with a toolpack, a tool that lacks its secret and links that lead anywhere, for what is explained and then called.
// Refuses: to ask an engine of this machine for a run, and to leave anything behind.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Backend } from '../../../src/contract/backend.ts';
import { fail } from '../../../src/contract/errors.ts';
import type { LoadedPolicy, PolicyFile } from '../../../src/contract/policy.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../../src/preset/default.ts';
import { FILES, IMAGE, KEYED, LINKS } from './explained-calls.ts';
import { withToolpacks } from './toolpack-workspace.ts';

/** `lay` makes the tree what it is at the start of a call. */
export async function inExplained(
  use: (runtime: DefaultRuntime, lay: () => void) => Promise<void>,
): Promise<void> {
  const outside = mkdtempSync(join(tmpdir(), 'haft-outside-'));
  writeFileSync(join(outside, 'there.txt'), 'x\n');
  const work = async ({ root }: { readonly root: string }) => {
    const kept = new Set([...readdirSync(root), '.haft', 'packs']);
    make(join(root, 'packs/keyed/get.tool.yaml'), KEYED);
    const runtime = await createDefaultRuntime({
      workspace: root,
      runs: (usual) => ({
        ...usual,
        pinImage: async () => IMAGE,
        backends: usual.backends.map((one) => (one.name === 'local' ? one : absent(one.name))),
      }),
    });
    try {
      await use(runtime, () => {
        for (const name of readdirSync(root))
          if (!kept.has(name)) rmSync(join(root, name), { recursive: true, force: true });
        for (const file of FILES) make(join(root, file), 'x\n');
        for (const [name, to] of Object.entries(LINKS))
          symlinkSync(to === 'OUTSIDE' ? outside : to, join(root, name));
      });
    } finally {
      await runtime.close();
    }
  };
  await withToolpacks(['word_count'], work, '  - packs/keyed\n').finally(() =>
    rmSync(outside, { recursive: true, force: true }),
  );
}

const absent = (name: string): Backend => ({
  name,
  start: async () => {
    throw fail('usage', `${name} is not there`);
  },
  find: async () => undefined,
  reap: async () => [],
  close: async () => {},
});

const make = (file: string, content: string) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
};

/** The packs stay; all else is what is said. */
export const withSections = (loaded: LoadedPolicy, said: Partial<PolicyFile>): LoadedPolicy => ({
  ...loaded,
  file: {
    version: 1,
    ...(JSON.parse(JSON.stringify(said)) as object),
    ...(loaded.file.packs ? { packs: loaded.file.packs } : {}),
  },
});
