// Owns: a policy that decides: over a tool and everything that a call of it would touch, the strictest finding wins. And its identity: of its whole meaning, and of what can change the output of one tool.
// Refuses: input and output, and changing; a reload or a session makes another engine. Spelling changes no identity.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import { once } from '../base/once.ts';
import { describeEffect, type Effect, type EffectKind } from '../contract/effect.ts';
import type { Decision, Fence, LoadedPolicy, PolicyEngine, PolicyFile, Verdict } from '../contract/policy.ts';
import { isStricter } from '../contract/policy-match.ts';
import { mergeGrants, renderGrant } from './grant.ts';
import { narrowFile } from './narrow-policy.ts';
import type { CallRules, CompiledPolicy, EffectRules, Finding, Grant, Layer, Section } from './section.ts';
import { SECTIONS } from './sections/index.ts';
import { allowsPrivate } from './sections/network.ts';

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

/** Which section decides what. */
const RULES: ReadonlyMap<string, EffectRules<EffectKind>> = new Map(
  SECTIONS.flatMap(({ effects = {} }) => Object.entries(effects as Record<string, EffectRules<EffectKind>>)),
);

export function createPolicyEngine({ loaded, narrowing = [] }: PolicyEngineOptions): GrantingEngine {
  const policy = compilePolicy(loaded, narrowing);
  const narrower = [...(loaded.outer ?? []).map((outer) => outer.file), ...narrowing];
  const file = narrowFile(loaded.file, narrower);
  const tools = new Map<string, KnownTool>();
  const remembered = new Map<EffectKind, Map<string, FindingDecision>>();
  const projections = new Map<string, string>();
  let hash: string | undefined;

  const knownTool = (tool: string): KnownTool => {
    const known = tools.get(tool);
    if (known) return known;
    const rules = SECTIONS.flatMap((section) => section.calls?.(tool, policy) ?? []);
    const findings = rules.flatMap((one) => one.findings(undefined) ?? []);
    const plain = decideFrom(findings, `call ${tool}`, undefined);
    const made = {
      rules: rules.every(({ fixed }) => fixed) ? [] : rules,
      plain,
      sees: once(() => seesFor(policy, tool, plain)),
      fences: once(() =>
        SECTIONS.flatMap((section) => section.fences?.(tool, policy) ?? []).filter(
          ({ read, write }) => read || write,
        ),
      ),
    };
    if (tools.size < MAX_REMEMBERED) tools.set(tool, made);
    return made;
  };

  const toolDecision = (tool: string, effect: Effect | undefined): FindingDecision => {
    const { rules, plain } = knownTool(tool);
    if (!effect || rules.length === 0) return plain;
    const findings = rules.map((one) => one.findings(effect));
    if (findings.every((found) => found === undefined)) return plain;
    const all = findings.flatMap((found, at) => found ?? rules[at]?.findings(undefined) ?? []);
    return decideFrom(all, `call ${tool}`, effect);
  };

  const effectDecision = (effect: Effect): FindingDecision => {
    const rules = RULES.get(effect.kind);
    const thing = rules?.name?.(effect as never);
    if (thing === undefined) return decideAfresh(effect, rules);
    const memory = remembered.get(effect.kind) ?? new Map<string, FindingDecision>();
    const known = memory.get(thing);
    if (known) return known;
    const made = decideAfresh(effect, rules);
    if (memory.size >= MAX_REMEMBERED) memory.clear();
    remembered.set(effect.kind, memory.set(thing, made));
    return made;
  };

  const decideAfresh = (effect: Effect, rules: EffectRules<EffectKind> | undefined): FindingDecision => {
    const findings = rules?.decide(effect as never, policy) ?? UNDECIDED;
    const action = rules?.describe?.(effect as never, policy) ?? describeEffect(effect);
    return decideFrom(findings, action, effect);
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

  return {
    loaded: narrower.length === 0 ? loaded : { ...loaded, file },
    host: loaded.file,
    get hash() {
      hash ??= hashPolicy(loaded.file, narrower);
      return hash;
    },
    hashFor(tool) {
      const known =
        projections.get(tool) ?? digest('policy/v1', writeProjection(tool, loaded.file, narrower));
      if (projections.size < MAX_REMEMBERED) projections.set(tool, known);
      return known;
    },
    projectionFor: (tool) => writeProjection(tool, loaded.file, narrower),
    ready(effects) {
      let waits: Map<string, Promise<void>> | undefined;
      for (const { kind } of effects) {
        const wait = waits?.has(kind) ? undefined : RULES.get(kind)?.ready?.(policy);
        if (wait) waits = (waits ?? new Map()).set(kind, wait);
      }
      return waits && Promise.all(waits.values()).then(() => undefined);
    },
    decide(tool, effects) {
      const all = decisionsOf(tool, effects);
      const strictest = strictestOf(all);
      const obstacles = all.filter(({ verdict }) => verdict !== 'allow');
      // The first obstacle's own grant is not enough where there are more.
      const decision = obstacles.length > 1 ? withGrant(strictest, grantOf(obstacles)) : strictest;
      return { decision, all };
    },
    sees: (tool) => knownTool(tool).sees(),
    fences: (tool) => knownTool(tool).fences(),
    allowsPrivate: (target) => allowsPrivate(policy, target),
    decideEffect: (tool, effect) => strictestOf([effectDecision(effect), toolDecision(tool, effect)]),
    grantFor: (tool, effects) => grantOf(decisionsOf(tool, effects)),
  };
}

interface KnownTool {
  /** Empty where the plain decision holds whatever a call touches. */
  readonly rules: readonly CallRules[];
  /** The decision on calls that touch nothing. */
  readonly plain: FindingDecision;
  /** The same function while the policy is the same. */
  readonly sees: () => (path: string) => boolean;
  readonly fences: () => readonly Fence[];
}

/** Only whether, not why: a listing asks for every entry of a tree. */
function seesFor(policy: CompiledPolicy, tool: string, plain: FindingDecision): (path: string) => boolean {
  if (plain.verdict !== 'allow') return () => false;
  const [first, ...others] = SECTIONS.flatMap((section) => section.sees?.(tool, policy) ?? []);
  if (!first) return () => true;
  return others.length === 0 ? first : (path) => first(path) && others.every((sees) => sees(path));
}

// ------------------------------------------------------------------------------------------ compiling

function compilePolicy(loaded: LoadedPolicy, narrowing: readonly PolicyFile[]): CompiledPolicy {
  const { file, name, lines, outer = [], resolved } = loaded;
  const cite = (rule: string) => {
    const line = lines[rule];
    return { rule, line, where: line === undefined ? rule : `${rule} (${name} line ${line})` };
  };
  return withParts({
    loaded,
    workspace: resolved?.workspace,
    layers: [
      withParts({ file, name, complete: true, cite, grant: (grant: Grant) => grant }),
      ...outer.map((one) => narrowLayer('outer', one.name, one.file)),
      ...narrowing.map((one) => narrowLayer('session', 'the session', one)),
    ],
  });
}

/** What it denies is not for haft.yaml to change. An outer policy is said whole; of a session what is absent is not narrowed. */
const narrowLayer = (kind: 'outer' | 'session', name: string, file: PolicyFile): Layer =>
  withParts({
    file,
    name,
    complete: kind === 'outer',
    cite: (rule: string) => ({ rule: `${kind}:${rule}`, where: `${rule} of ${name}` }),
    grant: () => undefined,
  });

function withParts<T extends object>(self: T): T & { part<P>(make: (self: never) => P): P } {
  const parts = new Map<unknown, unknown>();
  const whole = {
    ...self,
    part<P>(make: (self: never) => P): P {
      const known = parts.get(make);
      if (known !== undefined || parts.has(make)) return known as P;
      const made = make(whole as never);
      parts.set(make, made);
      return made;
    },
  };
  return whole;
}

// ------------------------------------------------------------------------------------------- deciding

/** Of a kind that no section decides: nobody can have granted it. */
const UNDECIDED: readonly Finding[] = [
  { verdict: 'deny', rule: 'default', fact: 'no section of haft.yaml decides effects of this kind' },
];

/** Under a symbol, so that a decision that is printed or stored says it once, as `admit`. */
const GRANT = Symbol.for('haft.grant');

interface FindingDecision extends Decision {
  /** What would admit the call; absent for an allow, and where nothing can. */
  readonly [GRANT]?: Grant;
}

/** The strictest finding decides, the first of equals; the grant lifts all that stand in the way. */
function decideFrom(
  findings: readonly Finding[],
  action: string,
  effect: Effect | undefined,
): FindingDecision {
  const { verdict, rule, line, reason, fact } = strictestOf(findings);
  if (verdict === 'allow' && line === undefined && effect)
    return { verdict, rule, message: `${action}: ${fact}`, effect };
  const place = { ...(line === undefined ? {} : { line }), ...(effect ? { effect } : {}) };
  if (verdict === 'allow') return { verdict, rule, message: `${action}: ${fact}`, ...place };
  const grant = mergeObstacles(findings.map((one) => [one.verdict, one.grant]));
  return {
    verdict,
    rule,
    reason: verdict === 'ask' ? 'approval.pending' : (reason ?? 'policy.denied'),
    message: verdict === 'ask' ? `Cannot ${action} unasked: ${fact}` : `Cannot ${action}: ${fact}`,
    ...(grant ? { admit: renderGrant(grant), [GRANT]: grant } : {}),
    ...place,
  };
}

/** The first of equals. */
function strictestOf<T extends { readonly verdict: Verdict }>(all: readonly T[]): T {
  let strictest = all[0] as T;
  for (const one of all) if (isStricter(one.verdict, strictest.verdict)) strictest = one;
  return strictest;
}

/** What would admit a call over which all of this was decided. */
const grantOf = (decisions: readonly FindingDecision[]): Grant | undefined =>
  mergeObstacles(decisions.map((one) => [one.verdict, one[GRANT]]));

/** Undefined where one of those that stand in the way cannot be lifted. */
function mergeObstacles(all: readonly (readonly [Verdict, Grant | undefined])[]): Grant | undefined {
  const grants: Grant[] = [];
  for (const [verdict, grant] of all) {
    if (verdict === 'allow') continue;
    if (!grant) return undefined;
    grants.push(grant);
  }
  return mergeGrants(grants);
}

function withGrant(decision: FindingDecision, grant: Grant | undefined): FindingDecision {
  const { admit: _admit, [GRANT]: _grant, ...rest } = decision;
  return grant ? { ...rest, admit: renderGrant(grant), [GRANT]: grant } : rest;
}

/** `policy/v1` digest of the whole file's meaning. */
function hashPolicy(host: PolicyFile, narrowing: readonly PolicyFile[]): string {
  const meaning =
    narrowing.length === 0 ? meaningOf(host) : { host: meaningOf(host), narrowing: narrowing.map(meaningOf) };
  return digest('policy/v1', canonicalJson(meaning));
}

/**
 * Canonical JSON of the grants and limits that hold for this tool. An approved call does what an allowed one does, so
 * `ask` counts as `allow`, except of paths: nobody is asked when a program opens a file, so an `ask` closes it to programs
 * as a `deny` does. Budgets, approvals, undo, validators and other tools are not in it.
 */
function writeProjection(tool: string, host: PolicyFile, narrowing: readonly PolicyFile[]): Uint8Array {
  const silent = JSON.stringify(projectionOf(tool, { version: 1 }, false));
  const narrower = narrowing
    .map((file) => projectionOf(tool, file, false))
    .filter((projection) => JSON.stringify(projection) !== silent);
  return canonicalJson([projectionOf(tool, host, true), ...narrower]);
}

const meaningOf = (file: PolicyFile): object =>
  Object.assign({}, ...SECTIONS.map((section) => meaningIn(section, file)));

/** Of the host what is absent is not granted; of a session what is absent says nothing. */
const projectionOf = (tool: string, file: PolicyFile, complete: boolean): object =>
  Object.assign(
    {},
    ...SECTIONS.map((section) => section.project?.(file, tool, complete) ?? meaningIn(section, file)),
  );

function meaningIn(section: Section, file: PolicyFile): object {
  const value = file[section.key];
  const meaning = section.meaning ? section.meaning(value) : value;
  return meaning === undefined ? {} : { [section.key]: meaning };
}
