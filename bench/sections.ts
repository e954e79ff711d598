// Owns: the parts of RESULTS.md that programs of their own write, behind what bench/run.ts measures.
// Refuses: to touch any other part of the file.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './product.ts';

const FILE = join(ROOT, 'bench/RESULTS.md');
const mark = (name: string) => `<!-- ${name}: a section of its own -->`;

export function writeSection(name: string, text: string): void {
  const kept = readFileSync(FILE, 'utf8').split(`\n${mark(name)}\n`)[0]!;
  writeFileSync(FILE, `${kept.trimEnd()}\n\n${mark(name)}\n\n## ${name}\n\n${text}\n`);
}

/** What a new run of the benchmarks must not lose. */
export function keptSections(): string {
  const text = readFileSync(FILE, 'utf8');
  const at = text.search(/\n<!-- \w+: a section of its own -->\n/);
  return at < 0 ? '' : text.slice(at);
}
