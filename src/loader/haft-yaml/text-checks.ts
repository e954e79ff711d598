// Owns: what a text in haft.yaml must be to mean something: one row for each check that the table names.
// Refuses: looking at the disk (check-environment) and at other entries (check-examples, check-shadowed).
import { checkPathGlob, type PatternCompiler, parseDomain } from '../../contract/policy-match.ts';
import type { TextProblem } from '../yaml/shape-site.ts';

/** The checks that the table names. */
export type TextCheck =
  | 'name'
  | 'path-glob'
  | 'tool-glob'
  | 'pattern'
  | 'domain'
  | 'folder'
  | 'example'
  | 'image'
  | 'place'
  | 'word';

export interface TextSite {
  /** Where the file holds patterns, the engine that compiles them. */
  readonly compilePattern: PatternCompiler | undefined;
}

export const TEXT_CHECKS: { readonly [C in TextCheck]: (text: string, site: TextSite) => TextProblem[] } = {
  name: () => [],
  example: () => [],
  folder: (text) => (text.includes('\0') ? [{ code: 'value.text', fact: 'it holds a NUL character' }] : []),
  'path-glob': checkGlob,
  'tool-glob': (text) =>
    /^[a-z0-9_.*]+$/.test(text)
      ? []
      : [
          {
            code: 'glob.invalid',
            fact: 'a tool is named in lower-case letters, digits, dots and _; * stands for any characters',
            ...(text.toLowerCase() === text ? {} : { hint: text.toLowerCase() }),
          },
        ],
  domain: checkDomain,
  pattern: checkPattern,
  image: checkImage,
  place: (text) =>
    /^\/[^\0]*$/.test(text)
      ? []
      : [{ code: 'value.text', fact: 'it is not an absolute path of this machine' }],
  // It becomes an argument of sbatch.
  word: (text) =>
    /^[\w.][\w.:,&|()=*+-]*$/.test(text)
      ? []
      : [{ code: 'value.text', fact: 'it is not a word as Slurm has them' }],
};

function checkImage(text: string): TextProblem[] {
  const [, name = '', digest] = /^([^@]*)(?:@(.*))?$/s.exec(text) ?? [];
  const bare = /^sha256:/.test(text);
  const isDigest = (given: string) => /^sha256:[0-9a-f]{64}$/.test(given);
  if (bare || digest !== undefined) {
    if (isDigest(bare ? text : (digest ?? ''))) return [];
    return [{ code: 'image.invalid', fact: 'a digest is sha256: and 64 digits from 0 to f' }];
  }
  if (/^[a-z0-9][\w.:/-]*(\/\*)?$/i.test(name)) return [];
  const fact = 'an image is a name, a name with a tag or a digest, or a prefix that ends in /*';
  return [{ code: 'image.invalid', fact }];
}

function checkGlob(text: string): TextProblem[] {
  try {
    checkPathGlob(text);
  } catch (error) {
    const fact = (error as Error).message.replace(/^Cannot use the glob: /, '');
    const inside = text.split('/').includes('..');
    const hint = inside ? 'for a folder of paths.extra_roots write its absolute path' : undefined;
    return [{ code: 'glob.invalid', fact, ...(hint ? { hint } : {}) }];
  }
  if (/^[a-zA-Z]:\\|\\\\/.test(text)) {
    const hint = text.replace(/\\+/g, '/');
    return [{ code: 'glob.invalid', fact: 'folders are separated by /, and a backslash escapes', hint }];
  }
  return [];
}

function checkDomain(text: string): TextProblem[] {
  try {
    parseDomain(text);
    return [];
  } catch (error) {
    const url = URL.parse(text.includes('://') ? text : `https://${text}`);
    const hint = url?.hostname && !text.includes('*') ? url.host : undefined;
    return [{ code: 'domain.invalid', fact: (error as Error).message, ...(hint ? { hint } : {}) }];
  }
}

function checkPattern(text: string, { compilePattern }: TextSite): TextProblem[] {
  if (/[\x00-\x1f]/.test(text)) {
    const fact =
      'it holds a control character: in double quotes \\b, \\t, \\n and the like are escapes of YAML';
    return [{ code: 'pattern.control', fact, hint: 'write patterns in single quotes' }];
  }
  try {
    compilePattern?.(text);
  } catch (error) {
    const fact = (error as Error).message;
    const around = /Perl syntax: `\(\?[=!<]/.test(fact);
    const hint = around
      ? 'look-around is not part of linear-time patterns; add a rule that denies'
      : undefined;
    return [{ code: 'pattern.invalid', fact, ...(hint ? { hint } : {}) }];
  }
  return [];
}
