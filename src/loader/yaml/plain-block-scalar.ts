// Owns: texts over several lines behind `|` and `>`.
// Refuses: a given indentation, kept line breaks at the end, and folding of lines that are indented by more.
import type { Lines } from './plain-lines.ts';
import { notPlain } from './plain-scalar.ts';

/** The text behind the indicator at `at`; its lines are indented by more than `indent`. */
export function readBlockScalar(lines: Lines, at: number, indent: number): string {
  const { text, end } = lines;
  const header = HEADER.exec(text.slice(at, end));
  if (!header) throw notPlain;
  const found: string[] = [];
  let inner = -1;
  let from = end + 1;
  while (from < text.length) {
    let stop = text.indexOf('\n', from);
    if (stop === -1) stop = text.length;
    let first = from;
    while (first < stop && text.charCodeAt(first) === 32) first++;
    if (first === stop) {
      // Spaces beyond the indentation belong to the text, or are a mistake.
      if (stop - from > (inner === -1 ? indent + 1 : inner)) throw notPlain;
      found.push('');
    } else if (inner === -1) {
      if (first - from <= indent) break;
      inner = first - from;
      found.push(text.slice(first, stop));
    } else {
      if (first - from < inner) break;
      found.push(text.slice(from + inner, stop));
    }
    from = stop + 1;
  }
  lines.skipTo(from);
  // A line between the indentation of the text and of what is around it.
  if (lines.next() && lines.indent > indent) throw notPlain;
  if (inner === -1) throw notPlain;
  while (found.at(-1) === '') found.pop();
  const body = header[1] === '|' ? found.join('\n') : fold(found);
  return header[2] === '-' ? body : `${body}\n`;
}

const HEADER = /^([|>])(-?)(?: *$| +#)/;

function fold(found: readonly string[]): string {
  let body = '';
  let blank = 0;
  for (const [at, line] of found.entries()) {
    if (line === '') {
      blank++;
      continue;
    }
    if (line.startsWith(' ')) throw notPlain;
    body += blank > 0 ? '\n'.repeat(blank) : at > 0 ? ' ' : '';
    body += line;
    blank = 0;
  }
  return body;
}
