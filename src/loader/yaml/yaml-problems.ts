// Owns: what each problem that the YAML parser finds is called here, and what to type instead.
// Refuses: the parser's own wording where a better one is known.
import type { Document, YAMLError, YAMLWarning } from 'yaml';
import type { Place } from './located.ts';
import type { Report } from './report.ts';

export interface SyntaxSite {
  readonly text: string;
  readonly place: (offset: number) => Place;
  readonly report: Report;
}

/** Reports every problem of the text. False when the values that came out of it would only mislead. */
export function explainSyntax(document: Document.Parsed, site: SyntaxSite): boolean {
  let readable = true;
  const escapeLines = new Set<number>();
  for (const problem of [...document.errors, ...document.warnings]) {
    const at = site.place(problem.pos[0]);
    const row = ROWS[problem.code];
    if (!row?.readable) readable = false;
    // One string can hold many bad escapes; its line is shown once, corrected whole.
    if (row === ROWS.BAD_DQ_ESCAPE && escapeLines.has(at.line)) continue;
    escapeLines.add(at.line);
    const { code = 'yaml.syntax', message, hint } = row?.explain(problem, lineOf(site.text, at.line)) ?? {};
    site.report.error(code, at, message ?? problem.message, hint);
  }
  return readable;
}

interface Explained {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

interface Row {
  /** Whether the values can be trusted all the same. */
  readonly readable: boolean;
  explain(problem: YAMLError | YAMLWarning, line: string): Explained;
}

const ROWS: { readonly [code in YAMLError['code']]?: Row } = {
  BAD_DQ_ESCAPE: {
    readable: true,
    explain: (problem, line) => ({
      code: 'yaml.escape',
      message: `${problem.message}: in double quotes a backslash begins an escape; write patterns in single quotes`,
      hint: singleQuoted(line),
    }),
  },
  TAB_AS_INDENT: {
    readable: false,
    explain: (_problem, line) => ({
      code: 'yaml.tab',
      message: 'A tab cannot indent YAML; use spaces',
      hint: line.replace(/^[ \t]+/, (indent) => indent.replaceAll('\t', '  ')),
    }),
  },
  TAG_RESOLVE_FAILED: {
    readable: true,
    explain: (_problem, line) => ({
      code: 'yaml.tag',
      message: 'A value that begins with ! is read as a tag, and there are none here',
      hint: line.trim().replace(/(!\S*)/, (tag) => quoteSingly(tag)),
    }),
  },
  BAD_SCALAR_START: {
    readable: false,
    explain: (problem, line) => ({
      code: 'yaml.syntax',
      message: problem.message,
      hint: `quote the value: ${line.trim().replace(/([@`%].*)$/, (value) => quoteSingly(value))}`,
    }),
  },
};

/** The line with each double-quoted string that holds a backslash in single quotes. */
function singleQuoted(line: string): string {
  return line.trim().replace(/"((?:[^"\\]|\\.)*)"/g, (whole, inside: string) => {
    if (!inside.includes('\\')) return whole;
    // What was escaped for the sake of the double quotes needs no escape any more.
    return quoteSingly(inside.replace(/\\(["\\])/g, (pair, char: string) => (char === '"' ? '"' : pair)));
  });
}

const quoteSingly = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function lineOf(text: string, line: number): string {
  let start = 0;
  for (let count = 1; count < line; count++) {
    const next = text.indexOf('\n', start);
    if (next === -1) break;
    start = next + 1;
  }
  return text.slice(start, start + 500).split(/[\r\n]/, 1)[0] ?? '';
}
