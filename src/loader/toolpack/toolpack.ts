// Owns: one toolpack as its two processes answer for it: what its module defines, what a call of it would run, and its run.
// Refuses: an answer that the two do not agree on.
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { ProgramHandle } from '../../contract/program.ts';
import type { Described } from './check-definition.ts';
import { type Difference, firstDifference } from './compare-answers.ts';
import { ENVIRONMENTS, hostProgram } from './environments.ts';
import type { RefusedArgument, Unsafe } from './host.ts';
import type { PackFiles } from './pack-files.ts';
import { type Answer, createSession, type Question, type ToolpackSession } from './session.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';

export interface Toolpack {
  /** Every definition of the module, as its process could say it. */
  describe(signal: AbortSignal): Promise<Agreement<readonly Described[]>>;
  canonicalize(tool: string, args: Json, how: Asking): Promise<Agreement<unknown>>;
  /** The toolpack's own `run`, in the first process. */
  run(tool: string, input: Json, how: Asking): Promise<unknown>;
  close(): Promise<void>;
}

export type Asking = Required<Pick<Question, 'signal' | 'reply'>>;

export type Agreement<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly unsafe: Unsafe }
  | { readonly ok: false; readonly refused: RefusedArgument }
  | { readonly ok: false; readonly difference: Difference };

/** A pack that thinks for longer than this is stuck; what it asks the host for does not count. */
const PATIENCE_MS = 10_000;

export function openProcesses(files: PackFiles, programs: Pick<ProgramHandle, 'start'>): Toolpack {
  const snapshots = new Map<string, Snapshot>();
  const sessions = ENVIRONMENTS.map((environment, n): ToolpackSession => {
    const { name } = environment;
    const folder = (): string => {
      const known = snapshots.get(name) ?? takeSnapshot(files, n * 86_400_000);
      snapshots.set(name, known);
      return known.folder;
    };
    return createSession({
      programs,
      name: files.name,
      folder: () => snapshots.get(name)?.folder ?? files.folder,
      program: () => hostProgram(folder(), files.entry, environment),
    });
  }) as [ToolpackSession, ToolpackSession];

  const askBoth = async (question: Question, isRepeated: boolean): Promise<Agreement<unknown>> => {
    const [first, second] = await Promise.all(
      sessions.map((session, n) =>
        session.request({
          ...question,
          patienceMs: PATIENCE_MS,
          ...(isRepeated ? { times: ENVIRONMENTS[n]!.times } : {}),
        }),
      ),
    );
    return agreed(first as Answer, second as Answer);
  };

  return {
    describe: (signal) =>
      askBoth({ op: 'describe', signal }, false) as Promise<Agreement<readonly Described[]>>,
    canonicalize: (tool, input, { signal, reply }) =>
      askBoth({ op: 'canonicalize', tool, input, signal, reply: remembered(reply) }, true),
    async run(tool, input, how) {
      const answer = await sessions[0]!.request({ op: 'run', tool, input, ...how });
      if (answer.ok) return answer.value;
      if ('refused' in answer) throw refusal(tool, answer.refused);
      const { path, fact } = answer.unsafe;
      throw fail('toolpack.abi', `Cannot take the result of "${tool}": at "${path}" ${fact}`);
    },
    async close() {
      await Promise.all(sessions.map((session) => session.close()));
      for (const snapshot of snapshots.values()) snapshot.remove();
    },
  };
}

/** Also in a refusal: one that depends on the clock would refuse today what it ran yesterday. */
function agreed(first: Answer, second: Answer): Agreement<unknown> {
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
