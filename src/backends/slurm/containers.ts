// Owns: what a program is contained in on a node, as policy says it, and the table of the scripts that do it.
// Refuses: a job without containment; there is no row for it.
import { type BubblewrapContainer, bubblewrapScript } from './bubblewrap-script.ts';
import type { ContainedProgram } from './contained-program.ts';

export type JobContainer = BubblewrapContainer;

/** Defines the shell function `contain`, which becomes the container, and sets its arguments as `"$@"`. */
export function containScript(container: JobContainer, program: ContainedProgram): string {
  return SCRIPTS[container.kind](container, program);
}

const SCRIPTS: {
  readonly [K in JobContainer['kind']]: (
    container: Extract<JobContainer, { kind: K }>,
    program: ContainedProgram,
  ) => string;
} = {
  bubblewrap: bubblewrapScript,
};
