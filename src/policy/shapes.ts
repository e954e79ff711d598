// Owns: the words in which sections write their shapes, the text checks that several of them name, and their draft rules.
// Not here: keys; those are in the sections.
import type { Verdict } from '../contract/policy.ts';
import { checkPathGlob, compilePathGlob, isStricter, type PathMatcher } from '../contract/policy-match.ts';
import type {
  ChoiceShape,
  FlagShape,
  ListShape,
  MapShape,
  NumberShape,
  Shape,
  TextShape,
} from '../contract/shape.ts';
import type { Drafted, DraftRule, DraftSite, TextChecks } from './section.ts';

export const LARGEST = Number.MAX_SAFE_INTEGER;
/** Timers of the platform hold no more than this. */
export const LONGEST_MS = 2 ** 31 - 1;
/** A thousand years. */
export const MOST_DAYS = 365_000;

export const text = (check: string, doc: string): TextShape => ({ is: 'text', check, doc });
export const list = (item: Shape, doc: string): ListShape => ({ is: 'list', item, doc });
export const flag = (doc: string): FlagShape => ({ is: 'flag', doc, default: 'false' });
export const map = (doc: string, keys: MapShape['keys'], more: Partial<MapShape> = {}): MapShape => ({
  is: 'map',
  doc,
  ...more,
  keys,
});
export const number = (doc: string, min: number, max: number, byDefault: string): NumberShape => ({
  is: 'number',
  doc,
  min,
  max,
  default: byDefault,
});
export const choice = (of: readonly string[], doc: string, byDefault?: string): ChoiceShape => ({
  is: 'choice',
  of,
  doc,
  ...(byDefault ? { default: byDefault } : {}),
});
export const verdict = (doc: string, byDefault?: string): ChoiceShape =>
  choice(['allow', 'ask', 'deny'], doc, byDefault);
/** A text that stands for the map with one key set. */
export const shorthand = (doc: string, short: TextShape, whole: MapShape): Shape => ({
  is: 'shorthand',
  doc,
  text: short,
  map: whole,
});
export const examples = (what: string): MapShape =>
  map('Calls that this rule must let through and must not, checked whenever the policy is loaded.', {
    allow: list(text('example', what), 'Must be let through, without a question.'),
    deny: list(text('example', what), 'Must be denied or asked about.'),
  });

export const TEXT_CHECKS: TextChecks = {
  name: () => [],
  example: () => [],
  folder: (given) => (given.includes('\0') ? [{ code: 'value.text', fact: 'it holds a NUL character' }] : []),
  'path-glob': checkGlob,
  'tool-glob': (given) =>
    /^[a-z0-9_.*]+$/.test(given)
      ? []
      : [
          {
            code: 'glob.invalid',
            fact: 'a tool is named in lower-case letters, digits, dots and _; * stands for any characters',
            ...(given.toLowerCase() === given ? {} : { hint: given.toLowerCase() }),
          },
        ],
  place: (given) =>
    /^\/[^\0]*$/.test(given)
      ? []
      : [{ code: 'value.text', fact: 'it is not an absolute path of this machine' }],
};

function checkGlob(glob: string): ReturnType<TextChecks[string]> {
  try {
    checkPathGlob(glob);
  } catch (error) {
    const fact = (error as Error).message.replace(/^Cannot use the glob: /, '');
    const inside = glob.split('/').includes('..');
    const hint = inside ? 'for a folder of paths.extra_roots write its absolute path' : undefined;
    return [{ code: 'glob.invalid', fact, ...(hint ? { hint } : {}) }];
  }
  if (/^[a-zA-Z]:\\|\\\\/.test(glob)) {
    const hint = glob.replace(/\\+/g, '/');
    return [{ code: 'glob.invalid', fact: 'folders are separated by /, and a backslash escapes', hint }];
  }
  return [];
}

/** A rule of a list with its path in the file. A text stands for a rule that only has `key`. */
export function rulesOf(
  entries: readonly (Drafted<unknown> | undefined)[] | undefined,
  path: string,
  key: 'tool' | 'path' | 'pattern' | 'domain',
): readonly { readonly rule: DraftRule; readonly path: string }[] {
  return (entries ?? []).flatMap((entry, at) => {
    if (entry === undefined || entry === null) return [];
    const rule = (typeof entry === 'string' ? { [key]: entry } : entry) as DraftRule;
    return [{ rule, path: `${path}[${at}]` }];
  });
}

/** Undefined where the text is missing or wrong, which is reported elsewhere. */
export function attempt<T>(given: string | undefined, compile: (text: string) => T): T | undefined {
  try {
    return given === undefined ? undefined : compile(given);
  } catch {
    return undefined;
  }
}

export const checkedPathGlob = (glob: string | undefined): PathMatcher | undefined =>
  attempt(glob, (given) => {
    checkPathGlob(given);
    return compilePathGlob(given);
  });

interface Candidate {
  readonly path: string;
  readonly subject: string | undefined;
  readonly verdict: Verdict | undefined;
  matches(subject: string): boolean;
}

/**
 * Tells of entries that can never have a say: of the rules that match, the strictest wins, whatever their order. Only
 * entries that name one thing are compared with the others.
 */
export function checkShadowed(rules: readonly Candidate[], key: string, site: DraftSite): void {
  for (const { path, subject, verdict } of rules) {
    if (!verdict || !subject || /[*?[{\\]/.test(subject)) continue;
    const winner = rules.find(
      (other) => other.verdict && isStricter(other.verdict, verdict) && other.matches(subject),
    );
    if (!winner) continue;
    const message = `${path}.${key}: ${verdict} has no effect, because ${winner.path} (line ${site.lineOf(winner.path)}) says ${winner.verdict} and the strictest wins`;
    site.warn('rule.shadowed', `${path}.${key}`, message, 'make the stricter rule narrower');
  }
}
