// Owns: work that goes on after its call was answered: its rows in the audit, what it costs its session, and when it must end.
// Refuses: to know what the work is, and to let it outlive its session, its budget, its policy or its host.
import type { Effect } from '../contract/effect.ts';
import { type ErrorEntry, type Failure, fail, isFailure } from '../contract/errors.ts';
import type { PolicyEngine, Verdict } from '../contract/policy.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { Standing } from '../contract/shells.ts';
import type { LiveCapabilities } from './capabilities.ts';
import { policyOf } from './context.ts';
import {
  beginRecord,
  type CallRecord,
  type LateRows,
  shownError,
  writeIntent,
  writeOutcome,
} from './record.ts';
import type { Sessions } from './session.ts';

export interface StandingWorks {
  begin(call: CallRecord, engine: PolicyEngine, stop: (why: Failure) => void): Standing;
  /** Ends what policy, as it is now, does not let go on. */
  policyChanged(): Promise<void>;
  sessionEnded(id: string): Promise<void>;
  /** Ends all; settles when their outcomes are recorded. */
  close(): Promise<void>;
}

export interface StandingSite {
  readonly parts: RuntimeParts;
  readonly sessions: Sessions;
  readonly capabilities: Pick<LiveCapabilities, 'follow'>;
  readonly late: LateRows;
}

interface Work {
  readonly record: CallRecord;
  /** What it does, and by which tool that was asked for; with the verdict then. */
  readonly does: { readonly tool: string; readonly effects: readonly Effect[]; readonly verdict: Verdict }[];
  readonly policy: PolicyEngine;
  readonly over: Promise<void>;
  stop(why: Failure): void;
}

/** How late it may be noticed that a session ended in another process, or has used up its time. */
const LOOK_EVERY_MS = 1000;

export function createStandingWorks({ parts, sessions, capabilities, late }: StandingSite): StandingWorks {
  const works = new Set<Work>();
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    for (const id of new Set([...works].map(({ record }) => record.session))) {
      const own = [...works].filter(({ record }) => record.session === id);
      const why = await faultOf(id, own).catch((thrown) => (isFailure(thrown) ? thrown : undefined));
      if (why) for (const work of own) work.stop(why);
    }
  };

  /** What ends the works of a session: it has ended, or they have used up its time. */
  const faultOf = async (id: string, own: readonly Work[]): Promise<Failure | undefined> => {
    const { budget } = await sessions.use(id);
    const { wallMs: left } = budget.remaining;
    const now = parts.clock.now();
    const running = own.reduce((sum, { record }) => sum + now - record.startTs, 0);
    if (left === undefined || running < left) return undefined;
    return fail('budget.exhausted', 'It was ended: the session has used its wall_ms budget', {
      budget: 'wall_ms',
    });
  };

  const watch = (): void => {
    if (works.size === 0) {
      clearInterval(timer);
      timer = undefined;
    } else timer ??= setInterval(() => void look(), LOOK_EVERY_MS).unref();
  };

  const stopAll = async (own: readonly Work[], why: Failure): Promise<void> => {
    for (const work of own) work.stop(why);
    await Promise.all(own.map(({ over }) => over));
  };

  return {
    begin(call, engine, stop) {
      const { tool, requestId } = call;
      const record: CallRecord = {
        ...call,
        ...beginRecord(parts, { tool, args: {}, requestId, sessionId: call.session }, call.session),
        callId: parts.newId('shell'),
        contract: call.contract,
        // Its call has paid for them.
        args: { ...call.args, bytes: 0 },
        attribution: call.attribution,
        decision: call.decision,
        effects: call.effects,
        policyHash: call.policyHash,
        facts: { call: call.callId },
        approval: call.approval,
      };
      const over = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const work: Work = {
        record,
        does: [{ tool, effects: call.effects, verdict: call.decision.verdict }],
        policy: engine,
        over: over.promise,
        stop,
      };
      works.add(work);
      watch();
      // What it changes is told when it has ended, as with any program.
      const followed = capabilities.follow?.({ record, engine }, () => ended.promise) ?? ended.promise;
      return {
        id: record.callId,
        session: record.session,
        async intend() {
          // Policy may have changed while it was being started.
          const why = await whyNot(work);
          if (why) throw why;
          await writeIntent(parts, record, []);
        },
        add: (by, effects) => void work.does.push({ tool: by, effects, verdict: 'allow' }),
        async end(facts, thrown) {
          works.delete(work);
          watch();
          record.facts = { ...record.facts, ...facts };
          ended.resolve();
          try {
            await followed;
            const error: ErrorEntry | undefined =
              thrown === undefined ? undefined : shownError(parts, thrown);
            // What never began has left no trace of its own: its call says why.
            if (!record.intended) return;
            const budget = await Promise.resolve(sessions.use(record.session)).then(
              (session) => session.budget,
              () => undefined,
            );
            await writeOutcome(parts, record, {
              error,
              budget,
              late,
              answerFirst: false,
              alone: false,
              release: undefined,
            });
          } finally {
            over.resolve();
          }
        },
      };
    },
    async policyChanged() {
      const due = [...works];
      for (const work of due) {
        const why = await whyNot(work).catch((thrown) => (isFailure(thrown) ? thrown : undefined));
        if (why) await stopAll([work], why);
      }
    },
    sessionEnded: (id) =>
      stopAll(
        [...works].filter(({ record }) => record.session === id),
        fail('session.expired', 'It was ended: its session has ended'),
      ),
    close: () => stopAll([...works], fail('shell.ended', 'It was ended: the host is closing')),
  };

  async function whyNot({ record, does, policy }: Work): Promise<Failure | undefined> {
    const engine = await (await sessions.use(record.session)).engine();
    if (engine.loaded.sha256 === policy.loaded.sha256) return undefined;
    for (const { tool, effects, verdict } of does) {
      await engine.ready?.(effects);
      const { decision } = engine.decide(tool, effects);
      if (decision.verdict === 'allow' || decision.verdict === verdict) continue;
      return fail('policy.denied', `It was ended, since policy changed: ${decision.message}`, {
        rule: decision.rule,
      });
    }
    const isSame = JSON.stringify(shownTo(engine, record)) === JSON.stringify(shownTo(policy, record));
    const isConnected = record.effects.some(({ kind }) => kind === 'net.connect');
    if (isSame && !isConnected) return undefined;
    const what = isSame ? 'reach' : 'see';
    return fail(
      'policy.denied',
      `It was ended: policy changed, and with it perhaps what programs may ${what}`,
    );
  }
}

const shownTo = (engine: PolicyEngine, { tool }: CallRecord) => {
  const { fences, packs, sandboxOptional } = policyOf(engine, tool);
  return [fences, packs, sandboxOptional];
};
