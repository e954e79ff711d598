// Owns: how much of a session's budget is left, with calls under way counted.
// Refuses: to forget other processes: every receipt of the store brings the true totals.
import { fail } from '../contract/errors.ts';
import type { Usage } from '../contract/store.ts';
import { renderGrant } from '../policy/grant.ts';

export interface Budget {
  /** Takes a place for one call, or throws `budget.exhausted`. The function gives it back. */
  reserve(): () => void;
  /** The same over all processes, where calls are limited: the store counts those that are under way elsewhere. */
  claim(callId: string): Promise<void> | undefined;
  /** Adopts the totals that the store counted over all processes. */
  adopt(usage: Usage): void;
  /** There is a limit at all; without one nobody needs the totals at once. */
  readonly limited: boolean;
  readonly used: Usage;
  readonly remaining: Partial<Usage>;
}

const NOTHING: Usage = { calls: 0, wallMs: 0, bytes: 0 };
const NAMES = { calls: 'calls', wallMs: 'wall_ms', bytes: 'bytes' } as const;
/** What is just enough is used up by this very call, so a line that raises a budget raises it by at least so much. */
const STEPS: Usage = { calls: 10, wallMs: 60_000, bytes: 1024 * 1024 };
const KEYS = Object.keys(NAMES) as (keyof Usage)[];

/**
 * `limitOf` is asked for every call: a new policy may bring another limit. `own` is what the session was opened with,
 * which no line of haft.yaml can raise.
 */
export function createBudget(
  limitOf: () => Partial<Usage>,
  own: Partial<Usage> = {},
  start: Usage = NOTHING,
  reserveInStore?: (callId: string, most: number) => Promise<number | undefined>,
): Budget {
  let used = start;
  let reserved = 0;
  const exhausted = (key: keyof Usage, taken: number, most: number) => {
    const message = `Cannot make the call: the session has used its ${NAMES[key]} budget (${taken} of ${most})`;
    const more = Math.max(2 * most, taken + STEPS[key]);
    const admit =
      (own[key] ?? more) > most ? { admit: renderGrant({ budgets: { [NAMES[key]]: more } }) } : {};
    return fail('budget.exhausted', message, { budget: NAMES[key], used: taken, limit: most, ...admit });
  };
  return {
    reserve() {
      const limit = limitOf();
      for (const key of KEYS) {
        const most = limit[key];
        if (most === undefined) continue;
        const taken = key === 'calls' ? used.calls + reserved : used[key];
        if (taken >= most) throw exhausted(key, taken, most);
      }
      reserved++;
      let open = true;
      return () => {
        if (open) reserved--;
        open = false;
      };
    },
    claim(callId) {
      const { calls: most } = limitOf();
      if (most === undefined) return undefined;
      return reserveInStore?.(callId, most).then((taken) => {
        if (taken !== undefined) throw exhausted('calls', taken, most);
      });
    },
    adopt(usage) {
      // Receipts of two groups may arrive out of order; totals only grow.
      if (usage.calls >= used.calls) used = usage;
    },
    get limited() {
      const limit = limitOf();
      return KEYS.some((key) => limit[key] !== undefined);
    },
    get used() {
      return used;
    },
    get remaining() {
      const left: { -readonly [K in keyof Usage]?: number } = {};
      const limit = limitOf();
      for (const key of KEYS) {
        const most = limit[key];
        if (most !== undefined) left[key] = Math.max(0, most - used[key]);
      }
      return left;
    },
  };
}

/** The smaller of two budgets, key by key. */
export function smallerBudget(a: Partial<Usage>, b: Partial<Usage>): Partial<Usage> {
  const result: { -readonly [K in keyof Usage]?: number } = {};
  for (const key of KEYS) {
    const bounds = [a[key], b[key]].filter((n) => n !== undefined);
    if (bounds.length > 0) result[key] = Math.min(...bounds);
  }
  return result;
}
