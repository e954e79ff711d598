// Owns: a policy that decides: over a tool and everything that a call of it would touch, the strictest rule wins.
// Refuses: input and output, and changing; a reload or a session makes another engine.
import { once } from '../base/once.ts';
import { isUnder } from '../base/rel-path.ts';
import { describeEffect, type Effect } from '../contract/effect.ts';
import type { Fence, LoadedPolicy, PolicyEngine, PolicyFile, Verdict } from '../contract/policy.ts';
import { isStricter, loadPatternCompiler, matchesDomain } from '../contract/policy-match.ts';
import { type CompiledPolicy, compilePolicy, type Layer } from './compile-policy.ts';
import { type ToolRules, toolRules } from './decide-tool.ts';
import { DECIDERS } from './deciders/index.ts';
import { decideFrom, type Finding, type FindingDecision, GRANT, grantOf } from './finding.ts';
import { type Grant, renderGrant } from './grant.ts';
import { locatePath } from './locate-path.ts';
import { narrowFile } from './narrow-file.ts';
import { hashPolicy, hashProjection, writeProjection } from './policy-hash.ts';
import { ownedBy, ownFences } from './protected-paths.ts';

export interface PolicyEngineOptions {
  readonly loaded: LoadedPolicy;
  /** Registries that were checked to narrow it (`checkNarrowing`). */
  readonly narrowing?: readonly PolicyFile[];
}

export interface GrantingEngine extends PolicyEngine {
  /** What would admit this call; an empty grant where it is allowed, undefined where nothing can. */
  grantFor(tool: string, effects: readonly Effect[]): Grant | undefined;
  ready(effects: readonly Effect[]): Promise<void> | undefined;
}

/** How many things an engine remembers the decision of, for each way to touch them. */
const MAX_REMEMBERED = 4096;

export function createPolicyEngine({ loaded, narrowing = [] }: PolicyEngineOptions): GrantingEngine {
  const policy = compilePolicy(loaded, narrowing);
  const narrower = [...(loaded.outer ?? []).map((outer) => outer.file), ...narrowing];
  const file = narrowFile(loaded.file, narrower);
  const tools = new Map<string, KnownTool>();
  const remembered = new Map<Effect['kind'], Map<string, FindingDecision>>();
  const projections = new Map<string, string>();
  let hash: string | undefined;

  const knownTool = (tool: string): KnownTool => {
    const known = tools.get(tool);
    if (known) return known;
    const rules = toolRules(tool, policy);
    const plain = decideFrom(rules.findings(undefined, false), `call ${tool}`, undefined);
    const made = {
      rules,
      plain,
      sees: once(() => seesFor(policy, tool, plain)),
      fences: once(() => fencesFor(policy, tool)),
    };
    if (tools.size < MAX_REMEMBERED) tools.set(tool, made);
    return made;
  };

  const toolDecision = (tool: string, effect: Effect | undefined): FindingDecision => {
    const { rules, plain } = knownTool(tool);
    if (rules.pathless || !effect || !isPathEffect(effect)) return plain;
    const path = locatePath(effect.path, policy.workspace) ?? effect.path;
    const wholeTree = effect.kind === 'fs.write' && effect.tree === true;
    return decideFrom(rules.findings(path, wholeTree), `call ${tool}`, effect);
  };

  const effectDecision = (effect: Effect): FindingDecision => {
    const thing = nameOf(effect);
    if (thing === undefined) return decideAfresh(effect);
    const memory = remembered.get(effect.kind) ?? new Map<string, FindingDecision>();
    const known = memory.get(thing);
    if (known) return known;
    const made = decideAfresh(effect);
    if (memory.size >= MAX_REMEMBERED) memory.clear();
    remembered.set(effect.kind, memory.set(thing, made));
    return made;
  };

  const decideAfresh = (effect: Effect): FindingDecision => {
    const decider = DECIDERS[effect.kind] as (effect: Effect, policy: CompiledPolicy) => readonly Finding[];
    return decideFrom(decider(effect, policy), describeAction(effect, policy), effect);
  };

  const decisionsOf = (tool: string, effects: readonly Effect[]): FindingDecision[] => {
    if (effects.length === 0) return [toolDecision(tool, undefined)];
    const all: FindingDecision[] = [];
    for (const effect of effects) {
      const ofTool = toolDecision(tool, effect);
      if (!all.includes(ofTool)) all.push(ofTool);
      all.push(effectDecision(effect));
    }
    return all;
  };

  const decideEffect = (tool: string, effect: Effect) =>
    strictestDecision([effectDecision(effect), toolDecision(tool, effect)]);

  return {
    loaded: narrower.length === 0 ? loaded : { ...loaded, file },
    host: loaded.file,
    get hash() {
      hash ??= hashPolicy(loaded.file, narrower);
      return hash;
    },
    hashFor(tool) {
      const known = projections.get(tool) ?? hashProjection(tool, loaded.file, narrower);
      if (projections.size < MAX_REMEMBERED) projections.set(tool, known);
      return known;
    },
    projectionFor: (tool) => writeProjection(tool, loaded.file, narrower),
    ready(effects) {
      const needs = (kind: Effect['kind']) => effects.some((effect) => effect.kind === kind);
      const commands = needs('exec') && policy.patterns.size === 0 && policy.layers.some(hasPatterns);
      const hosts = needs('net.connect') && !policy.library.classifyHost;
      return commands || hosts ? loadFor(policy, commands, hosts) : undefined;
    },
    decide(tool, effects) {
      const all = decisionsOf(tool, effects);
      const strictest = strictestDecision(all);
      const obstacles = all.filter(({ verdict }) => verdict !== 'allow');
      // The first obstacle's own grant is not enough where there are more.
      const decision = obstacles.length > 1 ? withGrant(strictest, grantOf(obstacles)) : strictest;
      return { decision, all };
    },
    sees: (tool) => knownTool(tool).sees(),
    fences: (tool) => knownTool(tool).fences(),
    allowsPrivate: (target) =>
      policy.layers.every(
        ({ domains }) =>
          !domains ||
          domains.some(
            ({ domain, verdict, isPrivate }) =>
              isPrivate && verdict === 'allow' && matchesDomain(domain, target),
          ),
      ),
    decideEffect,
    grantFor: (tool, effects) => grantOf(decisionsOf(tool, effects)),
  };
}

function fencesFor({ layers, protectedPaths }: CompiledPolicy, tool: string): readonly Fence[] {
  const ofTool = layers.flatMap((layer) =>
    layer.tools.rules
      .filter((rule) => rule.globs && rule.matches(tool))
      .flatMap(({ globs = [], verdict }) => globs.map((glob) => fence(glob, verdict, verdict))),
  );
  const all = [...ownFences(protectedPaths), ...layers.flatMap(fencesOf), ...ofTool];
  return all.filter(({ read, write }) => read || write);
}

const fence = (glob: string, read: Verdict = 'allow', write: Verdict = 'allow'): Fence => ({
  glob,
  read: read !== 'allow',
  write: write !== 'allow',
});

/** A layer frees programs from its own rules only: what a session denies stays denied. */
function fencesOf({ paths, cite, grant }: Layer): Fence[] {
  const freed = paths.filter(({ freesPrograms }) => freesPrograms);
  const except = (access: 'read' | 'write') =>
    freed.filter((rule) => rule[access] !== undefined).map(({ glob }) => glob);
  return paths
    .filter(({ freesPrograms }) => !freesPrograms)
    .flatMap(({ rule, glob, read, write }) => {
      const said = { ...(read ? { read } : {}), ...(write ? { write } : {}) };
      const opened = grant({ paths: { rules: [{ path: glob, ...said, programs: 'allow' }] } });
      const cited = { where: cite(rule).where, ...(opened ? { admit: renderGrant(opened) } : {}) };
      if (freed.length === 0) return [{ ...fence(glob, read, write), ...cited }];
      return [
        { ...fence(glob, read), except: except('read'), ...cited },
        { ...fence(glob, 'allow', write), except: except('write'), ...cited },
      ];
    });
}

const STATE_FOLDER = '.haft';

type PathEffect = Extract<Effect, { readonly kind: 'fs.read' | 'fs.write' }>;
/** What names a thing well enough to remember its decision by. */
function nameOf(effect: Effect): string | undefined {
  if (isPathEffect(effect)) return effect.tree ? undefined : effect.path;
  return effect.kind === 'net.connect' ? `${effect.scheme} ${effect.host} ${effect.port}` : undefined;
}

const isPathEffect = (effect: Effect): effect is PathEffect =>
  effect.kind === 'fs.read' || effect.kind === 'fs.write';

interface KnownTool {
  readonly rules: ToolRules;
  /** The decision on calls that touch no path, and on all where no rule asks for paths. */
  readonly plain: FindingDecision;
  /** The same function while the policy is the same. */
  readonly sees: () => (path: string) => boolean;
  readonly fences: () => readonly Fence[];
}

/** Only whether, not why: a listing asks for every entry of a tree. */
function seesFor(policy: CompiledPolicy, tool: string, plain: FindingDecision): (path: string) => boolean {
  if (plain.verdict !== 'allow') return () => false;
  const hiding = policy.layers.flatMap((layer) => [
    ...layer.paths.filter(({ read = 'allow' }) => read !== 'allow').map(({ path }) => path),
    ...layer.tools.rules
      .filter((rule) => rule.verdict !== 'allow' && rule.matches(tool))
      .flatMap(({ paths = [] }) => paths),
  ]);
  const closed = policy.protectedPaths.filter(({ path, read }) => !read && path !== STATE_FOLDER);
  const isState = (path: string) =>
    (path.includes(STATE_FOLDER) && ownedBy(path, 'read') !== undefined) ||
    closed.some((one) => isUnder(path, one.path));
  if (hiding.length === 0) return (path) => !isState(path);
  return (path) => !isState(path) && !hiding.some((matcher) => matcher.matches(path));
}

function strictestDecision(all: readonly FindingDecision[]): FindingDecision {
  let strictest = all[0] as FindingDecision;
  for (const one of all) if (isStricter(one.verdict, strictest.verdict)) strictest = one;
  return strictest;
}

function withGrant(decision: FindingDecision, grant: Grant | undefined): FindingDecision {
  const { admit: _admit, [GRANT]: _grant, ...rest } = decision;
  return grant ? { ...rest, admit: renderGrant(grant), [GRANT]: grant } : rest;
}

const hasPatterns = ({ commands = [] }: CompiledPolicy['layers'][number]): boolean => commands.length > 0;

async function loadFor(policy: CompiledPolicy, commands: boolean, hosts: boolean): Promise<void> {
  if (commands) await compilePatterns(policy);
  if (!hosts) return;
  const { classifyHost } = await import('../base/ip-address.ts');
  policy.library.classifyHost = classifyHost;
}

async function compilePatterns({ layers, patterns }: CompiledPolicy): Promise<void> {
  const texts = layers.flatMap(({ commands }) => commands?.map(({ pattern }) => pattern) ?? []);
  if (texts.length === 0) return;
  const compile = await loadPatternCompiler();
  for (const text of texts) patterns.set(text, compile(text));
}

/** As `describeEffect`, but without showing where on this machine something outside of the workspace lies. */
function describeAction(effect: Effect, policy: CompiledPolicy): string {
  if (!isPathEffect(effect)) return describeEffect(effect);
  const path = locatePath(effect.path, policy.workspace);
  if (path === effect.path && !path.startsWith('/')) return describeEffect(effect);
  if (path !== undefined && !path.startsWith('/')) return describeEffect({ ...effect, path });
  const root = policy.extraRoots.find((one) => path !== undefined && isUnder(path, one.path));
  const shown = root ? `${root.rule}${path?.slice(root.path.length)}` : 'a path outside of the workspace';
  return describeEffect({ kind: effect.kind, path: shown });
}
