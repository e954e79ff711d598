// Owns: the two processes that a toolpack is asked in, as data: what may differ between two machines differs between them.
// Refuses: to say what they answer; `session.ts` talks to them.
import { pathToFileURL } from 'node:url';
import type { Program } from '../../contract/program.ts';
import { defineTool, refuseArgument, runPlan } from '../../contract/toolpack.ts';
import { createEncoder } from './encode-answer.ts';
import { contextOf, type HostOptions, hostToolpack, refusalIn } from './host.ts';
import { keepTime } from './keep-time.ts';
import { seedChance } from './seed-chance.ts';
import { type Variation, vary } from './vary.ts';
import { withholdModules } from './withhold-modules.ts';

export interface ToolpackEnvironment {
  readonly name: 'first' | 'second';
  readonly seed: number;
  readonly env: Readonly<Record<string, string>>;
  readonly variation: Variation;
  /** How often it canonicalises each call, so that what a module remembers of earlier calls differs. */
  readonly times: number;
}

const DAY = 24 * 3_600_000;
/** A Sunday. */
const ORIGIN = Date.UTC(2001, 8, 9, 1, 46, 40);

export const ENVIRONMENTS: readonly [ToolpackEnvironment, ToolpackEnvironment] = [
  {
    name: 'first',
    seed: 1,
    env: { LANG: 'C.UTF-8', TZ: 'UTC', USER: 'haft' },
    variation: {
      word: 'haft',
      id: 1_224,
      cpus: 2,
      node: '24.0.0',
      platform: 'linux',
      arch: 'x64',
      originMs: ORIGIN,
      sinceMs: 5_000,
      stepMs: 1,
      flip: false,
    },
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
    // Another year, month, day, weekday, hour, minute and second.
    variation: {
      word: 'other',
      id: 4_243,
      cpus: 7,
      node: '99.1.2',
      platform: 'freebsd',
      arch: 'riscv64',
      originMs: ORIGIN + (365 * 3 + 41) * DAY + 7 * 3_661_007,
      sinceMs: 5_000 + (365 * 3 + 41) * DAY,
      stepMs: 7,
      flip: true,
    },
    times: 2,
  },
];

/**
 * Where there are no cgroups this bounds what a process may map, and Node.js maps half a gigabyte before it begins. What
 * the pack itself may use is bounded by the heap.
 */
const MEMORY_BYTES = 1536 * 1024 * 1024;
const HEAP_MB = 512;

/** A process that sees the copy of the pack in `folder`, and of the machine only what Node.js needs to start. */
export function hostProgram(folder: string, entry: string, environment: ToolpackEnvironment): Program {
  const options: HostOptions = {
    entry: pathToFileURL(`${folder}/${entry}`).href,
    toolpack: `export const defineTool = ${defineTool};\nexport const refuseArgument = ${refuseArgument};\nexport const runPlan = ${runPlan};\n`,
    variation: environment.variation,
    env: environment.env,
  };
  const shipped = { vary, keepTime, seedChance, withholdModules, createEncoder, refusalIn, contextOf };
  const texts = Object.entries(shipped).map(([name, piece]) => `${name}: ${piece}`);
  const pieces = `{ load: (specifier) => import(specifier), ${texts.join(', ')} }`;
  return {
    argv: [
      'node',
      `--random-seed=${environment.seed}`,
      `--max-old-space-size=${HEAP_MB}`,
      '--disable-warning=ExperimentalWarning',
      '--no-addons',
      // Behind the sandbox, a second door: it keeps the pack from the machine's own programs and libraries.
      '--permission',
      `--allow-fs-read=${folder}`,
      '--input-type=module',
      '-e',
      `(${hostToolpack})(${JSON.stringify(options)}, ${pieces})`,
    ],
    // Files, digests and compression are answered in the order in which they are asked for.
    env: { ...environment.env, UV_THREADPOOL_SIZE: '1' },
    needs: { parts: [folder], reads: [], writes: [], network: [], subprocess: false },
    limits: { memoryBytes: MEMORY_BYTES, openFiles: 256, processes: 64 },
  };
}
