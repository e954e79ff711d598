// Owns: how one policy file differs from another that it takes the place of, and which differences grant more: one row for each key.
// Refuses: to guess: what is not certainly narrower counts as wider. Sessions are combined with the host instead (check-narrowing.ts).
import type { Json } from '../contract/json.ts';
import {
  type BackendName,
  type DomainRule,
  type Enforcement,
  POLICY_DEFAULTS,
  type PolicyFile,
  type RunsPolicy,
  type ToolRule,
  type Verdict,
} from '../contract/policy.ts';
import { coversDomain, isStricter, matchesTool, parseDomain } from '../contract/policy-match.ts';

export interface PolicyChange {
  /** Such as `shell_allow` or `limits.timeout_ms`. */
  readonly key: string;
  /** Absent where it was not there. */
  readonly before?: Json;
  /** Absent where it is gone. */
  readonly after?: Json;
  /** Something may be possible that was not. */
  readonly widens: boolean;
}

/** In the order of the table. What only rules' examples, spelling or order change is no difference. */
export function comparePolicies(before: PolicyFile, after: PolicyFile): readonly PolicyChange[] {
  return Object.values(ROWS).flatMap((row) => row(before, after));
}

export const widensPolicy = (before: PolicyFile, after: PolicyFile): boolean =>
  comparePolicies(before, after).some(({ widens }) => widens);

type Row = (before: PolicyFile, after: PolicyFile) => readonly PolicyChange[];

const ROWS: { readonly [K in keyof Required<PolicyFile>]: Row } = {
  version: (before, after) => value('version', before.version, after.version, () => true),
  network: (before, after) => {
    const [old, now] = [domainsOf(before), domainsOf(after)];
    return lists('network.allowed_domains', old, now, {
      added: ({ domain, decision, private: isPrivate }) =>
        decision !== 'deny' &&
        !old.some(
          (one) =>
            !isStricter(one.decision, decision) &&
            (one.private || !isPrivate) &&
            coversDomain(parseDomain(one.domain), parseDomain(domain)),
        ),
      removed: (gone) =>
        gone.decision !== 'allow' &&
        !now.some(({ domain, decision }) => domain === gone.domain && !isStricter(gone.decision, decision)),
    });
  },
  // Which of two patterns matches more cannot be said in general: only the same text is the same.
  shell_allow: (before, after) => {
    const [old, now] = [commandsOf(before), commandsOf(after)];
    return lists('shell_allow', old, now, {
      // What allows counts from the start of a command, what asks is found anywhere in it: neither covers the other.
      added: ({ decision }) => decision !== 'deny',
      removed: (gone) =>
        gone.decision !== 'allow' &&
        !now.some(
          ({ pattern, decision }) => pattern === gone.pattern && !isStricter(gone.decision, decision),
        ),
    });
  },
  git: ({ git: old = {} }, { git: now = {} }) => [
    ...value('git.allow_push', old.allow_push ?? false, now.allow_push ?? false, (_, to) => to),
    ...value(
      'git.require_clean_tree_for_commit',
      old.require_clean_tree_for_commit ?? false,
      now.require_clean_tree_for_commit ?? false,
      (from) => from,
    ),
  ],
  ast: ({ ast: old = {} }, { ast: now = {} }) => [
    ...value('ast.language', old.language, now.language, () => true),
    ...value('ast.format_on_save', old.format_on_save ?? false, now.format_on_save ?? false, (_, to) => to),
    ...value(
      'ast.validate_on_edit',
      old.validate_on_edit ?? false,
      now.validate_on_edit ?? false,
      (from) => from,
    ),
  ],
  validators: ({ validators: old = [] }, { validators: now = [] }) =>
    lists('validators', old, now, {
      added: () => false,
      removed: (gone) =>
        !now.some(
          ({ rule, enforcement }) => rule === gone.rule && WEIGHT[enforcement] >= WEIGHT[gone.enforcement],
        ),
    }),
  tools: ({ tools: old = {} }, { tools: now = {} }) => {
    const [from, to] = [old.default ?? 'allow', now.default ?? 'allow'];
    const rules = [(old.rules ?? []).map(plainRule), (now.rules ?? []).map(plainRule)] as const;
    return [
      ...value('tools.default', from, to, () => isStricter(from, to)),
      ...lists('tools.rules', ...rules, {
        // A rule that matches takes the place of the default, also where it is laxer than that.
        added: (rule) => isStricter(from, rule.decision) && !rules[0].some((one) => coversRule(one, rule)),
        // A rule with paths speaks about calls without a path, too, unless it denies: only the very same one is as strict.
        removed: (gone) =>
          gone.decision !== 'allow' &&
          !rules[1].some(
            ({ tool, decision, paths }) =>
              !paths && tool === gone.tool && !gone.paths && !isStricter(gone.decision, decision),
          ),
      }),
    ];
  },
  paths: ({ paths: old = {} }, { paths: now = {} }) => [
    ...lists('paths.extra_roots', old.extra_roots ?? [], now.extra_roots ?? [], ONLY_LESS),
    ...lists('paths.rules', pathRulesOf(old), pathRulesOf(now), {
      // What binds tools alone takes programs out of every other rule about the same paths.
      added: ({ read, write, programs }) => read === 'allow' || write === 'allow' || programs === 'allow',
      removed: (gone) =>
        (['read', 'write'] as const).some((access) => {
          const was = gone[access] ?? 'allow';
          if (was === 'allow') return false;
          return !pathRulesOf(now).some(
            (rule) => rule.path === gone.path && !isStricter(was, rule[access] ?? 'allow'),
          );
        }),
    }),
  ],
  budgets: (before, after) => numbers('budgets', before.budgets, after.budgets),
  limits: (before, after) => numbers('limits', before.limits, after.limits),
  approvals: (before, after) =>
    numbers('approvals', before.approvals, after.approvals, POLICY_DEFAULTS.approvals),
  // Less of what undo keeps is less to go back to, and more is more of the disk.
  undo: ({ undo: old = {} }, { undo: now = {} }) => [
    ...value('undo.max_bytes', old.max_bytes, now.max_bytes, () => true),
    ...kept('undo.keep', old.keep, now.keep, POLICY_DEFAULTS.undoKeep),
  ],
  audit: ({ audit: old = {} }, { audit: now = {} }) =>
    kept('audit.keep', old.keep, now.keep, POLICY_DEFAULTS.auditKeep),
  sandbox: (before, after) =>
    value('sandbox', before.sandbox ?? 'required', after.sandbox ?? 'required', (_, to) => to === 'optional'),
  packs: (before, after) => {
    const old = (before.packs ?? []).map(packOf);
    const now = (after.packs ?? []).map(packOf);
    return lists('packs', old, now, {
      added: (pack) => pack.enabled !== false || !old.some((one) => same({ ...one, enabled: false }, pack)),
      removed: () => false,
    });
  },
  runs: ({ runs: before = {} }, { runs: after = {} }) => {
    const { limits: oldLimits, images: oldImages = [], backends: oldBackends = [], ...old } = before;
    const { limits, images = [], backends = [], ...now } = after;
    const image = (entry: (typeof images)[number]) => (typeof entry === 'string' ? { image: entry } : entry);
    const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])] as (keyof typeof old)[];
    return [
      ...keys.flatMap((key) =>
        value(`runs.${key}`, old[key] as Json, now[key] as Json, () => widensRuns(key, before, after)),
      ),
      ...lists('runs.backends', oldBackends, backends, ONLY_LESS),
      ...lists('runs.images', oldImages.map(image), images.map(image), ONLY_LESS),
      ...numbers('runs.limits', oldLimits as Numbers, limits as Numbers, POLICY_DEFAULTS.runLimits),
    ];
  },
};

/** Whether another value of a key that is no list and no limit may let something happen that could not. */
function widensRuns(key: keyof RunsPolicy, before: RunsPolicy, after: RunsPolicy): boolean {
  // Nothing runs on an engine that no run can be sent to.
  if (key === 'docker' || key === 'slurm') return backendsOf(after).includes(key);
  if (key === 'backend') return !choicesOf(before).includes(after.backend ?? 'local');
  // Without it they work in Haft's own state.
  if (key === 'folder') return after.folder !== undefined;
  return true;
}

/** What callers may choose where no rule speaks about the tool. */
const choicesOf = ({ backend = 'local', backends = [] }: RunsPolicy): readonly BackendName[] => [
  backend,
  ...backends,
];

const backendsOf = (runs: RunsPolicy): readonly BackendName[] => [
  ...choicesOf(runs),
  ...(runs.rules ?? []).flatMap(({ backend, backends = [] }) => [backend, ...backends]),
];

const WEIGHT: { readonly [E in Enforcement]: number } = { suggestion: 0, warning: 1, blocking: 2 };
const ONLY_LESS = { added: () => true, removed: () => false };

interface Sides<T> {
  added(entry: T): boolean;
  removed(entry: T): boolean;
}

/** Lists of which the order means nothing. */
function lists<T>(key: string, old: readonly T[], now: readonly T[], widens: Sides<T>): PolicyChange[] {
  const removed = old.filter((entry) => !now.some((one) => same(one, entry)));
  const added = now.filter((entry) => !old.some((one) => same(one, entry)));
  return [
    ...removed.map((entry) => ({ key, before: entry as Json, widens: widens.removed(entry) })),
    ...added.map((entry) => ({ key, after: entry as Json, widens: widens.added(entry) })),
  ];
}

function value<T extends Json | undefined>(
  key: string,
  before: T,
  after: T,
  widens: (from: T, to: T) => boolean,
): PolicyChange[] {
  if (same(before, after)) return [];
  return [
    {
      key,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      widens: widens(before, after),
    },
  ];
}

type Numbers = { readonly [key: string]: number | undefined } | undefined;

/** Limits: one that is not named is the default, where there is one, and else none. */
function numbers(
  section: string,
  old: Numbers = {},
  now: Numbers = {},
  defaults: Numbers = {},
): PolicyChange[] {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys.flatMap((key) => {
    const usual = defaults[key] ?? Number.POSITIVE_INFINITY;
    return value(`${section}.${key}`, old[key], now[key], (from = usual, to = usual) => to > from);
  });
}

/** What is kept: to keep less widens, since what goes cannot be had back. */
function kept(section: string, old: Numbers = {}, now: Numbers = {}, defaults: Numbers = {}): PolicyChange[] {
  return Object.keys(defaults).flatMap((key) =>
    value(`${section}.${key}`, old[key], now[key], (from = defaults[key]!, to = defaults[key]!) => to < from),
  );
}

function domainsOf({ network }: PolicyFile): Required<Omit<DomainRule, 'examples'>>[] {
  return (network?.allowed_domains ?? []).map((entry) => {
    const whole: DomainRule = typeof entry === 'string' ? { domain: entry } : entry;
    const { domain, decision = 'allow', private: isPrivate = false } = whole;
    return { domain, decision, private: isPrivate };
  });
}

function commandsOf({ shell_allow: list = [] }: PolicyFile): { pattern: string; decision: Verdict }[] {
  return list.map((entry) => {
    const { pattern, decision = 'allow' } = typeof entry === 'string' ? { pattern: entry } : entry;
    return { pattern, decision };
  });
}

type PlainRule = Omit<ToolRule, 'examples'>;

const plainRule = ({ tool, decision, paths }: ToolRule): PlainRule => ({
  tool,
  decision,
  ...(paths ? { paths } : {}),
});

/** Whether the one already let through whatever the other would. */
const coversRule = (one: PlainRule, rule: PlainRule): boolean =>
  !one.paths &&
  !isStricter(one.decision, rule.decision) &&
  (one.tool === rule.tool || (!/[*?[\]{}]/.test(rule.tool) && matchesTool(one.tool, rule.tool)));

const pathRulesOf = ({ rules = [] }: NonNullable<PolicyFile['paths']>) =>
  rules.map(({ path, read, write, programs }) => ({
    path,
    ...(read ? { read } : {}),
    ...(write ? { write } : {}),
    ...(programs === 'allow' ? { programs } : {}),
  }));

function packOf(pack: NonNullable<PolicyFile['packs']>[number]): { readonly [key: string]: Json } {
  const { enabled = true, ...rest } = typeof pack === 'string' ? { path: pack } : pack;
  return { ...rest, enabled } as { readonly [key: string]: Json };
}

/** Of JSON, whatever the order of keys. */
function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      same((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}
