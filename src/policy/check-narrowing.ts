// Owns: whether a session's registry only takes away from what the host grants: one row for each key.
// Refuses: grants of a session, even such as would have no effect.
import { fail } from '../contract/errors.ts';
import { type Enforcement, POLICY_DEFAULTS, type PolicyFile, type Verdict } from '../contract/policy.ts';
import { coversDomain, isStricter, matchesTool, parseDomain, strictestOf } from '../contract/policy-match.ts';

/** Throws `policy.widens` and names every key that would grant more than the host does. */
export function checkNarrowing(host: PolicyFile, session: PolicyFile): void {
  const keys = wideningKeys(host, session);
  if (keys.length === 0) return;
  const message = `Cannot open the session: its registry would grant more than the host does (${keys.join(', ')})`;
  throw fail('policy.widens', message, { keys });
}

/** Paths of the keys that widen; none where the registry only narrows. */
export function wideningKeys(host: PolicyFile, session: PolicyFile): readonly string[] {
  return Object.entries(ROWS).flatMap(([key, row]) => {
    if (session[key as keyof PolicyFile] === undefined) return [];
    return row(host, session).map((inner) => `${key}${inner}`);
  });
}

type Row = (host: PolicyFile, session: PolicyFile) => readonly string[];

const ROWS: { readonly [K in keyof Required<PolicyFile>]: Row } = {
  version: () => [],
  network: (host, session) =>
    grantsOf(session.network?.allowed_domains, 'domain').flatMap(({ text, at }) => {
      const domain = parseDomain(text);
      const granted = grantsOf(host.network?.allowed_domains, 'domain');
      const covered = granted.some((one) => coversDomain(parseDomain(one.text), domain));
      return covered ? [] : [`.allowed_domains[${at}]`];
    }),
  // Which of two patterns matches more cannot be said in general. A command has to match both lists, so a
  // pattern can only narrow; where the host has none at all, it was meant to widen.
  shell_allow: (host, session) =>
    grantsOf(host.shell_allow, 'pattern').length > 0
      ? []
      : grantsOf(session.shell_allow, 'pattern').map(({ at }) => `[${at}]`),
  git: (host, { git }) => [
    ...(git?.allow_push && !host.git?.allow_push ? ['.allow_push'] : []),
    ...(git?.require_clean_tree_for_commit === false && host.git?.require_clean_tree_for_commit
      ? ['.require_clean_tree_for_commit']
      : []),
  ],
  ast: (host, { ast }) =>
    ast?.validate_on_edit === false && host.ast?.validate_on_edit ? ['.validate_on_edit'] : [],
  validators: (host, session) =>
    (session.validators ?? []).flatMap(({ rule, enforcement }, at) => {
      const own = host.validators?.find((setting) => setting.rule === rule);
      return own && WEIGHT[enforcement] < WEIGHT[own.enforcement] ? [`[${at}]`] : [];
    }),
  tools: wideningTools,
  paths: (_host, { paths }) => [
    ...(paths?.extra_roots ?? []).map((_, at) => `.extra_roots[${at}]`),
    ...(paths?.rules ?? []).flatMap(({ read, write, programs }, at) => [
      ...(read === 'allow' ? [`.rules[${at}].read`] : []),
      ...(write === 'allow' ? [`.rules[${at}].write`] : []),
      ...(programs === 'allow' ? [`.rules[${at}].programs`] : []),
    ]),
  ],
  budgets: (host, session) => larger(host.budgets, session.budgets),
  limits: (host, session) => larger(host.limits, session.limits),
  approvals: (host, session) =>
    larger({ ...POLICY_DEFAULTS.approvals, ...host.approvals }, session.approvals),
  undo: ({ undo: host = {} }, { undo: { keep, max_bytes } = {} }) => [
    ...larger(
      { max_bytes: host.max_bytes ?? POLICY_DEFAULTS.undo.max_bytes },
      max_bytes === undefined ? {} : { max_bytes },
    ),
    ...(keep ? ['.keep'] : []),
  ],
  // What a workspace keeps is not for a session to say.
  audit: () => [''],
  sandbox: (host, session) => (session.sandbox === 'optional' && host.sandbox !== 'optional' ? [''] : []),
  packs: () => [''],
  runs: () => [''],
};

const WEIGHT: { readonly [E in Enforcement]: number } = { suggestion: 0, warning: 1, blocking: 2 };

/** A rule that allows makes an exception from the session's own stricter default; any other use would widen. */
function wideningTools(host: PolicyFile, { tools }: PolicyFile): string[] {
  const hostDefault = host.tools?.default ?? 'allow';
  const ownDefault = tools?.default ?? 'allow';
  const keys = tools?.default && isStricter(hostDefault, tools.default) ? ['.default'] : [];
  for (const [at, { tool, decision }] of (tools?.rules ?? []).entries()) {
    const stricter = strictestFor(host, tool);
    if (decision === 'allow' && (ownDefault === 'allow' || isStricter(stricter, 'allow')))
      keys.push(`.rules[${at}]`);
  }
  return keys;
}

function strictestFor(host: PolicyFile, tool: string): Verdict {
  const rules = (host.tools?.rules ?? []).filter((rule) => !rule.paths && matchesTool(rule.tool, tool));
  return strictestOf(rules.map(({ decision }) => decision)) ?? host.tools?.default ?? 'allow';
}

/** The entries that allow or ask; a text allows. */
function grantsOf<K extends string>(
  list: readonly (string | ({ readonly decision?: Verdict } & { readonly [key in K]: string }))[] | undefined,
  key: K,
): readonly { readonly text: string; readonly at: number }[] {
  return (list ?? []).flatMap((entry, at) => {
    if (typeof entry === 'string') return [{ text: entry, at }];
    return entry.decision === 'deny' ? [] : [{ text: entry[key], at }];
  });
}

type Numbers = { readonly [key: string]: number | undefined } | undefined;

function larger(host: Numbers, session: Numbers): string[] {
  return Object.entries(session ?? {}).flatMap(([key, value]) => {
    const limit = host?.[key];
    return limit !== undefined && value !== undefined && value > limit ? [`.${key}`] : [];
  });
}
