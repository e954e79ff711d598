// Owns: the exec capability as the preset wires it: a handle for each call, one set of sandboxes for all.
// Refuses: to load the sandbox before the first command.
import type { CallScope } from '../../contract/capability.ts';
import type { ExecHandle, OpenProxy } from '../../contract/exec.ts';
import type { Program } from '../../contract/program.ts';
import type { ProcessNames } from './fences/placeholders.ts';
import type { FencedProgram } from './program-spec.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { Standing } from './standing-program.ts';

export interface ExecCapability {
  /** The factory of `Capabilities.exec`. */
  open(scope: CallScope): ExecHandle;
  /** Ends every program and every sandbox. */
  close(): Promise<void>;
}

export function createExecCapability(openProxy: OpenProxy, names: ProcessNames): ExecCapability {
  let sandboxes: Promise<Sandboxes> | undefined;
  let specs: Promise<typeof import('./program-spec.ts')> | undefined;
  let afterwards: Promise<typeof import('./fences/aftermath.ts')> | undefined;
  /** What was there when a call asked for the program that serves it; each call makes its own. */
  const asked = new WeakMap<Program, FencedProgram>();
  const load = (): Promise<Sandboxes> => {
    sandboxes ??= import('./sandboxes.ts').then(({ createSandboxes }) => createSandboxes(names));
    return sandboxes;
  };
  const siteOf = (scope: CallScope, made: Sandboxes) => ({
    scope,
    sandbox: made.of(scope),
    fences: made.fences,
    openProxy,
  });
  return {
    open: (scope) => ({
      async shell(line) {
        const [made, { runShell }] = await Promise.all([load(), import('./run-shell.ts')]);
        return runShell(scope, line, made.of(scope), openProxy, made.fences);
      },
      async run(program, how) {
        const [made, { runProgram }] = await Promise.all([load(), import('./run-program.ts')]);
        return runProgram(siteOf(scope, made), program, how);
      },
      async start(program, heard, said) {
        const [made, { startProgram }] = await Promise.all([load(), import('./standing-program.ts')]);
        return startProgram(siteOf(scope, made), program, heard, said);
      },
      async profile(program) {
        // Asked with every call of a kept program, and `import` takes its time also for what is there.
        specs ??= import('./program-spec.ts');
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
        afterwards ??= import('./fences/aftermath.ts');
        const { checkAftermath } = await afterwards;
        checkAftermath(scope, (await load()).fences, fenced.roots, fenced.fences);
      },
    }),
    async close() {
      await (await sandboxes)?.close();
    },
  };
}
