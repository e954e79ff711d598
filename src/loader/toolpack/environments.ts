// Owns: the two processes that a toolpack is asked in, as data: what may differ between two machines differs between them.
// Refuses: to say what they answer; `session.ts` talks to them.
import { pathToFileURL } from 'node:url';
import type { Program } from '../../contract/program.ts';
import { defineTool, refuseArgument, runPlan } from '../../contract/toolpack.ts';
import { contextOf, findUnsafe, type HostOptions, hostToolpack, refusalIn } from './host.ts';
import { type Variation, vary } from './vary.ts';

export interface ToolpackEnvironment {
  readonly name: 'first' | 'second';
  readonly seed: number;
  readonly env: Readonly<Record<string, string>>;
  readonly variation: Variation;
  /** How often it canonicalises each call, so that what a module remembers of earlier calls differs. */
  readonly times: number;
}

const HOUR = 3_600_000;

export const ENVIRONMENTS: readonly [ToolpackEnvironment, ToolpackEnvironment] = [
  {
    name: 'first',
    seed: 1,
    env: { LANG: 'C.UTF-8', TZ: 'UTC', USER: 'haft' },
    variation: { shiftMs: 0, hostname: 'haft', cpus: 2 },
    times: 1,
  },
  {
    name: 'second',
    seed: 2,
    // Turkish has its own small i, and writes numbers otherwise; that island is a day ahead of most others.
    env: {
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
      TZ: 'Pacific/Kiritimati',
      USER: 'other',
      HAFT_OTHER: '1',
    },
    // Another year, month, day, weekday and hour.
    variation: {
      shiftMs: (365 * 3 + 41) * 24 * HOUR + 7 * HOUR,
      hostname: 'other-host',
      cpus: 7,
      other: 'other',
    },
    times: 2,
  },
];

const MEMORY_BYTES = 512 * 1024 * 1024;

/** A process that sees the copy of the pack in `folder`, and of the machine only what Node.js needs to start. */
export function hostProgram(folder: string, entry: string, environment: ToolpackEnvironment): Program {
  const options: HostOptions = {
    entry: pathToFileURL(`${folder}/${entry}`).href,
    toolpack: `export const defineTool = ${defineTool};\nexport const refuseArgument = ${refuseArgument};\nexport const runPlan = ${runPlan};\n`,
    variation: environment.variation,
  };
  const pieces = `{ load: (specifier) => import(specifier), vary: ${vary}, findUnsafe: ${findUnsafe}, refusalIn: ${refusalIn}, contextOf: ${contextOf} }`;
  return {
    argv: [
      'node',
      `--random-seed=${environment.seed}`,
      '--disable-warning=ExperimentalWarning',
      '--no-addons',
      // Behind the sandbox, a second door: it keeps the pack from the machine's own programs and libraries.
      '--permission',
      `--allow-fs-read=${folder}`,
      '--input-type=module',
      '-e',
      `(${hostToolpack})(${JSON.stringify(options)}, ${pieces})`,
    ],
    env: environment.env,
    needs: { parts: [folder], reads: [], writes: [], network: [], subprocess: false },
    limits: { memoryBytes: MEMORY_BYTES, openFiles: 256, processes: 64 },
  };
}
