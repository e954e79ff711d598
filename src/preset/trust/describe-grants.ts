// Owns: what a policy would grant beyond the defaults, and how it differs from the one that was trusted, in plain lines.
// Refuses: to leave a key out: one row for each. What the file says is quoted, so that no text in it can look like a line of ours.

import { isRecord } from '../../base/is-record.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { LockFile } from '../../contract/lock.ts';
import { POLICY_DEFAULTS, type PolicyFile, packFolders } from '../../contract/policy.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import type { PolicyChange } from '../../runtime/policy/compare-policies.ts';
import { sourceOf } from '../packs/sources/index.ts';

/** The same with the tools of folders and with haft.lock, as they are on this machine. Nothing is run for it. */
export async function describePolicy(workspace: string, policy: PolicyFile): Promise<readonly string[]> {
  const tools = await Promise.all(packFolders(policy).map((path) => describeFolder(workspace, path)));
  return [...describeGrants(policy, lockOf(workspace)), ...tools.flat()];
}

async function describeFolder(root: string, path: string): Promise<readonly string[]> {
  const entry = { kind: 'path', name: '', path, config: {}, enabled: true };
  return (await sourceOf(entry, root).describe?.(entry, root, quoted)) ?? [];
}

function lockOf(workspace: string): LockFile | undefined {
  try {
    return readLockFile(workspace);
  } catch {
    return undefined;
  }
}

type Row = (policy: PolicyFile) => readonly string[];

/** In the order of what reaches furthest. Empty where it grants nothing beyond the defaults. */
function describeGrants(policy: PolicyFile, lock?: LockFile): readonly string[] {
  return [...Object.values(ROWS).flatMap((row) => row(policy)), ...describeLock(lock)];
}

const ROWS: { readonly [K in keyof Required<PolicyFile>]: Row } = {
  packs: ({ packs = [] }) => packs.map(describePack),
  shell_allow: ({ shell_allow: list = [] }) =>
    grants(list, 'pattern').map((text) => `commands that match ${text}`),
  sandbox: ({ sandbox }) =>
    sandbox === 'optional' ? ['programs without a sandbox, where none is available'] : [],
  paths: ({ paths = {} }) => [
    ...(paths.extra_roots ?? []).map((root) => `files below ${quoted(root)}, outside of the workspace`),
    ...(paths.rules ?? []).flatMap(({ path, read, write, programs }) => {
      const allowed = [...(read === 'allow' ? ['read'] : []), ...(write === 'allow' ? ['write'] : [])];
      const past = programs === 'allow' ? [`programs past the rules about ${quoted(path)}`] : [];
      return [...(allowed.length > 0 ? [`to ${allowed.join(' and ')} ${quoted(path)}`] : []), ...past];
    }),
  ],
  network: ({ network }) =>
    grants(network?.allowed_domains ?? [], 'domain').map((text) => `connections to ${text}`),
  runs: ({ runs }) => {
    if (!runs) return [];
    const { backend = 'local', backends = [], images = [], limits: _limits, ...rest } = runs;
    return [
      `runs on ${[...new Set([backend, ...backends])].join(', ')}`,
      ...images.map(
        (image) => `runs with the image ${quoted(typeof image === 'string' ? image : image.image)}`,
      ),
      ...Object.entries(rest).map(([key, value]) => `runs.${key}: ${quoted(value as Json)}`),
    ];
  },
  git: ({ git }) => (git?.allow_push ? ['git push'] : []),
  tools: ({ tools }) =>
    (tools?.rules ?? []).flatMap(({ tool, decision, paths }) => {
      if (decision !== 'allow') return [];
      return [`the tool ${quoted(tool)}${paths ? ` on ${paths.map((one) => quoted(one)).join(', ')}` : ''}`];
    }),
  ast: ({ ast }) => (ast?.format_on_save ? ['formatting of what is saved'] : []),
  version: () => [],
  validators: () => [],
  budgets: () => [],
  limits: () => [],
  approvals: ({ approvals }) =>
    approvals?.expire_ms === undefined ? [] : [`approvals that hold for ${approvals.expire_ms} ms`],
  undo: ({ undo }) => shortened('undo', undo?.keep, POLICY_DEFAULTS.undoKeep),
  audit: ({ audit }) => shortened('the audit in the database', audit?.keep, POLICY_DEFAULTS.auditKeep),
};

type Numbers = { readonly [key: string]: number | undefined };

/** Less than is kept by default. */
const shortened = (what: string, keep: Numbers = {}, usual: Numbers): readonly string[] =>
  Object.entries(usual).flatMap(([key, most = 0]) => {
    const given = keep[key];
    return given !== undefined && given < most ? [`to keep ${what} for ${given} ${key} only`] : [];
  });

function describePack(pack: string | JsonObject): string {
  if (typeof pack === 'string') return `the tools of the pack ${quoted(pack)}`;
  const { path, name, enabled, ...rest } = pack;
  const off = enabled === false ? ' (disabled)' : '';
  if (typeof path === 'string') return `the tools of the pack ${quoted(path)}${off}`;
  const [[kind = '', config = null] = []] = Object.entries(rest);
  const { command, url, ...settings } = (isRecord(config) ? config : {}) as JsonObject;
  const what =
    command !== undefined
      ? `runs ${Array.isArray(command) ? command.map((word) => quoted(word)).join(' ') : quoted(command)}`
      : `reaches ${quoted(url ?? config)}`;
  const further = Object.keys(settings).length > 0 ? `, with ${quoted(settings)}` : '';
  return `the pack ${quoted(name ?? '')}${off} (${kind}): ${what}${further}`;
}

function describeLock(lock: LockFile | undefined): readonly string[] {
  if (!lock) return [];
  return Object.keys(lock.packs).map((name) => {
    const tools = Object.entries(lock.tools).flatMap(([id, tool]) =>
      tool.pack === name ? [quoted(id)] : [],
    );
    return `haft.lock accepts the pack ${quoted(name)}: ${tools.length} tools (${tools.join(', ')})`;
  });
}

/** `+` is what was not there, `-` what is gone; what grants more is marked. */
export function describeChange({ key, before, after, widens }: PolicyChange): string {
  const mark = widens ? ' (grants more)' : '';
  if (before === undefined) return `+ ${key}: ${quoted(after ?? null)}${mark}`;
  if (after === undefined) return `- ${key}: ${quoted(before)}${mark}`;
  return `~ ${key}: ${quoted(before)} -> ${quoted(after)}${mark}`;
}

function grants<K extends string>(
  list: readonly (
    | string
    | ({ readonly decision?: string; readonly private?: boolean } & { readonly [key in K]: string })
  )[],
  key: K,
): readonly string[] {
  return list.flatMap((entry) => {
    if (typeof entry === 'string') return [quoted(entry)];
    if (entry.decision === 'deny') return [];
    const asks = entry.decision === 'ask' ? ', after asking' : '';
    return [`${quoted(entry[key])}${entry.private ? ', also at private addresses' : ''}${asks}`];
  });
}

/** As JSON, and what a reader cannot see, or what acts on a screen, as its code. */
const quoted = (value: Json): string =>
  JSON.stringify(value).replaceAll(
    UNSEEN,
    (one) =>
      `\\u${one.length > 1 ? `{${one.codePointAt(0)!.toString(16)}}` : one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0f]/gu;
