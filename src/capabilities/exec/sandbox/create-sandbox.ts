// Owns: the sandbox handle: from what a caller asks for to a program in its slot, and from its end to a result. The first program
// of an engine does nothing: that it ran shows that programs can be contained here.
// Refuses: to decide what may run, to read command lines, to run anything uncontained, and to call something a result that may
// not be one: a program without a known end is lost.
import { realpathSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import { fail } from '../../../contract/errors.ts';
import type {
  SandboxAvailability,
  SandboxHandle,
  SandboxObservation,
  SandboxOptions,
  SandboxRefusal,
  SandboxResult,
  SandboxSpec,
} from '../../../contract/sandbox.ts';
import { explainFailure, type Unavailable } from './availability.ts';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import { type Ended, type Execution, execute } from './execute.ts';
import { entryId } from './inspect.ts';
import { checkSpec, prepare } from './prepare.ts';
import { INSIDE_HOME } from './system-paths.ts';
import { behindShims, detectToolchains, type Toolchains } from './toolchains.ts';
import type { WorkspaceMounts, WorkspaceRequest } from './workspace-mounts.ts';

/** Nothing is started before the first use. `identity` is for tests: see `EngineOptions`. */
export function createSandbox(options: SandboxOptions, identity?: EngineOptions['identity']): SandboxHandle {
  const workspace = realpathSync.native(options.workspace);
  const concurrency = options.concurrency ?? 64;
  let toolchains: Toolchains | undefined;
  let running: Promise<Running | Unavailable> | undefined;
  let closed = false;

  const tools = () => {
    toolchains ??= detectToolchains({
      programs: options.toolchains ?? [],
      path: options.path ?? process.env.PATH ?? '',
    });
    return toolchains;
  };
  const start = async (): Promise<Running | Unavailable> => {
    const started = await startEngine({ workspace, concurrency, identity }, (engine) =>
      firstLook(engine, workspace),
    );
    return started.ok ? { ok: true, engine: started.engine, observed: started.accepted } : started;
  };
  const current = async (): Promise<Running | Unavailable> => {
    if (closed) return { ok: false, reason: 'the sandbox is closed', hint: 'Make another one.' };
    running ??= start();
    const now = await running;
    if (!now.ok || !now.engine.gone) return now;
    await now.engine.close(); // its keeper was killed: begin anew
    running = start();
    return running;
  };

  const launch = async (spec: SandboxSpec, kind: LaunchKind, again = true): Promise<Launched> => {
    spec.awaits?.catch(() => {}); // it is told at the gate
    const now = await current();
    if (!now.ok) return { result: Promise.resolve(notRun(unavailable(now))) };
    const { engine } = now;
    const answer = (refusal: SandboxRefusal | undefined) => ({ result: Promise.resolve(notRun(refusal)) });
    const beside = tools().paths.filter((path) => !isWithin(path, workspace));
    const binds = [...beside.map((path) => ({ path })), ...(spec.binds ?? [])];
    const checked = checkSpec({ ...spec, binds }, workspace, engine.scratch);
    if ('reason' in checked) return answer(checked);
    const readOnly = [...(options.readOnly ?? []), ...(spec.readOnly ?? [])];
    const slot = await engine.pool.acquire(kind.counted, spec.signal);
    if (!slot)
      return answer(spec.signal?.aborted ? undefined : unavailable(explainFailure(engine.complaints())));
    const release = () => engine.pool.release(slot, kind.counted);
    const program = spec.signal?.aborted
      ? undefined
      : await prepare(engine, workspace, { ...spec, readOnly }, checked);
    if (!program || 'reason' in program) {
      release();
      return answer(program);
    }
    const execution = ignoreErrors(() => execute({ ...kind, ...program, slot, spec }));
    if (!execution) {
      release();
      return answer(unavailable(explainFailure('its limits could not be set')));
    }
    void execution.released.then(() => {
      release();
      if (spec.expectAnother && engine.pool.quiet) slot.layOut();
    });
    // A slot that died before the program could begin did nothing; another one can. Nor did a sandbox that was laid out
    // and is no longer as it should be.
    if (again && !(await execution.streams) && (await unserved(execution))) return launch(spec, kind, false);
    const result = execution.ended.then((ended) =>
      conclude(ended, machineOf(engine), program.mounts.disturbed()),
    );
    return { execution, result };
  };

  const envWith = (bins: readonly string[]) => ({
    PATH: [...bins, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: INSIDE_HOME,
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    ...tools().env,
  });

  return {
    get baseEnv() {
      return envWith(tools().bins);
    },
    get loneEnv() {
      return envWith(behindShims(tools().bins, { workspace }));
    },
    async available(): Promise<SandboxAvailability> {
      const now = await current();
      return now.ok ? { ok: true, observed: now.observed } : now;
    },
    async run(spec) {
      const { execution, result } = await launch(spec, {
        counted: spec.standing !== true,
        stdin: spec.stdin !== undefined,
        handOver: false,
      });
      const stdin = spec.stdin === undefined ? undefined : (await execution?.streams)?.stdin;
      if (stdin && spec.stdin !== undefined) feed(stdin, spec.stdin).catch(() => {});
      return result;
    },
    async start(spec) {
      const { execution, result } = await launch(spec, { counted: false, stdin: true, handOver: true });
      const streams = await execution?.streams;
      if (!execution || !streams?.stdin) {
        const { refused } = await result;
        throw fail(
          refused?.reason ?? 'shell.failed',
          refused?.message ?? 'Cannot start the program: its keeper was killed',
          refused?.hint === undefined ? undefined : { hint: refused.hint },
        );
      }
      return {
        stdin: writableTo(streams.stdin),
        stdout: streams.stdout,
        result,
        stop(graceMs = spec.graceMs ?? 200) {
          execution.stop(graceMs);
          return result;
        },
      };
    },
    async close() {
      closed = true;
      const now = await running;
      if (now?.ok) await now.engine.close();
    },
  };
}

interface Running {
  readonly ok: true;
  readonly engine: Engine;
  readonly observed: SandboxObservation;
}

interface LaunchKind {
  /** Whether the handle's concurrency holds for it. */
  readonly counted: boolean;
  readonly stdin: boolean;
  readonly handOver: boolean;
}

interface Launched {
  readonly execution?: Execution;
  readonly result: Promise<SandboxResult>;
}

async function unserved({ ended, laidOut }: Execution): Promise<boolean> {
  const { end, began, aborted } = await ended;
  return (laidOut || end.code === undefined) && !began && !aborted;
}

const unavailable = ({ reason, hint }: Unavailable): SandboxRefusal => ({
  reason: 'sandbox.unavailable',
  message: `Cannot run the program: ${reason}`,
  hint,
});

async function firstLook(engine: Engine, workspace: string): Promise<SandboxObservation | Unavailable> {
  const spec = { argv: ['true'], env: { PATH: '/usr/bin:/bin' }, timeoutMs: 10_000 } as const;
  const checked = checkSpec(spec, workspace, engine.scratch);
  if ('reason' in checked) return explainFailure(checked.message);
  const program = await prepare(engine, workspace, spec, checked, justRead);
  if ('reason' in program) return explainFailure(program.message);
  const slot = await engine.pool.acquire(false);
  if (!slot) return explainFailure(engine.complaints());
  const execution = execute({ ...program, slot, spec, stdin: false, handOver: false });
  void execution.released.then(() => engine.pool.release(slot, false));
  const { end, stderr, inspection } = await execution.ended;
  if (inspection?.fault !== undefined) return explainFailure(inspection.fault);
  if (end.code !== 0 || !inspection?.seen)
    return explainFailure(Buffer.from(stderr).toString() || engine.complaints());
  return { ...machineOf(engine), ...inspection.seen };
}

const machineOf = ({ identity, limitsBy }: Engine): Machine => ({
  identity: identity.name,
  uid: identity.uid,
  limitsBy,
});

/** Whether the workspace's own paths can be protected is a question for each program, not for the machine. */
const justRead = ({ root, source }: WorkspaceRequest): WorkspaceMounts => ({
  words: ['--ro-bind', source, root],
  expected: [{ at: root, id: entryId(root), writable: false }],
  disturbed: () => [],
});

/** The part of an observation that is the same for all programs of an engine. */
type Machine = Pick<SandboxObservation, 'identity' | 'uid' | 'limitsBy'>;

function conclude(ended: Ended, machine: Machine, disturbed: readonly string[]): SandboxResult {
  const { end, began, timedOut, aborted, limitHit, stdout, stderr, truncated, usage, inspection } = ended;
  if (inspection?.fault !== undefined) return { ...notRun(raced(inspection.fault)), disturbed };
  const known = began && end.ran && end.code !== undefined;
  const unstarted = !began && !aborted;
  return {
    code: known ? end.code! : null,
    signal: known ? ended.signal : null,
    stdout,
    stderr,
    truncated,
    timedOut,
    aborted,
    disturbed,
    usage,
    ...(inspection?.seen ? { observed: { ...machine, ...inspection.seen } } : {}),
    ...(limitHit === undefined ? {} : { limitHit }),
    ...(began && !known ? { lost: true } : {}),
    ...(unstarted ? { refused: UNSTARTED } : {}),
  };
}

/** What bubblewrap said about it is in `stderr`; it names paths of the machine, so it is not in the message. */
const UNSTARTED: SandboxRefusal = {
  reason: 'shell.failed',
  message: 'Cannot start the program: its sandbox could not be set up',
  hint: 'See stderr of the result; `haft doctor` tries every guarantee of the sandbox.',
};

const raced = (fault: string): SandboxRefusal => ({
  reason: 'path.raced',
  message: `Cannot start the program: its sandbox is not as promised (${fault})`,
  hint: 'Try again: something was renamed while it was set up. If it always happens, `haft doctor` says more.',
});

/** Without a refusal it was cancelled before it came to its turn. */
export const notRun = (refused: SandboxRefusal | undefined): SandboxResult => ({
  code: null,
  signal: null,
  stdout: new Uint8Array(),
  stderr: new Uint8Array(),
  truncated: { stdout: false, stderr: false },
  timedOut: false,
  aborted: refused === undefined,
  disturbed: [],
  usage: { wallMs: 0 },
  ...(refused ? { refused } : {}),
});

/** Settles when all was taken or the program is gone. A source that fails looks like one that ends. */
async function feed(stdin: Socket, input: NonNullable<SandboxSpec['stdin']>): Promise<void> {
  const chunks = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  try {
    for await (const chunk of chunks) {
      if (stdin.destroyed) break;
      await written(stdin, chunk);
    }
  } finally {
    stdin.destroy();
  }
}

/** The socket for a caller: `end()` closes it once everything is written. */
function writableTo(stdin: Socket): Writable {
  const writable = new Writable({
    write: (chunk, _encoding, done) => void written(stdin, chunk).then(() => done()),
    final(done) {
      stdin.destroy();
      done();
    },
    destroy(error, done) {
      stdin.destroy();
      done(error);
    },
  });
  stdin.once('close', () => writable.destroy());
  return writable;
}

/** A program that is gone takes nothing more; that is no error of the writer. */
function written(stdin: Socket, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (stdin.destroyed || chunk.length === 0) return resolve();
    const done = () => {
      stdin.removeListener('close', done);
      resolve();
    };
    stdin.once('close', done);
    stdin.write(chunk, done);
  });
}
