// Owns: the policies of the workspaces around this one: which of them hold, and what they leave of the inner one.
// Refuses: a stranger's: a haft.yaml above that this user neither owns nor trusts says nothing here.
import { relative } from 'node:path';
import { canonicalText } from '../../base/canonical-json.ts';
import { shiftPathGlob } from '../../base/glob.ts';
import { escapeGlob } from '../../base/glob-parse.ts';
import { isUnder } from '../../base/rel-path.ts';
import { type Diagnostic, formatDiagnostic } from '../../contract/diagnostic.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { type LoadedPolicy, type OuterPolicy, type PolicyFile, packFolders } from '../../contract/policy.ts';
import type { OuterFolder } from '../../loader/haft-yaml/outer-folders.ts';
import { comparePolicies } from '../../policy/compare-policies.ts';
import type { Section, SeenGlob } from '../../policy/section.ts';
import { SECTIONS } from '../../policy/sections/index.ts';
import { loadPolicy } from '../load-policy.ts';
import { trustFilesOf } from './trust.ts';

/**
 * Adds what the policies of these folders say, and takes out what they do not grant. Warns of every pack that was taken out.
 * Throws `policy.invalid`.
 */
export async function narrowByOuter(
  inner: LoadedPolicy,
  workspace: string,
  folders: readonly OuterFolder[],
): Promise<{ readonly value: LoadedPolicy; readonly diagnostics: readonly Diagnostic[] }> {
  let narrowed = inner;
  const diagnostics: Diagnostic[] = [];
  for (const { folder, owned } of folders) {
    const outer = await holding(folder, owned, workspace);
    if (!outer) continue;
    const before = narrowed.file.packs ?? [];
    narrowed = narrowBy(narrowed, workspace, folder, outer);
    const left = new Set(narrowed.file.packs);
    const by = nameOf(folder, workspace);
    const lost = before.filter((pack) => !left.has(pack));
    if (lost.length === 0) continue;
    diagnostics.push(...lost.map((pack) => unnamed(pack, inner.name, by)));
    const known = narrowed.unnamed ?? [];
    narrowed = { ...narrowed, unnamed: [...known, ...lost.map((pack) => ({ pack, by }))] };
  }
  return { value: narrowed, diagnostics };
}

const unnamed = (pack: string | JsonObject, file: string, outer: string): Diagnostic => {
  const name = typeof pack === 'string' ? pack : String(pack.name ?? pack.path);
  const isFolder = packFolders({ packs: [pack] }).length > 0;
  return {
    file,
    line: 1,
    column: 1,
    code: 'packs.outer',
    severity: 'warning',
    message: `the pack "${name}" is not opened: ${outer} holds here as well, and does not name it`,
    hint: `name it there too: ${isFolder ? 'the same folder, as it is called from there' : 'the same entry, with the same words'}`,
  };
};

export const holds = ({ folder, owned }: OuterFolder): boolean =>
  owned || trustFilesOf(folder).read() !== undefined;

/** What was trusted, where the file has come to grant more than that; undefined where it does not hold here. */
async function holding(folder: string, owned: boolean, workspace: string): Promise<LoadedPolicy | undefined> {
  const record = trustFilesOf(folder).read();
  if (!record && !owned) return undefined;
  const { value, diagnostics } = await loadPolicy(folder, undefined, { fresh: true });
  if (!value) {
    const lines = diagnostics.map(formatDiagnostic).join('\n');
    throw fail(
      'policy.invalid',
      `Cannot start: ${nameOf(folder, workspace)}, whose workspace holds this one, has problems\n${lines}`,
    );
  }
  if (!record) return value.name.startsWith('(') ? undefined : value;
  const widens = comparePolicies(record.policy, value.file).some((change) => change.widens);
  return widens ? { ...value, file: record.policy } : value;
}

const nameOf = (folder: string, workspace: string): string => `${relative(workspace, folder)}/haft.yaml`;

function narrowBy(inner: LoadedPolicy, workspace: string, folder: string, outer: LoadedPolicy): LoadedPolicy {
  const { file, resolved } = inner;
  const { extraRoots = [], packs = [] } = outer.resolved ?? {};
  const reachable = (root: string) =>
    extraRoots.some((one) => isUnder(root, one)) || isOpenTo(root, folder, packs);
  const all = (resolved?.extraRoots ?? []).map(
    (root, at) => [root, resolved?.rootNumbers?.[at] ?? at] as const,
  );
  const left = all.filter(([root]) => reachable(root));
  const roots = left.map(([root]) => root);
  const rootNumbers = left.map(([, number]) => number);
  // What the inner policy reaches beside itself, the outer one names as its own.
  const above = roots.some((root) => isUnder(root, folder)) ? folder : undefined;
  const seen = (glob: string): readonly string[] => [
    ...shiftPathGlob(glob, relative(folder, workspace)),
    ...(above && !glob.startsWith('/') ? [`${escapeGlob(above)}/${glob}`] : []),
  ];
  const layer: OuterPolicy = { name: nameOf(folder, workspace), file: layerOf(outer.file, file, seen) };
  const own = file.packs?.filter((pack) => isNamed(pack, inner, outer));
  const { packs: _packs, ...rest } = leftOf(file, outer.file);
  return {
    ...inner,
    file: { ...rest, ...(own && own.length > 0 ? { packs: own } : {}) },
    outer: [...(inner.outer ?? []), layer],
    ...(resolved
      ? { resolved: { ...resolved, extraRoots: roots, rootNumbers, packs: leftPacks(inner, own ?? []) } }
      : {}),
  };
}

function leftPacks({ file, resolved }: LoadedPolicy, own: readonly unknown[]): readonly string[] {
  const left = packFolders({ packs: own });
  return packFolders(file).flatMap((path, at) => (left.includes(path) ? [resolved?.packs[at] ?? path] : []));
}

/** A folder of the outer workspace, and none of what tools may not touch there. */
function isOpenTo(root: string, folder: string, packs: readonly string[]): boolean {
  if (root === folder || !isUnder(root, folder)) return false;
  const closed = [`${folder}/.haft`, `${folder}/.git`, ...packs];
  return !closed.some((one) => isUnder(root, one) || isUnder(one, root));
}

/** Only what the outer policy names as well: a folder by where it leads, a server by all that is said about it. */
function isNamed(
  pack: NonNullable<PolicyFile['packs']>[number],
  inner: LoadedPolicy,
  outer: LoadedPolicy,
): boolean {
  const [path] = packFolders({ packs: [pack] });
  if (path === undefined) {
    const text = canonicalText(pack);
    return (outer.file.packs ?? []).some((one) => canonicalText(one) === text);
  }
  const at = packFolders(inner.file).indexOf(path);
  const real = inner.resolved?.packs[at];
  return real !== undefined && (outer.resolved?.packs ?? []).includes(real);
}

/** The outer policy as it reads from the inner workspace, with every default written out. */
const layerOf = (outer: PolicyFile, inner: PolicyFile, seen: SeenGlob): PolicyFile =>
  collect(({ key }, { below }) => (below ? below(outer[key], inner[key], seen) : outer[key])) as PolicyFile;

/** What both say, of sections that are no layers. */
const leftOf = (inner: PolicyFile, outer: PolicyFile): PolicyFile =>
  collect(({ key }, { under }) => (under ? under(inner[key], outer[key]) : inner[key])) as PolicyFile;

const collect = (pick: (section: Section, written: ReturnType<Section['written']>) => unknown): object =>
  Object.fromEntries(
    SECTIONS.map((section) => [section.key, pick(section, section.written())]).filter(
      ([, value]) => value !== undefined,
    ),
  );
