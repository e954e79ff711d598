// Owns: what a section of haft.yaml is: everything that one key of the file means, in one module of sections/.
// Not here: any section. sections/index.ts lists them, and whoever goes through a policy loops over that list.
import type { Effect, EffectKind, EffectShapes } from '../contract/effect.ts';
import type { Reason } from '../contract/errors.ts';
import type {
  DomainRule,
  Fence,
  LoadedPolicy,
  PathRule,
  PolicyChange,
  PolicyFile,
  ShellRule,
  ToolRule,
  Verdict,
} from '../contract/policy.ts';
import type { Shape, TextProblem } from '../contract/shape.ts';

/**
 * One key of haft.yaml. What is left out has the careful default that its comment names. A section that is new adds its
 * type to `PolicyFile`, and the kinds of effect that it decides to `EffectShapes`, by declaration merging in its module.
 */
export interface Section<K extends keyof PolicyFile = keyof PolicyFile, V = NonNullable<PolicyFile[K]>> {
  readonly key: K;
  /** What is written in the file, and told about it: made when somebody asks, since no call does. */
  written(): Written<V>;
  /** What it must be to this build, of which `rules` are the rules; asked at every load. */
  checkBuild?(draft: Draft, rules: readonly string[] | undefined, site: DraftSite): void;
  /** Keys that nothing looks at yet, by their path in the file, and why. */
  readonly unused?: { readonly [path: string]: string };

  /** What is hashed of it, whatever its spelling; undefined leaves it out. By default the value. */
  meaning?(value: V | undefined): unknown;
  /**
   * What of it can change the output of a tool, as keys of the projection. Of a session's registry, which is not
   * `complete`, what is absent says nothing. By default its meaning.
   */
  project?(file: PolicyFile, tool: string, complete: boolean): object;
  /** Numbers and switches of a session beside the host's; by default both layers are decided side by side. */
  narrow?(host: V | undefined, session: V): V | undefined;

  /** The effects that it decides. */
  readonly effects?: { readonly [E in EffectKind]?: EffectRules<E> };
  /** What it says of calls of a tool, beside what they touch. */
  calls?(tool: string, policy: CompiledPolicy): CallRules;
  /** Which paths this tool may be shown; undefined where it hides none. */
  sees?(tool: string, policy: CompiledPolicy): ((path: string) => boolean) | undefined;
  /** What it closes to programs of this tool. */
  fences?(tool: string, policy: CompiledPolicy): readonly Fence[];
}

export interface Written<V> {
  /** What it may hold, its defaults, and what it means. */
  readonly shape: Shape;
  /** The text checks that its shape names, beside those of shapes.ts. Asked for only where a file has the section. */
  texts?(): TextChecks | Promise<TextChecks>;
  /** What its entries must be to each other. */
  check?(draft: Draft, site: DraftSite): void | Promise<void>;
  /** How the examples of its rules are read and decided. */
  examples?(draft: Draft): ExampleList | Promise<ExampleList>;
  /** Where below its key a session would grant more than the host; by default all of it would. */
  widening?(host: V | undefined, session: V): readonly string[];
  /** How it differs from what it replaces; by default every difference grants more. */
  changes?(before: V | undefined, after: V | undefined): readonly PolicyChange[];
  /** What it grants beyond the defaults, a line each for whoever trusts it; by default all that it says. */
  grants?(value: V): readonly string[];
  /** What reaches furthest is told first. */
  readonly reach?: number;
  /** What it says in a workspace below the one whose it is, with its defaults written out; by default the same. */
  below?(value: V | undefined, inner: V | undefined, seen: SeenGlob): V | undefined;
  /** What is left of this section of a workspace below; by default all, since both are layers. */
  under?(inner: V | undefined, outer: V | undefined): V | undefined;
}

// ------------------------------------------------------------------------------------------- deciding

export interface EffectRules<E extends EffectKind> {
  /** At least one finding. Pure, and fast: it stands in the way of every call. */
  decide(effect: EffectShapes[E], policy: CompiledPolicy): readonly Finding[];
  /** What names the thing well enough to remember its decision by. */
  name?(effect: EffectShapes[E]): string | undefined;
  /** Loads what deciding needs and no other call should wait for; undefined where it is at hand. */
  ready?(policy: CompiledPolicy): Promise<void> | undefined;
  /** For a person, where `describeEffect` would say too much. */
  describe?(effect: Extract<Effect, { readonly kind: E }>, policy: CompiledPolicy): string;
}

export interface CallRules {
  /** Whether it says the same whatever the call touches. */
  readonly fixed: boolean;
  /** Without an effect: of a call that touches nothing. Undefined where an effect makes no difference. */
  findings(effect: Effect | undefined): readonly Finding[] | undefined;
}

/** What one rule has to say. */
export interface Finding {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly line?: number | undefined;
  /** Of a denial; an ask is always `approval.pending`. */
  readonly reason?: Reason;
  /** Second half of the message: `paths.rules[2] (haft.yaml line 14) says deny`. */
  readonly fact: string;
  /** What would make this an allow; absent where nothing can. */
  readonly grant?: Grant | undefined;
}

/** A piece of haft.yaml. An entry of a list replaces the entry of the same identity, or is added. */
export type Grant = Omit<PolicyFile, 'version'>;

/** A policy made ready to decide. */
export interface CompiledPolicy extends Parts<CompiledPolicy> {
  readonly loaded: LoadedPolicy;
  /** The host's haft.yaml, then what narrows it. */
  readonly layers: readonly Layer[];
  readonly workspace: string | undefined;
}

/** One file's rules. */
export interface Layer extends Parts<Layer> {
  readonly file: PolicyFile;
  /** For a person: `haft.yaml`. */
  readonly name: string;
  /** What is absent is not granted. Where it is not, as of a session, what is absent says nothing. */
  readonly complete: boolean;
  /** The rule's name as decisions show it, and its line. */
  cite(rule: string): { readonly rule: string; readonly line?: number | undefined; readonly where: string };
  /** A session's rules cannot be lifted by haft.yaml. */
  grant(grant: Grant): Grant | undefined;
}

interface Parts<Self> {
  /** What a section made of it, made when it is first asked for. */
  part<T>(make: (self: Self) => T): T;
}

/** A glob of an outer workspace as it reads from an inner one. */
export type SeenGlob = (glob: string) => readonly string[];

// -------------------------------------------------------------------------------------------- reading

export type TextChecks = { readonly [check: string]: (text: string) => readonly TextProblem[] };

/** The same keys, each possibly missing, with gaps in lists where an entry was wrong. */
export type Drafted<T> = T extends readonly (infer Item)[]
  ? readonly (Drafted<Item> | undefined)[]
  : T extends object
    ? { readonly [K in keyof T]?: Drafted<T[K]> }
    : T;

/** A policy that may still be wrong in places. What leaves the loader is a whole PolicyFile. */
export type Draft = Drafted<PolicyFile>;
export type DraftRule = Drafted<ToolRule & PathRule & ShellRule & DomainRule>;

/** Where problems are told, by the path of the key or entry in the file. */
export interface DraftSite {
  error(code: string, path: string, message: string, hint?: string): void;
  warn(code: string, path: string, message: string, hint?: string): void;
  lineOf(path: string): number;
}

/** A list of rules that decide together, and what happens to a subject that none of them matches. */
export interface ExampleList {
  readonly rules: readonly ExampleRule[];
  readonly byDefault: Verdict;
  /** What an example must be, in words. */
  readonly wanted: string;
  /** What an example of this rule stands for; undefined when it is not what is wanted. */
  read(example: string, rule: ExampleRule): ExampleCalls | undefined | Promise<ExampleCalls>;
}

/** The calls that an example stands for, each with all that it would do; or why no such call is ever made. */
export type ExampleCalls = { readonly calls: readonly (readonly Subject[])[] } | { readonly refused: string };

export interface ExampleRule {
  /** Its path in the file. */
  readonly path: string;
  readonly examples: DraftRule['examples'];
  readonly hasPaths?: boolean;
  matches(subject: Subject): boolean;
  /** What it says of a subject that it matches; undefined when it says nothing of such subjects. */
  says(subject: Subject): Verdict | undefined;
}

export interface Subject {
  readonly text: string;
  readonly access?: 'read' | 'write';
  /** The file that a call of a tool touches. */
  readonly file?: string;
}
