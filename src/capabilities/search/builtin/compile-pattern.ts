// Owns: a query's pattern as something that finds its matches in a text, in time linear in it.
// Refuses: patterns that a line can never match, and those that the engine does not take.
import { fail } from '../../../contract/errors.ts';
import type { SearchQuery } from '../../../contract/search.ts';
import { type Extent, extentsOf } from '../extent.ts';
import { lineAt } from '../file-text.ts';

/** At most `max` matches of a text. */
export type Finder = (text: Buffer, max: number) => Extent[];

type Pattern = Pick<SearchQuery, 'pattern' | 'fixedStrings' | 'caseSensitive' | 'multiline'>;

/** Throws `input.pattern`. */
export async function compilePattern(query: Pattern): Promise<Finder> {
  const { pattern, fixedStrings, caseSensitive, multiline } = query;
  if (!multiline && spansLines(pattern, fixedStrings)) {
    throw fail('input.pattern', 'Cannot search for the pattern: a line break is only matched with multiline');
  }
  const { RE2JS } = await import('re2js');
  const flags = (caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE) | (multiline ? RE2JS.MULTILINE : 0);
  try {
    const compiled = RE2JS.compile(fixedStrings ? RE2JS.quote(pattern) : pattern, flags);
    return multiline ? overLines(compiled) : lineByLine(compiled);
  } catch (thrown) {
    const problem = (thrown as Error).message.replace(/^error parsing regexp: /, '');
    throw fail('input.pattern', `Cannot search for the pattern: ${problem}`);
  }
}

type Compiled = InstanceType<typeof import('re2js').RE2JS>;

/** A class that leaves line breaks out is fine. */
function spansLines(pattern: string, fixed: boolean): boolean {
  if (pattern.includes('\n')) return true;
  return !fixed && /\\n/.test(pattern.replaceAll('\\\\', '').replaceAll(/\[\^[^\]]*\]/g, ''));
}

function lineByLine(compiled: Compiled): Finder {
  return (text, max) => {
    const found: Extent[] = [];
    for (let start = 0, line = 0; start < text.length && found.length < max; line++) {
      const { bytes, next } = lineAt(text, start);
      const matcher = compiled.matcher(bytes);
      if (matcher.find()) found.push({ line, endLine: line, col: matcher.start() + 1, bytes });
      start = next;
    }
    return found;
  };
}

function overLines(compiled: Compiled): Finder {
  return (text, max) => {
    const matcher = compiled.matcher(text);
    const found: { start: number; end: number }[] = [];
    while (found.length < max && matcher.find()) found.push({ start: matcher.start(), end: matcher.end() });
    return extentsOf(text, found);
  };
}
