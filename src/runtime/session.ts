// Owns: the authenticated contexts that calls belong to: narrowed policy, attribution, and what is left of their budget.
// Refuses: a session that would be granted more than the host grants; to forget what other processes used up.
import { isRecord } from '../base/is-record.ts';
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { checkFields, type KnownFields } from '../contract/envelope.ts';
import { fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { MANAGEMENT, type PolicyEngine, type PolicyFile } from '../contract/policy.ts';
import type { RuntimeParts, RuntimeSessions, SessionOptions } from '../contract/runtime.ts';
import type { SessionRecord, Usage } from '../contract/store.ts';
import { createPolicyEngine } from '../policy/create-policy-engine.ts';
import { renderGrant } from '../policy/grant.ts';
import { sizeOf } from './limits.ts';

export interface LiveSession {
  readonly id: string;
  readonly attribution: JsonObject | null;
  readonly budget: Budget;
  /** The host's policy as it is now, narrowed by the session's registry. */
  engine(): Promise<PolicyEngine> | PolicyEngine;
}

export interface Sessions extends RuntimeSessions {
  readonly defaultId: string;
  /** The session of a call; throws `session.unknown` or `session.expired`. */
  use(id: string | undefined): Promise<LiveSession> | LiveSession;
}

type Parts = Pick<RuntimeParts, 'store' | 'clock' | 'newId' | 'checkRegistry'>;

export function createSessions(parts: Parts, host: () => PolicyEngine): Sessions {
  const { store, clock, newId } = parts;
  const live = new Map<string, LiveSession>();
  const loading = new Map<string, Promise<LiveSession>>();

  /** The smaller of the host's budget, as policy is now, and the session's own. */
  const limitOf = (own: Partial<Usage>): (() => Partial<Usage>) => {
    let known: { readonly of: PolicyEngine; readonly limit: Partial<Usage> } | undefined;
    return () => {
      if (known?.of !== host())
        known = { of: host(), limit: smallerBudget(budgetOf(host().loaded.file), own) };
      return known.limit;
    };
  };

  const reserveFor = (id: string) => (callId: string, most: number) =>
    store.sessions.reserve(id, callId, most);

  const check = async (registry: JsonObject | null): Promise<PolicyFile | undefined> => {
    if (!registry) return undefined;
    const { value, diagnostics } = await parts.checkRegistry(registry);
    if (!value)
      throw fail(
        'policy.invalid',
        `Cannot open the session: ${diagnostics.map(formatDiagnostic).join('\n')}`,
      );
    const { checkNarrowing } = await import('../policy/narrow-policy.ts');
    checkNarrowing(host().loaded.file, value);
    return value;
  };

  const load = async (record: SessionRecord): Promise<LiveSession> => {
    const narrowing = await check(record.registry);
    const own = smallerBudget(budgetOf(narrowing), record.budget ?? {});
    let narrowed: { readonly of: PolicyEngine; readonly engine: PolicyEngine } | undefined;
    const session: LiveSession = {
      id: record.id,
      attribution: record.attribution,
      budget: createBudget(limitOf(own), own, record.usage, reserveFor(record.id)),
      engine() {
        const current = host();
        if (!narrowing) return current;
        if (narrowed?.of === current) return narrowed.engine;
        return Promise.resolve(createPolicyEngine({ loaded: current.loaded, narrowing: [narrowing] })).then(
          (engine) => {
            narrowed = { of: current, engine };
            return engine;
          },
        );
      },
    };
    live.set(record.id, session);
    return session;
  };

  /** Many first calls at once share one session, and with it one budget. */
  const loadOnce = (record: SessionRecord): Promise<LiveSession> | LiveSession => {
    const known = live.get(record.id) ?? loading.get(record.id);
    if (known) return known;
    const started = load(record).finally(() => loading.delete(record.id));
    loading.set(record.id, started);
    return started;
  };

  // The default session lives as long as this runtime; the store learns of it with its first call.
  const fresh = (id: string): SessionRecord => ({
    id,
    createdTs: clock.now(),
    expiresTs: null,
    attribution: null,
    registry: null,
    budget: null,
    usage: { calls: 0, wallMs: 0, bytes: 0 },
  });
  const defaultId = newId('sess');
  const defaultSession: LiveSession = {
    id: defaultId,
    attribution: null,
    budget: createBudget(limitOf({}), {}, undefined, reserveFor(defaultId)),
    engine: host,
  };
  live.set(defaultId, defaultSession);

  const hasEnded = ({ expiresTs }: SessionRecord): boolean => expiresTs !== null && expiresTs <= clock.now();

  /** Read anew for every call: other processes use up its budget, and may end it. */
  const find = async (id: string): Promise<LiveSession> => {
    const record = await store.sessions.get(id);
    if (!record)
      throw fail('session.unknown', `Cannot use session "${id.slice(0, 80)}": there is none of that id`);
    if (hasEnded(record)) throw fail('session.expired', `Cannot use session "${id}": it has ended`);
    const session = await loadOnce(record);
    session.budget.adopt(record.usage);
    return session;
  };

  return {
    defaultId,
    use: (id = defaultId) => (id === defaultId ? defaultSession : find(id)),
    async open(options = {}) {
      checkOptions(options);
      const id = options.id ?? newId('sess');
      const { id: _, ...terms } = options;
      const withoutTerms = Object.keys(terms).length === 0;
      const existing = await store.sessions.get(id);
      if (existing && hasEnded(existing))
        throw fail(
          'session.expired',
          `Cannot open session "${id.slice(0, 80)}": it has ended; take another id`,
        );
      if (existing && withoutTerms) return existing;
      if (existing) {
        throw fail(
          'usage',
          `Cannot open session "${id.slice(0, 80)}": there is one of that id, with its own terms`,
        );
      }
      const now = clock.now();
      const record: SessionRecord = {
        ...fresh(id),
        expiresTs: options.ttlMs === undefined ? null : now + options.ttlMs,
        attribution: options.attribution ?? null,
        registry: options.registry ?? null,
        budget: options.budget ?? null,
      };
      await check(record.registry);
      try {
        await store.sessions.create(record);
      } catch (thrown) {
        // Another process was faster; where nothing particular was wanted, its session is as good.
        const theirs = withoutTerms ? await store.sessions.get(id) : undefined;
        if (!theirs) throw thrown;
        return theirs;
      }
      return record;
    },
    async get(id) {
      const record = await store.sessions.get(id);
      if (!record) return undefined;
      const session = await loadOnce(record);
      session.budget.adopt(record.usage);
      return { ...record, remaining: session.budget.remaining };
    },
    list: () => store.sessions.list(),
    async end(id) {
      await store.sessions.end(id, clock.now());
      live.delete(id);
    },
  };
}

/** In every row of the call, for good. */
const MOST_ATTRIBUTION = 16 * 1024;

/** What a call says of itself is added to what its session says. */
export function attributionOf(session: LiveSession, args: JsonObject): JsonObject | null {
  const { attribution: own } = args;
  if (isRecord(own) && sizeOf(own) > MOST_ATTRIBUTION)
    throw fail(
      'input.too_large',
      `Cannot make the call: its attribution is over ${MOST_ATTRIBUTION} bytes, and rows of the audit are kept`,
    );
  return isRecord(own) ? { ...session.attribution, ...own } : session.attribution;
}

const OPTIONS: KnownFields<SessionOptions> = {
  id: true,
  attribution: true,
  registry: true,
  budget: true,
  ttlMs: true,
};
const BUDGET: KnownFields<Usage> = { calls: true, wallMs: true, bytes: true };

/** What is misspelled or of another type would narrow nothing. */
function checkOptions(options: SessionOptions): void {
  const action = 'open the session';
  checkFields(action, options, OPTIONS);
  checkFields(action, options.budget, BUDGET, 'budget options');
  const { id, attribution, registry, budget = {}, ttlMs } = options;
  const wrong = (what: string) => fail('usage', `Cannot ${action}: ${what}`);
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw wrong('id must be a text');
  if (id === MANAGEMENT) throw wrong(`"${id}" is what rows are under that no call left; take another id`);
  for (const [name, value] of Object.entries({ attribution, registry }))
    if (value !== undefined && !isRecord(value)) throw wrong(`${name} must be an object`);
  for (const [name, value] of Object.entries({ ...budget, ttlMs }))
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw wrong(`${name} must be a number, zero or more`);
}

const budgetOf = (file: PolicyFile | undefined): Partial<Usage> =>
  smallerBudget({}, { wallMs: file?.budgets?.wall_ms, ...file?.budgets });

export interface Budget {
  /** Throws `budget.exhausted` where one more call, after `ahead` others, would find no place. */
  check(ahead?: number): void;
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
  const check = (ahead = 0) => {
    const limit = limitOf();
    for (const key of KEYS) {
      const most = limit[key];
      if (most === undefined) continue;
      const taken = key === 'calls' ? used.calls + reserved + ahead : used[key];
      if (taken >= most) throw exhausted(key, taken, most);
    }
  };
  return {
    check,
    reserve() {
      check();
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

type Bounds = { readonly [K in keyof Usage]?: number | undefined };

/** The smaller of two budgets, key by key. */
export function smallerBudget(a: Bounds, b: Bounds): Partial<Usage> {
  const result: { -readonly [K in keyof Usage]?: number } = {};
  for (const key of KEYS) {
    const bounds = [a[key], b[key]].filter((n) => n !== undefined);
    if (bounds.length > 0) result[key] = Math.min(...bounds);
  }
  return result;
}
