// Owns: `paths`: which files may be read and written: where a path lies, what is protected, which rules match.
// Not here: the disk; the path is normalised text, and what links do to it is checked where it is opened.
import { isUnder, parentOf } from '../../base/rel-path.ts';
import { describeEffect, type EffectShapes } from '../../contract/effect.ts';
import type { Fence, PathRule, PolicyFile, Verdict } from '../../contract/policy.ts';
import { blocksTree, compilePathGlob, isStricter, locatePath } from '../../contract/policy-match.ts';
import { renderGrant } from '../grant.ts';
import { ownedBy, ownFences, protectedPaths } from '../protected-paths.ts';
import type { CompiledPolicy, Finding, Layer, Section } from '../section.ts';
import {
  attempt,
  checkedPathGlob,
  checkShadowed,
  choice,
  examples,
  list,
  map,
  rulesOf,
  text,
  verdict,
} from '../shapes.ts';
import { asSet, lists, ONLY_LESS, type PathEffect, shown } from '../values.ts';
import { askedPaths, toolFences } from './tools.ts';

type Access = 'read' | 'write';
const ACCESSES = ['read', 'write'] as const;

export const paths = {
  key: 'paths',
  written: () => ({
    shape: map('Which files may be touched. Without it: everything in the workspace that is not protected.', {
      extra_roots: list(
        text('folder', 'A folder, relative to haft.yaml or absolute.'),
        'Folders beside the workspace that paths may lie below. None that holds the workspace, or the folders where Haft keeps its key and what you trust.',
      ),
      rules: list(
        map(
          'What happens to reads and writes of some paths.',
          {
            path: text(
              'path-glob',
              'A glob over workspace-relative paths. Where its last part has no wildcard it also holds for everything below.',
            ),
            read: verdict('What happens to reads of it.'),
            write: verdict('What happens to writes of it.'),
            programs: choice(
              ['allow', 'deny'],
              '`allow` binds tools alone: where `path` matches, no rule of this file keeps sandboxed programs from what this rule names (`read`, `write`).',
              'deny',
            ),
            examples: examples('A path; `read:` or `write:` before it names one of the two.'),
          },
          { required: ['path'], someOf: ACCESSES },
        ),
        'Of the rules that match a path the strictest wins.',
      ),
    }),
    check(draft, site) {
      for (const access of ACCESSES) {
        const candidates = rulesOf(draft.paths?.rules, 'paths.rules', 'path').map(({ rule, path }) => ({
          path,
          subject: rule.path,
          verdict: rule[access],
          matches: (file: string) =>
            attempt(rule.path, (glob) => compilePathGlob(glob).matches(file)) ?? false,
        }));
        checkShadowed(candidates, access, site);
      }
    },
    examples: (draft) => ({
      rules: rulesOf(draft.paths?.rules, 'paths.rules', 'path').map(({ rule, path }) => {
        const glob = checkedPathGlob(rule.path);
        return {
          path,
          examples: rule.examples,
          matches: (subject) => glob?.matches(subject.text) ?? false,
          says: ({ access }) => (access ? rule[access] : undefined),
        };
      }),
      byDefault: 'allow',
      wanted: 'a path, with or without read: or write: before it',
      read(example, rule) {
        const [, named, path = ''] = /^(?:(read|write): ?)?(.+)$/s.exec(example) ?? [];
        if (named) return { calls: [[{ text: path, access: named as Access }]] };
        const both = ACCESSES.map((access) => ({ text: path, access }));
        return {
          calls: both.filter((subject) => rule.says(subject) !== undefined).map((subject) => [subject]),
        };
      },
    }),
    widening: (_host, session) => [
      ...(session.extra_roots ?? []).map((_, at) => `.extra_roots[${at}]`),
      ...(session.rules ?? []).flatMap((rule, at) =>
        ([...ACCESSES, 'programs'] as const).flatMap((key) =>
          rule[key] === 'allow' ? [`.rules[${at}].${key}`] : [],
        ),
      ),
    ],
    changes: (old = {}, now = {}) => [
      ...lists('paths.extra_roots', old.extra_roots ?? [], now.extra_roots ?? [], ONLY_LESS),
      ...lists('paths.rules', plainRules(old), plainRules(now), {
        // What binds tools alone takes programs out of every other rule about the same paths.
        added: ({ read, write, programs }) => read === 'allow' || write === 'allow' || programs === 'allow',
        removed: (gone) =>
          ACCESSES.some((access) => {
            const was = gone[access] ?? 'allow';
            if (was === 'allow') return false;
            return !plainRules(now).some(
              (rule) => rule.path === gone.path && !isStricter(was, rule[access] ?? 'allow'),
            );
          }),
      }),
    ],
    reach: 9,
    grants: ({ extra_roots: roots = [], rules = [] }) => [
      ...roots.map((root) => `files below ${shown(root)}, outside of the workspace`),
      ...rules.flatMap((rule) => {
        const allowed = ACCESSES.filter((access) => rule[access] === 'allow');
        const past = rule.programs === 'allow' ? [`programs past the rules about ${shown(rule.path)}`] : [];
        return [...(allowed.length > 0 ? [`to ${allowed.join(' and ')} ${shown(rule.path)}`] : []), ...past];
      }),
    ],
    below: (own, _inner, seen) => ({
      rules: (own?.rules ?? []).flatMap(({ examples: _examples, ...rule }, number) =>
        seen(rule.path).map((path) => ({ ...rule, path, number })),
      ),
    }),
  }),
  meaning: (own) => ({
    extra_roots: asSet(own?.extra_roots ?? []),
    rules: asSet(
      (own?.rules ?? []).map(({ path, read, write, programs }) => [
        path,
        read ?? null,
        write ?? null,
        ...(programs === 'allow' ? [programs] : []),
      ]),
    ),
  }),
  project(file, tool) {
    const { extra_roots: roots = [], rules = [] } = file.paths ?? {};
    const denied = (access: Access) =>
      asSet(rules.flatMap((rule) => (rule[access] === 'deny' ? [rule.path] : [])));
    const asked = (access: Access) =>
      rules.filter((rule) => rule[access] === 'ask' && rule.programs !== 'allow').map(({ path }) => path);
    // What programs are closed to because somebody would have to be asked.
    const closed = ACCESSES.map((access) => asSet([...asked(access), ...askedPaths(file, tool)]));
    // Where they are kept from less than tools.
    const freed = rules.filter(({ programs }) => programs === 'allow');
    return {
      extra_roots: asSet(roots),
      unreadable: denied('read'),
      unwritable: denied('write'),
      ...(closed.some(({ length }) => length > 0) ? { asked: closed } : {}),
      ...(freed.length > 0
        ? {
            freed: asSet(
              freed.map(({ path, read, write }) => [path, read !== undefined, write !== undefined]),
            ),
          }
        : {}),
    };
  },
  effects: { 'fs.read': rulesFor('read'), 'fs.write': rulesFor('write') },
  sees(_tool, policy) {
    const hiding = policy.layers.flatMap((layer) =>
      layer
        .part(entriesOf)
        .filter(({ read = 'allow' }) => read !== 'allow')
        .map(({ path }) => path),
    );
    const closed = policy.part(ownPaths).filter(({ path, read }) => !read && path !== STATE_FOLDER);
    const isState = (path: string) =>
      (path.includes(STATE_FOLDER) && ownedBy(path, 'read') !== undefined) ||
      closed.some((one) => isUnder(path, one.path));
    if (hiding.length === 0) return (path) => !isState(path);
    return (path) => !isState(path) && !hiding.some((matcher) => matcher.matches(path));
  },
  fences: (tool, policy) => [
    ...ownFences(policy.part(ownPaths)),
    ...policy.layers.flatMap(fencesOf),
    ...toolFences(tool, policy),
  ],
} satisfies Section<'paths'>;

const STATE_FOLDER = '.haft';

const plainRules = ({ rules = [] }: NonNullable<PolicyFile['paths']>): PathRule[] =>
  rules.map(({ path, read, write, programs }) => ({
    path,
    ...(read ? { read } : {}),
    ...(write ? { write } : {}),
    ...(programs === 'allow' ? { programs } : {}),
  }));

const entriesOf = ({ file }: Layer) =>
  (file.paths?.rules ?? []).map(({ path, read, write, programs, number }, at) => ({
    rule: `paths.rules[${number ?? at}]`,
    glob: path,
    path: compilePathGlob(path),
    read,
    write,
    /** It binds tools, and takes programs out of what other rules of its layer say. */
    freesPrograms: programs === 'allow',
  }));

const ownPaths = ({ loaded }: CompiledPolicy) => protectedPaths(loaded);

function rootsOf({ loaded }: CompiledPolicy): readonly { readonly path: string; readonly rule: string }[] {
  const written = loaded.file.paths?.extra_roots ?? [];
  const resolved = loaded.resolved?.extraRoots ?? written.filter((root) => root.startsWith('/'));
  const numbers = loaded.resolved?.rootNumbers;
  return resolved.map((path, at) => ({ path, rule: `paths.extra_roots[${numbers?.[at] ?? at}]` }));
}

const rootAbove = (path: string | undefined, policy: CompiledPolicy) =>
  policy.part(rootsOf).find((one) => path !== undefined && isUnder(path, one.path));

function rulesFor(access: Access) {
  return {
    decide: (effect: EffectShapes['fs.read'], policy: CompiledPolicy) => decidePath(access, effect, policy),
    name: ({ path, tree }: EffectShapes['fs.read']) => (tree ? undefined : path),
    /** Without showing where on this machine something outside of the workspace lies. */
    describe(effect: PathEffect, policy: CompiledPolicy) {
      const path = locatePath(effect.path, policy.workspace);
      if (path === effect.path && !path.startsWith('/')) return describeEffect(effect);
      if (path !== undefined && !path.startsWith('/')) return describeEffect({ ...effect, path });
      const root = rootAbove(path, policy);
      const told = root ? `${root.rule}${path?.slice(root.path.length)}` : 'a path outside of the workspace';
      return describeEffect({ kind: effect.kind, path: told });
    },
  };
}

function decidePath(
  access: Access,
  { path: given, tree }: EffectShapes['fs.read'],
  policy: CompiledPolicy,
): readonly Finding[] {
  const path = locatePath(given, policy.workspace);
  const byPlace = decidePlace(path, given, policy);
  if (path === undefined) return [byPlace];
  const wholeTree = access === 'write' && tree === true;
  // What lies outside is held against the rules all the same: whoever lifts the one has to lift the others.
  const findings: Finding[] = byPlace.verdict === 'allow' ? [] : [byPlace];
  findProtected(access, path, wholeTree, policy, findings);
  for (const layer of policy.layers) {
    for (const { rule, glob, path: matcher, [access]: says } of layer.part(entriesOf)) {
      if (says === undefined) continue;
      // Of a tree that is written, one denied place is enough. Of one that is read, denied files are left out.
      const inTheWay = wholeTree && blocksTree(matcher, says, path);
      if (!inTheWay && !matcher.matches(path)) continue;
      const { where, ...cited } = layer.cite(rule);
      const grant = layer.grant({ paths: { rules: [{ path: glob, [access]: 'allow' }] } });
      findings.push({ verdict: says, ...cited, fact: `${where} says ${says}`, grant });
    }
  }
  if (findings.length === 0) findings.push(byPlace);
  return findings;
}

const IN_WORKSPACE: Finding = {
  verdict: 'allow',
  rule: 'default',
  fact: 'paths in the workspace are granted',
};

/** What holds where no rule matches: in the workspace, below an extra root, or outside. */
function decidePlace(path: string | undefined, given: string, policy: CompiledPolicy): Finding {
  if (path !== undefined && !path.startsWith('/')) return IN_WORKSPACE;
  const root = rootAbove(path, policy);
  if (root) return { verdict: 'allow', rule: root.rule, fact: `${root.rule} holds it` };
  const folder = path === undefined ? undefined : parentOf(path);
  // A root that holds the workspace is refused at load, so naming it would admit nothing.
  const nameable = folder && !(policy.workspace && isUnder(policy.workspace, folder));
  return {
    verdict: 'deny',
    rule: 'paths.extra_roots',
    reason: 'path.outside_workspace',
    fact: 'it lies neither in the workspace nor below one of paths.extra_roots',
    grant: nameable ? { paths: { extra_roots: [asGiven(given, folder)] } } : undefined,
  };
}

/** A folder is named as the path was: who said `../x/y` is told of `../x`, not where that is on this machine. */
function asGiven(given: string, folder: string): string {
  const relative = /^((?:\.\.\/)+)((?!\.\.?(?:\/|$)).+)$/s.exec(given);
  return relative ? `${relative[1]}${parentOf(relative[2] as string)}` : folder;
}

function findProtected(
  access: Access,
  path: string,
  wholeTree: boolean,
  policy: CompiledPolicy,
  findings: Finding[],
): void {
  for (const one of policy.part(ownPaths)) {
    if (access === 'read' && one.read) continue;
    const isIn = one.alone ? path === one.path : isUnder(path, one.path);
    if (!isIn && !(wholeTree && isUnder(one.path, path))) continue;
    const fact = isIn ? one.fact : `it holds ${one.path}: ${one.fact}; name the folders that are needed`;
    findings.push({ verdict: 'deny', rule: one.rule, reason: 'path.protected', fact });
  }
  const owned = ownedBy(path, access) ?? (wholeTree && path === '.' ? ownedBy('.git', 'write') : undefined);
  if (!owned || findings.some(({ rule }) => rule === owned.rule)) return;
  findings.push({ verdict: 'deny', rule: owned.rule, reason: 'path.protected', fact: owned.fact });
}

/** A layer frees programs from its own rules only: what a session denies stays denied. */
function fencesOf(layer: Layer): Fence[] {
  const entries = layer.part(entriesOf);
  const freed = entries.filter(({ freesPrograms }) => freesPrograms);
  const except = (access: Access) =>
    freed.filter((rule) => rule[access] !== undefined).map(({ glob }) => glob);
  return entries
    .filter(({ freesPrograms }) => !freesPrograms)
    .flatMap(({ rule, glob, read, write }) => {
      const said = { ...(read ? { read } : {}), ...(write ? { write } : {}) };
      const opened = layer.grant({ paths: { rules: [{ path: glob, ...said, programs: 'allow' }] } });
      const cited = { where: layer.cite(rule).where, ...(opened ? { admit: renderGrant(opened) } : {}) };
      if (freed.length === 0) return [{ ...fence(glob, read, write), ...cited }];
      return [
        { ...fence(glob, read), except: except('read'), ...cited },
        { ...fence(glob, 'allow', write), except: except('write'), ...cited },
      ];
    });
}

const fence = (glob: string, read: Verdict = 'allow', write: Verdict = 'allow'): Fence => ({
  glob,
  read: read !== 'allow',
  write: write !== 'allow',
});
