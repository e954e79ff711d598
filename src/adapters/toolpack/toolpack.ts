// Owns: one toolpack as its two environments answer for it: what its module defines, what a call of it would run, and its run.
// Refuses: an answer that the two do not agree on.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jsonPointer } from '../../base/rejection.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { Program, ProgramHandle } from '../../contract/program.ts';
import { defineTool, type PackFiles, refuseArgument, runPlan } from '../../contract/toolpack.ts';
import type { Described } from './check-definition.ts';
import { createEncoder, type Unsafe } from './encode-answer.ts';
import { createFreshSession } from './fresh-session.ts';
import { contextOf, type HostOptions, hostToolpack, type RefusedArgument, refusalIn } from './host.ts';
import { keepTime } from './keep-time.ts';
import { seedChance } from './seed-chance.ts';
import { type Answer, createSession, type Question, type SessionOptions } from './session.ts';
import { type Variation, vary } from './vary.ts';
import { withholdModules } from './withhold-modules.ts';

export interface Toolpack {
  /** Every definition of the module, as its process could say it. */
  describe(signal: AbortSignal): Promise<Agreement<readonly Described[]>>;
  canonicalize(tool: string, args: Json, how: Asking): Promise<Agreement<unknown>>;
  /** The toolpack's own `run`: in the process that is kept, and then, against what that one was answered, in a new one. */
  run(tool: string, how: readonly [RunAsking, RunAsking]): Promise<Agreement<unknown>>;
  /** Ends its processes, with their copies, until it is asked again: another took its place. What is asked now goes on. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

export type Asking = Required<Pick<Question, 'signal' | 'reply'>>;

/** One of the two times that it is asked to conduct an attempt. */
export type RunAsking = Asking & Required<Pick<Question, 'input' | 'patienceMs' | 'late'>>;

export type Agreement<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly unsafe: Unsafe }
  | { readonly ok: false; readonly refused: RefusedArgument }
  | { readonly ok: false; readonly difference: Difference };

/** A pack that thinks for longer than this is stuck; what it asks the host for does not count. */
const PATIENCE_MS = 10_000;

/** What the host does for a run at once; only the execution and taking outputs in may take long. */
const COUNTED = ['run.read', 'run.log', 'run.checkpoint'];

export function openProcesses(files: PackFiles, programs: Pick<ProgramHandle, 'start'>): Toolpack {
  const snapshots = new Map<string, Snapshot>();
  const source = (path: string): string | undefined => {
    const file = files.files.find((one) => one.path === path);
    return file && Buffer.from(file.content).toString();
  };
  const optionsOf = (n: 0 | 1): SessionOptions => {
    const environment = ENVIRONMENTS[n];
    const { name } = environment;
    const folder = (): string => {
      const known = snapshots.get(name) ?? takeSnapshot(files, n * 86_400_000);
      snapshots.set(name, known);
      return known.folder;
    };
    return {
      programs,
      name: files.name,
      folder: () => snapshots.get(name)?.folder ?? files.folder,
      source,
      program: () => hostProgram(folder(), files.entry, environment),
    };
  };
  // The first has heard all earlier calls, the second none: what both answer does not depend on them.
  const second = createFreshSession(optionsOf(1));
  const sessions = [createSession(optionsOf(0)), second] as const;
  let calls = 0;
  /** A host that was called twice is called again; a command that makes one call is not kept from ending. */
  const prepareNext = (): void => {
    if (calls > 1) second.prepare();
  };

  const askBoth = async (
    question: Omit<Question, 'patienceMs'>,
    isRepeated: boolean,
  ): Promise<Agreement<unknown>> => {
    const [first, second] = await Promise.all(
      sessions.map((session, n) =>
        session.request({
          ...question,
          patienceMs: PATIENCE_MS,
          ...(isRepeated ? { times: ENVIRONMENTS[n]!.times } : {}),
        }),
      ),
    );
    return agree(first as Answer, second as Answer);
  };

  return {
    describe: (signal) =>
      askBoth({ op: 'describe', signal }, false) as Promise<Agreement<readonly Described[]>>,
    async canonicalize(tool, input, { signal, reply }) {
      calls += 1;
      const answer = await askBoth(
        { op: 'canonicalize', tool, input, signal, reply: remembered(reply) },
        true,
      );
      prepareNext();
      return answer;
    },
    async run(tool, how) {
      const ask = (n: 0 | 1) =>
        sessions[n].request({
          op: 'run',
          tool,
          ...how[n],
          counted: COUNTED,
          times: ENVIRONMENTS[n].times,
        });
      second.prepare();
      const first = await ask(0);
      if (!first.ok) return first;
      const answer = agree(first, await ask(1).catch(onlyThere(tool)));
      prepareNext();
      return answer;
    },
    async rest() {
      const resting = ENVIRONMENTS.map(({ name }, n) => {
        const ended = sessions[n]!.rest();
        if (!ended) return undefined;
        const snapshot = snapshots.get(name);
        snapshots.delete(name);
        return ended.then(() => snapshot?.remove());
      });
      await Promise.all(resting);
    },
    async close() {
      await Promise.all(sessions.map((session) => session.close()));
      for (const snapshot of snapshots.values()) snapshot.remove();
    },
  };
}

/** What one of the two could do and the other could not depends on something else than the run. */
const onlyThere =
  (tool: string) =>
  (thrown: unknown): never => {
    if (!isFailure(thrown) || thrown.reason !== 'toolpack.failed') throw thrown;
    const message = `Cannot take the result of "${tool}": its run() answered in one environment, and failed in another: ${thrown.message}`;
    throw fail('toolpack.unstable', message);
  };

/** Also in a refusal: one that depends on the clock would refuse today what it ran yesterday. */
function agree(first: Answer, second: Answer): Agreement<unknown> {
  const refusals = [first, second].map((one) => ('refused' in one ? one.refused : undefined));
  if (refusals.some((one) => one !== undefined)) {
    const [one = null, other = null] = refusals;
    const difference = firstDifference(one, other);
    return difference ? { ok: false, difference } : { ok: false, refused: one! };
  }
  if (!first.ok) return first;
  if (!second.ok) return second;
  const difference = firstDifference(first.value, second.value);
  return difference ? { ok: false, difference } : { ok: true, value: first.value };
}

/** For the caller: the same shape as of arguments that do not fit the schema. */
export function refusal(tool: string, { path, fact }: RefusedArgument): Failure {
  const details = { problems: [{ path, keyword: 'refused', message: fact }] };
  return fail('input.refused', `Cannot call "${tool}": ${path} ${fact}`, details);
}

/** The same question gets the same answer, whichever process asks and how often. */
function remembered(reply: Asking['reply']): Asking['reply'] {
  const known = new Map<string, Promise<unknown>>();
  return (method, params) => {
    const key = JSON.stringify([method, params]);
    const answer = known.get(key) ?? reply(method, params);
    known.set(key, answer);
    return answer;
  };
}

interface Difference {
  /** A JSON pointer into the answer. */
  readonly path: string;
  readonly first: unknown;
  readonly second: unknown;
}

function firstDifference(
  first: unknown,
  second: unknown,
  way: readonly (string | number)[] = [],
): Difference | undefined {
  if (Object.is(first, second)) return undefined;
  const here: Difference = { path: jsonPointer(way), first, second };
  if (!isContainer(first) || !isContainer(second) || Array.isArray(first) !== Array.isArray(second))
    return here;
  const [one, other] = [first as Record<string, unknown>, second as Record<string, unknown>];
  for (const key of [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()) {
    const below = firstDifference(one[key], other[key], [...way, key]);
    if (below) return below;
  }
  return undefined;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

interface Snapshot {
  readonly folder: string;
  remove(): void;
}

const PREFIX = 'haft-toolpack-';

/** `age` is how old its files look, in seconds. */
function takeSnapshot({ files }: Pick<PackFiles, 'files'>, age: number): Snapshot {
  sweep();
  const copy = realpathSync.native(mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`)));
  try {
    for (const { path, content } of files) {
      const at = join(copy, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, content, { mode: 0o444 });
      utimesSync(at, EPOCH + age, EPOCH + age);
    }
  } catch (thrown) {
    rmSync(copy, { recursive: true, force: true });
    throw thrown;
  }
  return { folder: copy, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

const EPOCH = 1_000_000_000;

/** What processes that were killed left. */
function sweep(): void {
  const own = process.getuid?.();
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split('-')[0]) : Number.NaN;
    if (!Number.isSafeInteger(pid) || pid <= 0 || isRunning(pid)) continue;
    const path = join(tmpdir(), name);
    if (statSync(path, { throwIfNoEntry: false })?.uid === own)
      rmSync(path, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface ToolpackEnvironment {
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
