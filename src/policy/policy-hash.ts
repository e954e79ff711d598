// Owns: the identity of a policy: of its whole meaning, and of what can change the output of one tool.
// Refuses: spelling; order of rules, defaults that were written out and examples change nothing.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import type { PolicyFile, ToolRule, Verdict } from '../contract/policy.ts';
import { matchesTool } from '../contract/policy-match.ts';

/** `policy/v1` digest of the whole file's meaning. */
export function hashPolicy(host: PolicyFile, narrowing: readonly PolicyFile[]): string {
  const meaning =
    narrowing.length === 0 ? meaningOf(host) : { host: meaningOf(host), narrowing: narrowing.map(meaningOf) };
  return digest('policy/v1', canonicalJson(meaning));
}

/**
 * `policy/v1` digest of the grants and limits that hold for this tool. An approved call does what an allowed one
 * does, so `ask` counts as `allow`, except of paths: nobody is asked when a program opens a file, so an `ask` closes it to
 * programs as a `deny` does. Budgets, approvals, undo, validators and other tools are not in it.
 */
export function hashProjection(tool: string, host: PolicyFile, narrowing: readonly PolicyFile[]): string {
  return digest('policy/v1', writeProjection(tool, host, narrowing));
}

/** What that is the digest of: canonical JSON. */
export function writeProjection(
  tool: string,
  host: PolicyFile,
  narrowing: readonly PolicyFile[],
): Uint8Array {
  const silent = JSON.stringify(projectionOf(tool, { version: 1 }, false));
  const narrower = narrowing
    .map((file) => projectionOf(tool, file, false))
    .filter((projection) => JSON.stringify(projection) !== silent);
  return canonicalJson([projectionOf(tool, host, true), ...narrower]);
}

/** Rules as tuples: what a rule says, in one order, whatever the order of its keys. */
function meaningOf(file: PolicyFile): unknown {
  return {
    version: file.version,
    network: domainsOf(file, true, (decision) => decision),
    shell_allow: commandsOf(file, true, (decision) => decision),
    git: { allow_push: false, require_clean_tree_for_commit: false, ...file.git },
    ast: { format_on_save: false, validate_on_edit: false, ...file.ast },
    validators: asSet((file.validators ?? []).map(({ rule, enforcement }) => [rule, enforcement])),
    tools: {
      default: file.tools?.default ?? 'allow',
      rules: asSet(
        (file.tools?.rules ?? []).map(({ tool, decision, paths }) => [
          tool,
          decision,
          paths ? asSet(paths) : null,
        ]),
      ),
    },
    paths: {
      extra_roots: asSet(file.paths?.extra_roots ?? []),
      rules: asSet(
        (file.paths?.rules ?? []).map(({ path, read, write, programs }) => [
          path,
          read ?? null,
          write ?? null,
          ...(programs === 'allow' ? [programs] : []),
        ]),
      ),
    },
    budgets: file.budgets ?? {},
    limits: file.limits ?? {},
    approvals: file.approvals ?? {},
    undo: file.undo ?? {},
    ...(file.audit && Object.keys(file.audit).length > 0 ? { audit: file.audit } : {}),
    sandbox: file.sandbox ?? 'required',
    packs: file.packs ?? [],
    ...(file.runs ? { runs: { backend: 'local', ...file.runs, images: imagesOf(file) } } : {}),
  };
}

/** Of the host what is absent is not granted; of a session what is absent says nothing. */
function projectionOf(tool: string, file: PolicyFile, complete: boolean): unknown {
  const rules = (file.tools?.rules ?? []).filter((rule) => matchesTool(rule.tool, tool));
  const denying = rules.filter(({ decision }) => decision === 'deny');
  const granting = rules.filter(({ decision }) => decision !== 'deny');
  const needsGrant = file.tools?.default === 'deny' && granting.every(({ paths }) => paths);
  const denied = (access: 'read' | 'write') =>
    asSet((file.paths?.rules ?? []).flatMap((rule) => (rule[access] === 'deny' ? [rule.path] : [])));
  return {
    denied: denying.some(({ paths }) => !paths) || (needsGrant && granting.length === 0),
    denied_paths: asSet(denying.flatMap(({ paths }) => paths ?? [])),
    granted_paths: needsGrant ? asSet(granting.flatMap(({ paths }) => paths ?? [])) : null,
    extra_roots: asSet(file.paths?.extra_roots ?? []),
    unreadable: denied('read'),
    unwritable: denied('write'),
    ...askedOf(file, granting),
    ...freedOf(file),
    network: domainsOf(file, complete, answered),
    shell_allow: commandsOf(file, complete, answered),
    allow_push: file.git?.allow_push ?? (complete ? false : null),
    limits: file.limits ?? {},
    sandbox: file.sandbox ?? (complete ? 'required' : null),
    ...runsOf(tool, file),
  };
}

/** What programs are closed to because somebody would have to be asked (`PolicyEngine.fences`). */
function askedOf(file: PolicyFile, granting: readonly ToolRule[]): object {
  const ofTool = granting.flatMap(({ decision, paths }) => (decision === 'ask' ? (paths ?? []) : []));
  const asked = (access: 'read' | 'write') =>
    (file.paths?.rules ?? [])
      .filter((rule) => rule[access] === 'ask' && rule.programs !== 'allow')
      .map(({ path }) => path);
  const closed = [asSet([...asked('read'), ...ofTool]), asSet([...asked('write'), ...ofTool])];
  return closed.some(({ length }) => length > 0) ? { asked: closed } : {};
}

/** Where programs are kept from less than tools. */
function freedOf(file: PolicyFile): object {
  const freed = (file.paths?.rules ?? []).filter(({ programs }) => programs === 'allow');
  if (freed.length === 0) return {};
  return {
    freed: asSet(freed.map(({ path, read, write }) => [path, read !== undefined, write !== undefined])),
  };
}

/** Which images there are and how much a run may use up can change what it makes; where it runs cannot. */
function runsOf(tool: string, file: PolicyFile): object {
  const images = imagesOf(file, tool);
  const { limits = {} } = file.runs ?? {};
  if (images.length === 0 && Object.keys(limits).length === 0) return {};
  return { runs: { images, limits } };
}

const imagesOf = (file: PolicyFile, tool?: string): unknown[] =>
  asSet(
    (file.runs?.images ?? []).flatMap((entry) => {
      const { image, name = null, tools } = asRule(entry, 'image');
      if (tool === undefined) return [[image, name, tools ? asSet(tools) : null]];
      return !tools || tools.some((glob) => matchesTool(glob, tool)) ? [[image, name]] : [];
    }),
  );

const answered = (decision: Verdict): Verdict => (decision === 'deny' ? 'deny' : 'allow');

function domainsOf(file: PolicyFile, complete: boolean, decided: (decision: Verdict) => Verdict): unknown {
  const domains = file.network?.allowed_domains;
  if (!domains && !complete) return null;
  return asSet(
    (domains ?? []).map((entry) => {
      const { domain, decision = 'allow', private: isPrivate = false } = asRule(entry, 'domain');
      return [domain, decided(decision), isPrivate];
    }),
  );
}

function commandsOf(file: PolicyFile, complete: boolean, decided: (decision: Verdict) => Verdict): unknown {
  if (!file.shell_allow && !complete) return null;
  return asSet(
    (file.shell_allow ?? []).map((entry) => {
      const { pattern, decision = 'allow' } = asRule(entry, 'pattern');
      return [pattern, decided(decision)];
    }),
  );
}

const asRule = <T extends object, K extends keyof T>(entry: string | T, key: K): T =>
  typeof entry === 'string' ? ({ [key]: entry } as T) : entry;

/** Sorted, each once: the order in which rules are written means nothing. */
function asSet(list: readonly (string | readonly unknown[])[]): unknown[] {
  const byText = new Map(list.map((entry) => [JSON.stringify(entry), entry]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}
