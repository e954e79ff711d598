// Owns: an edited haft.yaml in the layout of the file that a person wrote: what the edit did not touch stays as it was, byte by byte.
// Not here: what is edited (apply-admit.ts), and whether the result says the same; that is checked there.

/** Texts of one file: as it is, as the YAML library writes it without an edit, and as it writes it with the edit. */
export interface Layouts {
  readonly original: string;
  readonly plain: string;
  readonly edited: string;
}

/** Lines of the file and the lines that the library makes of them. Most are one line and the same without its spacing. */
interface Segment {
  readonly raw: readonly string[];
  readonly plain: readonly string[];
}

export async function keepLayout({ original, plain, edited }: Layouts): Promise<string> {
  const { diffArrays } = await import('diff');
  const raw = original.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const end = raw.filter((line) => line.endsWith('\r\n')).length * 2 > raw.length ? '\r\n' : '\n';
  const segments = align(diffArrays(raw.map(bare), linesOf(plain).map(bare)), raw, linesOf(plain));
  /** By the number of a line of `plain`: whether the edit removes it, and what it puts before it. */
  const removed = new Set<number>();
  const added = new Map<number, readonly string[]>();
  let at = 0;
  for (const { added: isNew, removed: isGone, value, count } of diffArrays(
    [...linesOf(plain)],
    [...linesOf(edited)],
  )) {
    if (isNew) added.set(at, value);
    else if (isGone) for (let line = at; line < at + count; line++) removed.add(line);
    if (!isNew) at += count;
  }
  const out: string[] = [];
  /** How much deeper the file is indented than the library, by the library's indent, at the lines before. */
  const deeper = new Map<number, number>();
  /** What is nested goes with the line that it is nested in. */
  const put = (lines: readonly string[] = []) => {
    let outer = Number.POSITIVE_INFINITY;
    for (const line of lines) {
      outer = Math.min(outer, indentOf(line));
      out.push(`${shifted(line, outer === 0 ? 0 : (deeper.get(outer) ?? 0))}${end}`);
    }
  };
  /** Once: lines that the library leaves out, such as a second blank one, have no number of their own. */
  const putAdded = (line: number) => {
    put(added.get(line));
    added.delete(line);
  };
  let first = 0;
  for (const segment of segments) {
    const lines = segment.plain.map((_, i) => first + i);
    putAdded(first);
    const isTouched = lines.some((line) => removed.has(line) || (line > first && added.has(line)));
    if (!isTouched) out.push(...segment.raw);
    else
      for (const line of lines) {
        if (line > first) putAdded(line);
        if (!removed.has(line)) put([segment.plain[line - first]!]);
      }
    const [own = '', theirs = ''] = [segment.raw[0], segment.plain[0]];
    if (own.trim() !== '') deeper.set(indentOf(theirs), indentOf(own) - indentOf(theirs));
    first += lines.length;
  }
  putAdded(first);
  // The last line of a file need not have an end; one that is no longer the last does.
  return out
    .map((line, i) => (line.endsWith('\n') || i === out.length - 1 ? line : `${line}${end}`))
    .join('');
}

/** Without what the library changes: spaces, and the end of the line. */
const bare = (line: string): string => line.replaceAll(/\s+/g, '');

const linesOf = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');
const indentOf = (line: string): number => /^ */.exec(line)![0].length;
const shifted = (line: string, by: number): string =>
  by >= 0 ? `${' '.repeat(by)}${line}` : line.slice(Math.min(-by, indentOf(line)));

type Runs = readonly { readonly added: boolean; readonly removed: boolean; readonly count: number }[];

function align(runs: Runs, raw: readonly string[], plain: readonly string[]): readonly Segment[] {
  const segments: Segment[] = [];
  let [inRaw, inPlain] = [0, 0];
  let open: { raw: string[]; plain: string[] } = { raw: [], plain: [] };
  const close = () => {
    if (open.raw.length + open.plain.length > 0) segments.push(open);
    open = { raw: [], plain: [] };
  };
  for (const { added, removed, count } of runs) {
    if (added) open.plain.push(...plain.slice(inPlain, inPlain + count));
    else if (removed) open.raw.push(...raw.slice(inRaw, inRaw + count));
    else {
      close();
      for (let i = 0; i < count; i++) segments.push({ raw: [raw[inRaw + i]!], plain: [plain[inPlain + i]!] });
    }
    if (!added) inRaw += count;
    if (!removed) inPlain += count;
  }
  close();
  return segments;
}
