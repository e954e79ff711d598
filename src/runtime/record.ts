// Owns: what is known of one call while it runs, and what is told of it: audit rows, before the answer or just after that of a read, and events.
// Refuses: to let a call end without a row: one that cannot be recorded did not succeed, and a row that is owed comes first.
import type { Change } from '../contract/capability.ts';
import type { Effect } from '../contract/effect.ts';
import type { CallRequest, ShownContent, Warning } from '../contract/envelope.ts';
import { type ErrorEntry, isFailure, toErrorEntry } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { MANAGEMENT } from '../contract/policy.ts';
import type { EventBus, EventListener, RuntimeParts } from '../contract/runtime.ts';
import type { AuditEntry, AuditStore, Usage } from '../contract/store.ts';
import type { ArgsIdentity, RunIdentity } from './identity.ts';
import type { Budget } from './session.ts';

export interface CallRecord {
  readonly callId: string;
  readonly requestId: string;
  readonly tool: string;
  readonly startTs: number;
  session: string;
  contract: string;
  args: ArgsIdentity;
  answerBytes: number;
  attribution: JsonObject | null;
  decision: AuditEntry['decision'];
  effects: readonly Effect[];
  policyHash: string;
  run: RunIdentity | undefined;
  changes: readonly Change[];
  /** The intent is durable: from here on the change may be visible. */
  intended: boolean;
  warnings: Warning[];
  content: ShownContent | undefined;
  facts: JsonObject | null;
  /** The approval that let the call through, and who decided it. */
  approval: { readonly id: string; readonly decidedBy: string } | undefined;
}

const LONGEST_NAME = 200;

export function beginRecord(
  parts: Pick<RuntimeParts, 'newId' | 'clock'>,
  request: CallRequest,
  defaultSession: string,
): CallRecord {
  return {
    callId: parts.newId('call'),
    requestId: request.requestId ?? parts.newId('req'),
    tool: request.tool.slice(0, LONGEST_NAME),
    startTs: parts.clock.now(),
    session: request.sessionId?.slice(0, LONGEST_NAME) ?? defaultSession,
    contract: '',
    args: { hash: '', bytes: 0 },
    answerBytes: 0,
    attribution: null,
    decision: { verdict: 'deny', rule: 'input' },
    effects: [],
    policyHash: '',
    run: undefined,
    changes: [],
    intended: false,
    warnings: [],
    content: undefined,
    facts: null,
    approval: undefined,
  };
}

/** Before the first visible change: what would change, and how to take it back. */
export async function writeIntent(
  parts: RuntimeParts,
  record: CallRecord,
  changes: readonly Change[],
): Promise<void> {
  record.changes = changes;
  record.intended = true;
  await parts.store.audit.append(entryOf(parts, record, { ...PENDING, bytes: record.args.bytes }), true);
}

interface Outcome {
  readonly error: ErrorEntry | undefined;
  readonly budget: Budget | undefined;
  readonly late: LateRows;
  /** The call only looked at something: its row may follow its answer. */
  readonly answerFirst: boolean;
  /** It is the only call of this process. */
  readonly alone: boolean;
  /** Gives back the call's locks: queued right behind its row, so that one transaction holds both. */
  readonly release: (() => Promise<void>) | undefined;
}

/**
 * Before the answer, unless the call may be answered first. Answers the error that took the place of the result when the
 * row could not be written.
 */
export async function writeOutcome(
  parts: RuntimeParts,
  record: CallRecord,
  { error, budget, late, answerFirst, alone, release }: Outcome,
): Promise<ErrorEntry | undefined> {
  const entry = entryOf(parts, record, {
    phase: 'outcome',
    endTs: parts.clock.now(),
    outcome: error ? outcomeOf(error) : 'ok',
    errors: error ? [{ code: error.code, reason: error.reason }] : [],
    bytes: record.args.bytes + (error ? 0 : record.answerBytes),
  });
  if (answerFirst && late.mayAnswerFirst) {
    late.write(entry, (usage) => budget?.adopt(usage));
    return error;
  }
  try {
    if (late.owes) await late.catchUp();
    const written = parts.store.audit.append(entry, record.intended, alone);
    void release?.();
    budget?.adopt((await written).usage);
    return error;
  } catch (thrown) {
    const why = shownError(parts, thrown);
    if (!record.intended) return why;
    const taken = `the change of "${record.tool}" may have taken effect, but its outcome could not be recorded`;
    return { ...why, message: `${why.message} (${taken})` };
  }
}

/** A capability that could not follow a change of a call: told in a row of its own, which no session pays for. */
export async function writeFault(
  parts: Pick<RuntimeParts, 'store' | 'clock' | 'newId' | 'events' | 'process'>,
  { capability, callId, error }: { capability: string; callId: string; error: ErrorEntry },
): Promise<void> {
  const now = parts.clock.now();
  const failed = { phase: 'outcome', endTs: now, outcome: 'failed', bytes: 0 } as const;
  const entry: AuditEntry = {
    ...entryOf(parts, beginRecord(parts, { tool: `capability ${capability}`, args: {} }, MANAGEMENT), {
      ...failed,
      errors: [{ code: error.code, reason: error.reason }],
    }),
    attribution: { by: 'haft' },
    decision: { verdict: 'allow', rule: MANAGEMENT },
    facts: { capability, call: callId },
  };
  await parts.store.audit.append(entry, false).catch((thrown) => shownError(parts, thrown));
}

/** The error for the caller. A bug's own words go to the operator, never to the caller. */
export function shownError(parts: Pick<RuntimeParts, 'events'>, thrown: unknown): ErrorEntry {
  if (!isFailure(thrown)) {
    const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    parts.events.emit({ type: 'EventMessage', event: 'InternalError', data: { stack } });
  }
  return toErrorEntry(thrown);
}

const OUTCOMES: Partial<Record<ErrorEntry['reason'] | ErrorEntry['code'], AuditEntry['outcome']>> = {
  'time.cancelled': 'cancelled',
  'run.cancelled': 'cancelled',
  E_TIMEOUT: 'timeout',
  E_POLICY: 'denied',
};
const outcomeOf = (error: ErrorEntry) => OUTCOMES[error.reason] ?? OUTCOMES[error.code] ?? 'failed';

/** What an outcome knows better than the intent before it. */
type EntryEnd = Pick<AuditEntry, 'phase' | 'endTs' | 'outcome' | 'errors' | 'bytes'>;
const PENDING = { phase: 'intent', endTs: null, outcome: 'pending', errors: [] } as const;

function entryOf(parts: Pick<RuntimeParts, 'process'>, record: CallRecord, end: EntryEnd): AuditEntry {
  return {
    phase: end.phase,
    callId: record.callId,
    requestId: record.requestId,
    tool: record.tool,
    contract: record.contract,
    argsHash: record.args.hash,
    startTs: record.startTs,
    endTs: end.endTs,
    session: record.session,
    attribution: record.attribution,
    decision: record.decision,
    effects: record.effects,
    outcome: end.outcome,
    errors: end.errors,
    policyHash: record.policyHash,
    runId: record.run?.runId ?? null,
    changes: record.changes,
    bytes: end.bytes,
    facts: factsOf(record),
    process: parts.process,
  };
}

/** Last, so that no tool can name an approval of its own. */
function factsOf({ facts, approval }: CallRecord): JsonObject | null {
  return approval ? { ...facts, approval: { id: approval.id, decided_by: approval.decidedBy } } : facts;
}

export interface LateRows {
  /** Nothing is owed, and few rows are on their way: a read may be answered first. */
  readonly mayAnswerFirst: boolean;
  /** Some row could not be written. */
  readonly owes: boolean;
  /** `onWritten` learns what the session has used by then. */
  write(entry: AuditEntry, onWritten: (usage: Usage) => void): void;
  /** Writes what is owed, or rejects with what keeps it from being written. */
  catchUp(): Promise<void>;
}

/** A caller that never lets the event loop turn must wait for it now and then, or no row would ever be written. */
const MOST_ON_THEIR_WAY = 64;

export function createLateRows(audit: Pick<AuditStore, 'append' | 'appendSoon'>): LateRows {
  let owed: AuditEntry[] = [];
  let onTheirWay = 0;
  return {
    get mayAnswerFirst() {
      return owed.length === 0 && onTheirWay < MOST_ON_THEIR_WAY;
    },
    get owes() {
      return owed.length > 0;
    },
    write(entry, onWritten) {
      onTheirWay++;
      audit.appendSoon(entry).then(
        ({ usage }) => {
          onTheirWay--;
          onWritten(usage);
        },
        () => {
          onTheirWay--;
          owed.push(entry);
        },
      );
    },
    async catchUp() {
      const due = owed;
      owed = [];
      const ends = await Promise.allSettled(due.map((entry) => audit.append(entry, false)));
      owed.push(...due.filter((_, i) => ends[i]!.status === 'rejected'));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** Of one runtime. A listener that throws is not told any more: its mistake does not reach a call. */
export function createEventBus(): EventBus {
  const listeners = new Set<EventListener>();
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch {
          listeners.delete(listener);
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
