// Owns: one sandbox for each set of toolchains and packs that policy names, made when it is first needed, and what all
// programs of a runtime remember of the folders that they are shown.
// Refuses: to keep one open beyond the runtime.
import type { CallScope } from '../../contract/capability.ts';
import type { SandboxHandle } from '../../contract/sandbox.ts';
import { createFenceFinder } from './fences/find-fences.ts';
import type { ProcessNames } from './fences/placeholders.ts';
import type { FenceKeeper } from './fences/with-fences.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';

export interface Sandboxes {
  of(scope: CallScope): SandboxHandle;
  readonly fences: FenceKeeper;
  close(): Promise<void>;
}

export function createSandboxes(names: ProcessNames): Sandboxes {
  const made = new Map<string, SandboxHandle>();
  return {
    fences: { ...createFenceFinder(), names },
    of({ root, policy: { programs, packs } }) {
      const key = JSON.stringify([programs, packs]);
      const known = made.get(key);
      if (known) return known;
      const sandbox = createSandbox({ workspace: root, toolchains: programs, readOnly: packs });
      made.set(key, sandbox);
      return sandbox;
    },
    async close() {
      await Promise.all([...made.values()].map((sandbox) => sandbox.close()));
    },
  };
}
