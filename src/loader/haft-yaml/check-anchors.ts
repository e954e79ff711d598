// Owns: telling when a pattern that allows commands looks as if it were sought anywhere in them.
// Refuses: patterns that ask or deny, which are; and broken ones, which are told of elsewhere.
import { quoted } from '../yaml/located.ts';
import type { Draft, DraftSite } from './draft.ts';

export function checkAnchors(draft: Draft, { report, place, compilePattern }: DraftSite): void {
  for (const [at, entry] of (draft.shell_allow ?? []).entries()) {
    const short = typeof entry === 'string';
    const { pattern, decision = 'allow' } = short ? { pattern: entry } : (entry ?? {});
    if (decision !== 'allow' || pattern === undefined || ANCHORED.test(pattern)) continue;
    if (!compiles(pattern, compilePattern)) continue;
    const where = `shell_allow[${at}]${short ? '' : '.pattern'}`;
    const message = `${where}: ${quoted(pattern)}: what allows counts from the start of a command only, not in an argument`;
    report.warn('pattern.unanchored', place(where), message, `'^${pattern.replaceAll("'", "''")}'`);
  }
}

/** Begins with the start of the text, whatever groups and flags are around it. */
const ANCHORED = /^(\(\?[a-zA-Z]+\)|\((\?:)?)*(\^|\\A)/;

function compiles(pattern: string, compile: DraftSite['compilePattern']): boolean {
  try {
    return compile?.(pattern) !== undefined;
  } catch {
    return false;
  }
}
