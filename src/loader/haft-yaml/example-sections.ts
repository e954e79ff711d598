// Owns: how an example of each kind of rule is read, and which rules decide it: one section for each list of rules.
// Refuses: matching of its own; contract/policy-match has that for loader and runtime alike.
import type { Verdict } from '../../contract/policy.ts';
import {
  checkPathGlob,
  compilePathGlob,
  matchesDomain,
  matchesTool,
  type PathMatcher,
  parseDomain,
  parseTarget,
} from '../../contract/policy-match.ts';
import { type Draft, type DraftRule, type DraftSite, rulesOf } from './draft.ts';

/** A list of rules that decide together, and what happens to a subject that none of them matches. */
export interface ExampleSection {
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
  readonly hasPaths: boolean;
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

export function exampleSections(draft: Draft, site: DraftSite): readonly ExampleSection[] {
  return [toolSection(draft), pathSection(draft), shellSection(draft, site), domainSection(draft)];
}

const toolSection = (draft: Draft): ExampleSection => ({
  rules: rulesOf(draft.tools?.rules, 'tools.rules', 'tool').map(({ rule, path }) => {
    const globs = rule.paths?.map((glob) => matcher(glob, checkedPathGlob)?.matches);
    return {
      path,
      examples: rule.examples,
      hasPaths: globs !== undefined,
      matches: ({ text, file }) =>
        matchesTool(rule.tool ?? '', text) &&
        (!globs || (file !== undefined && globs.some((glob) => glob?.(file)))),
      says: () => rule.decision,
    };
  }),
  byDefault: draft.tools?.default ?? 'allow',
  wanted: 'a tool id, and after a space a path where the rule has paths',
  read(example, { hasPaths }) {
    const [, text = '', file] = /^([a-z][a-z0-9_.]*)(?: (\S.*))?$/.exec(example) ?? [];
    if (!text || (hasPaths && file === undefined)) return undefined;
    return { calls: [[file === undefined ? { text } : { text, file }]] };
  },
});

const pathSection = (draft: Draft): ExampleSection => ({
  rules: rulesOf(draft.paths?.rules, 'paths.rules', 'path').map(({ rule, path }) => {
    const glob = matcher(rule.path, checkedPathGlob);
    return {
      path,
      examples: rule.examples,
      hasPaths: false,
      matches: ({ text }) => glob?.matches(text) ?? false,
      says: ({ access }) => (access ? rule[access] : undefined),
    };
  }),
  byDefault: 'allow',
  wanted: 'a path, with or without read: or write: before it',
  read(example, rule) {
    const [, named, text = ''] = /^(?:(read|write): ?)?(.+)$/s.exec(example) ?? [];
    if (named) return { calls: [[{ text, access: named as 'read' | 'write' }]] };
    const both = (['read', 'write'] as const).map((access) => ({ text, access }));
    return { calls: both.filter((subject) => rule.says(subject) !== undefined).map((subject) => [subject]) };
  },
});

const shellSection = (draft: Draft, { compilePattern }: DraftSite): ExampleSection => ({
  rules: rulesOf(draft.shell_allow, 'shell_allow', 'pattern').map(({ rule, path }) => {
    const pattern = compilePattern && matcher(rule.pattern, compilePattern);
    return {
      path,
      examples: rule.examples,
      hasPaths: false,
      matches: ({ text }) => pattern?.(text, rule.decision ?? 'allow') ?? false,
      says: () => rule.decision ?? 'allow',
    };
  }),
  byDefault: 'deny',
  wanted: 'a shell line',
  // Taken apart as a call is, so that a second command cannot hide behind the first. Where redirections lead is
  // not looked at: that is for path rules.
  async read(example) {
    const { analyzeShell } = await import('../../base/shell/analyze-shell.ts');
    const analysis = await analyzeShell(example);
    if (!analysis.ok) return { refused: analysis.message };
    return { calls: [analysis.commands.map(({ canonical }) => ({ text: canonical }))] };
  },
});

const domainSection = (draft: Draft): ExampleSection => ({
  rules: rulesOf(draft.network?.allowed_domains, 'network.allowed_domains', 'domain').map(
    ({ rule, path }) => {
      const domain = matcher(rule.domain, parseDomain);
      return {
        path,
        examples: rule.examples,
        hasPaths: false,
        matches: ({ text }) => {
          const target = parseTarget(text);
          return domain !== undefined && target !== undefined && matchesDomain(domain, target);
        },
        says: () => rule.decision ?? 'allow',
      };
    },
  ),
  byDefault: 'deny',
  wanted: 'a host or a URL',
  read: (example) => (parseTarget(example) ? { calls: [[{ text: example }]] } : undefined),
});

function checkedPathGlob(glob: string): PathMatcher {
  checkPathGlob(glob);
  return compilePathGlob(glob);
}

/** Undefined where the text is missing or wrong, which is reported elsewhere. */
function matcher<T>(text: string | undefined, compile: (text: string) => T): T | undefined {
  try {
    return text === undefined ? undefined : compile(text);
  } catch {
    return undefined;
  }
}
