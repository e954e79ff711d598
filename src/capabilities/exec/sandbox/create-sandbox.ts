// Owns: the sandbox handle: from what a caller asks for to a program in its slot, and from its end to a result.
// Refuses: to decide what may run, to read command lines, and to run anything uncontained.
import { realpathSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';
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
import { behindShims } from './behind-shims.ts';
import { checkSpec } from './check-spec.ts';
import { conclude, notRun } from './conclude.ts';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import { type Execution, execute } from './execute.ts';
import { feed, writableTo } from './feed.ts';
import { firstLook, machineOf } from './first-look.ts';
import { prepare } from './prepare.ts';
import { INSIDE_HOME } from './private-etc.ts';
import { detectToolchains, type Toolchains } from './toolchains.ts';

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
    const letGo = () => engine.pool.release(slot, kind.counted);
    const program = spec.signal?.aborted
      ? undefined
      : await prepare(engine, workspace, { ...spec, readOnly }, checked);
    if (!program || 'reason' in program) {
      letGo();
      return answer(program);
    }
    const execution = orUndefined(() => execute({ ...kind, ...program, slot, spec }));
    if (!execution) {
      letGo();
      return answer(unavailable(explainFailure('its limits could not be set')));
    }
    void execution.released.then(() => {
      letGo();
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
        counted: true,
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
