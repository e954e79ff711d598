// Owns: one sandbox for each set of toolchains and packs that policy names, made when it is first needed.
// Refuses: to keep one open beyond the runtime.
import type { CallScope } from '../../contract/capability.ts';
import type { SandboxHandle } from '../../contract/sandbox.ts';
import { findRepositories } from './repositories.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';

export interface Sandboxes {
  of(scope: CallScope): SandboxHandle;
  close(): Promise<void>;
}

export function createSandboxes(): Sandboxes {
  const made = new Map<string, SandboxHandle>();
  return {
    of({ root, policy: { programs, packs } }) {
      const key = JSON.stringify([programs, packs]);
      const known = made.get(key);
      if (known) return known;
      const readOnly = [...packs, ...findRepositories(root)];
      const sandbox = createSandbox({ workspace: root, toolchains: programs, readOnly });
      made.set(key, sandbox);
      return sandbox;
    },
    async close() {
      await Promise.all([...made.values()].map((sandbox) => sandbox.close()));
    },
  };
}
