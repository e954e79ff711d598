// Owns: the exec capability as the preset wires it: a handle for each call, one set of sandboxes for all.
// Refuses: to load the sandbox before the first command, and to keep one open beyond the runtime.

import { once } from '../../base/once.ts';
import type { CallScope, Capability } from '../../contract/capability.ts';
import type { ExecHandle, OpenProxy } from '../../contract/exec.ts';
import type { Program } from '../../contract/program.ts';
import type { SandboxHandle } from '../../contract/sandbox.ts';
import type { Shells } from './background/create-shells.ts';
import type { ProcessNames } from './fences/placeholders.ts';
import type { FenceKeeper } from './fences/with-fences.ts';
import type { FencedProgram, Standing } from './run-program.ts';

export interface ExecCapability {
  /** The factory of `Capabilities.exec`. */
  open(scope: CallScope): ExecHandle;
  /** Background shells. */
  readonly shells: Capability<'shells'>;
  /** Ends every program and every sandbox. */
  close(): Promise<void>;
}

export function createExecCapability(openProxy: OpenProxy, names: ProcessNames): ExecCapability {
  let sandboxes: Promise<Sandboxes> | undefined;
  let specs: Promise<typeof import('./run-program.ts')> | undefined;
  let afterwards: Promise<typeof import('./fences/with-fences.ts')> | undefined;
  /** What was there when a call asked for the program that serves it; each call makes its own. */
  const asked = new WeakMap<Program, FencedProgram>();
  const load = (): Promise<Sandboxes> => {
    sandboxes ??= createSandboxes(names);
    return sandboxes;
  };
  const siteOf = (scope: CallScope, made: Sandboxes) => ({
    scope,
    sandbox: made.of(scope),
    fences: made.fences,
    openProxy,
  });
  let background: Promise<Shells> | undefined;
  const loadShells = (): Promise<Shells> => {
    background ??= Promise.all([
      load(),
      import('./run-shell.ts'),
      import('./background/create-shells.ts'),
    ]).then(([{ of, fences }, { runShell }, { createShells }]) =>
      createShells({ fences, run: (scope, line) => runShell(scope, line, of(scope), openProxy, fences) }),
    );
    return background;
  };
  return {
    shells: {
      name: 'shells',
      handle(scope) {
        const handle = once(async () => (await loadShells()).handle(scope));
        return {
          start: async (line) => (await handle()).start(line),
          read: async (id, query) => (await handle()).read(id, query),
          write: async (id, input, end) => (await handle()).write(id, input, end),
          signal: async (id, signal) => (await handle()).signal(id, signal),
          list: async () => (await handle()).list(),
        };
      },
      view: {
        inputEffects: async (...args) => (background ? (await background).view.inputEffects(...args) : []),
      },
    },
    open: (scope) => ({
      async check(line) {
        await (await import('./run-shell.ts')).checkShell(scope, line);
      },
      async shell(line) {
        const [made, { runShell }] = await Promise.all([load(), import('./run-shell.ts')]);
        return runShell(scope, line, made.of(scope), openProxy, made.fences);
      },
      async run(program, how) {
        const [made, { runProgram }] = await Promise.all([load(), import('./run-program.ts')]);
        return runProgram(siteOf(scope, made), program, how);
      },
      async start(program, heard, said) {
        const [made, { startProgram }] = await Promise.all([load(), import('./run-program.ts')]);
        return startProgram(siteOf(scope, made), program, heard, said);
      },
      async profile(program) {
        // Asked with every call of a kept program, and `import` takes its time also for what is there.
        specs ??= import('./run-program.ts');
        const { programSpec, profileOf } = await specs;
        const { fences } = await load();
        const fenced = programSpec(scope, program, fences);
        asked.set(program, fenced);
        return profileOf(scope, program, fences, fenced);
      },
      adopt: (program, heard) => (program as Standing).serve(scope, heard),
      async lookAfter(program) {
        const fenced = asked.get(program);
        if (!fenced || program.needs.writes.length === 0) return;
        afterwards ??= import('./fences/with-fences.ts');
        const { quarantineForbidden } = await afterwards;
        quarantineForbidden(scope, (await load()).fences, fenced.roots, fenced.fences);
      },
    }),
    async close() {
      await (await sandboxes)?.close();
      (await background)?.close();
    },
  };
}

interface Sandboxes {
  /** One for each set of toolchains and packs that policy names, made when it is first needed. */
  of(scope: CallScope): SandboxHandle;
  /** What all programs of a runtime remember of the folders that they are shown. */
  readonly fences: FenceKeeper;
  close(): Promise<void>;
}

async function createSandboxes(names: ProcessNames): Promise<Sandboxes> {
  const [{ createSandbox }, { createFenceFinder }] = await Promise.all([
    import('./sandbox/create-sandbox.ts'),
    import('./fences/find-fences.ts'),
  ]);
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
