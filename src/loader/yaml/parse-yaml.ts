// Owns: turning YAML text into located values, and every problem of the text into a diagnostic.
// Refuses: several documents, tags, and aliases that multiply; loading the yaml library before it is needed.
import type { Alias, Document, Node, Pair, YAMLError, YAMLMap, YAMLSeq, YAMLWarning } from 'yaml';
import { quoted } from '../../contract/diagnostic.ts';
import { type Located, type LocatedEntry, MAX_DEPTH, MAX_VALUES, type Place } from './located.ts';
import type { Report } from './report.ts';

type Yaml = typeof import('yaml');

/** Undefined where the text is so broken that its values would only mislead. */
export async function parseYaml(text: string, report: Report): Promise<Located | undefined> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const documents = yaml.parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
    // Checked below, with the place of the first one, and in linear time.
    uniqueKeys: false,
  });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const [document, second] = 'empty' in documents ? [] : documents;
  if (!document) return { is: 'map', at: { line: 1, column: 1 }, entries: [] };
  const readable = explainSyntax(document, { text, place, report });
  if (second) {
    const at = place(second.range?.[0] ?? 0);
    report.error(
      'yaml.multiple_documents',
      at,
      'The file holds more than one document',
      'remove the line ---',
    );
  }
  if (!readable) return undefined;
  const reader = createReader(yaml, { text, place, report });
  const located = reader.read(document.contents, place(0));
  return reader.gaveUp() ? undefined : located;
}

interface ReaderSite {
  readonly text: string;
  readonly place: (offset: number) => Place;
  readonly report: Report;
}

type Read = (node: Node | null, fallback: Place) => Located;

interface Reader {
  readonly read: Read;
  gaveUp(): boolean;
}

function createReader(yaml: Yaml, { text, place, report }: ReaderSite): Reader {
  let values = 0;
  let depth = 0;
  let inAlias = 0;
  const anchors = new Map<string, Node>();
  let gaveUp = false;
  const nothing = (at: Place): Located => ({ is: 'scalar', at, value: null });

  const read: Read = (node, fallback) => {
    const at = node?.range ? place(node.range[0]) : fallback;
    if (gaveUp) return nothing(at);
    if (++values > MAX_VALUES || depth >= MAX_DEPTH) {
      gaveUp = true;
      const what = depth >= MAX_DEPTH ? 'The file is nested too deeply' : 'The file holds too many values';
      report.error('yaml.too_much', at, `${what} (aliases count as often as they are used)`);
      return nothing(at);
    }
    // An alias means the anchor that was written last before it; what it repeats was met before.
    if (inAlias === 0 && node !== null && 'anchor' in node && node.anchor)
      anchors.set(node.anchor as string, node);
    depth++;
    try {
      if (yaml.isAlias(node)) return readAlias(node, at);
      if (yaml.isMap(node)) return readMap(node, at);
      if (yaml.isSeq(node)) return readList(node, at);
      return readScalar(node, at);
    } finally {
      depth--;
    }
  };

  const readScalar = (node: Node | null, at: Place): Located => {
    const value: unknown = yaml.isScalar(node) ? node.value : null;
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return { is: 'scalar', at, value };
    if (typeof value === 'number') return { is: 'scalar', at, value };
    report.error('yaml.tag', at, 'A tag makes this something that cannot be held here', 'remove the tag');
    return { is: 'other', at, found: 'a tagged value', told: true };
  };

  const readList = (node: YAMLSeq, at: Place): Located => ({
    is: 'list',
    at,
    items: node.items.map((item) => read(item as Node | null, at)),
  });

  const readMap = (node: YAMLMap, at: Place): Located => {
    const seen = new Map<string, Place>();
    const entries: LocatedEntry[] = [];
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const keyAt = pair.key?.range ? place(pair.key.range[0]) : at;
      const key = keyText(pair.key);
      if (key === undefined) {
        report.error('key.type', keyAt, 'A key must be text');
        continue;
      }
      const first = seen.get(key);
      if (first) {
        const message = `The key ${quoted(key)} is already on line ${first.line}`;
        report.error('yaml.duplicate_key', keyAt, message, 'keep one of them');
        continue;
      }
      seen.set(key, keyAt);
      if (key === '<<' && isPlain(pair.key)) {
        const message = 'Merge keys are not part of YAML 1.2';
        report.error(
          'yaml.merge',
          keyAt,
          message,
          'write the keys out, or repeat the whole map with an alias',
        );
        continue;
      }
      entries.push({ key, keyAt, value: read(pair.value, keyAt) });
    }
    return { is: 'map', at, entries };
  };

  const isPlain = (key: Node | null): boolean => yaml.isScalar(key) && key.type === 'PLAIN';

  const keyText = (key: Node | null): string | undefined => {
    if (!yaml.isScalar(key)) return undefined;
    return typeof key.value === 'string' ? key.value : (key.source ?? undefined);
  };

  const readAlias = (alias: Alias, at: Place): Located => {
    const target = anchors.get(alias.source);
    if (target) {
      inAlias++;
      const value = read(target, at);
      inAlias--;
      return value;
    }
    const written = textAt(text, alias.range?.[0] ?? 0);
    const hint = `quote what begins with *: '${written.replaceAll("'", "''")}'`;
    report.error('yaml.alias', at, `${quoted(written)} is read as an alias, and nothing has that name`, hint);
    return { is: 'other', at, found: 'an unknown alias', told: true };
  };

  return { read, gaveUp: () => gaveUp };
}

/** The plain text from here to the end of the value. */
function textAt(text: string, offset: number): string {
  const line = text.slice(offset, offset + 200).split(/[\r\n]/, 1)[0] ?? '';
  return line.replace(/\s+#.*$/, '').replace(/[\s,\]}]+$/, '');
}

interface SyntaxSite {
  readonly text: string;
  readonly place: (offset: number) => Place;
  readonly report: Report;
}

/** Reports every problem of the text. False when the values that came out of it would only mislead. */
function explainSyntax(document: Document.Parsed, site: SyntaxSite): boolean {
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
