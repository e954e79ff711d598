// Owns: the door to the shell analysis: a command line in, every simple command that it would run out, or a refusal.
// Refuses: to run anything, and to guess: what is not known before running is not listed but refused.
import { isRefusal, refuse, type ShellAnalysis, type ShellPlace, type Span } from './analysis.ts';

/**
 * Lists what `bash` would run for this line. It holds for a bash of 5.0 or later that is started by `shellArgv`
 * with an environment that `variableRisk` has nothing against.
 */
export async function analyzeShell(cmd: string): Promise<ShellAnalysis> {
  try {
    checkSource(cmd);
    const { listCommands } = await import('./list-commands.ts');
    return listCommands(cmd);
  } catch (error) {
    // The parser and the walk are recursive: too deep a line ends here, refused.
    const refusal = isRefusal(error)
      ? error.refusal
      : ({ reason: 'shell.unparsable', span: { pos: 0, end: cmd.length } } as const);
    const message = isRefusal(error) ? error.message : 'Cannot read the command: it is too deep or too odd';
    return { ok: false, reason: refusal.reason, message: cut(message, 300), at: place(cmd, refusal.span) };
  }
}

/** How the line must be run for its analysis to hold: no start-up files, nothing taken from the line as an option. */
export function shellArgv(cmd: string): string[] {
  return ['bash', '--noprofile', '--norc', '-c', '--', cmd];
}

function place(source: string, span: Span): ShellPlace {
  const before = source.slice(0, span.pos);
  const start = before.lastIndexOf('\n') + 1;
  const text = source.slice(span.pos, span.end).toWellFormed();
  return { line: before.split('\n').length, column: span.pos - start + 1, text: cut(text, 80) };
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}

const MAX_BYTES = 64 * 1024;
/** The parser is quadratic in unquoted `{` of one word (65,536 of them: 17 s; 1,000: 4 ms). */
const MAX_BRACES = 1000;
/** And in here-documents (16,384 of them: 0.6 s). */
const MAX_HERE_DOCS = 2000;
const NOWHERE = { pos: 0, end: 0 };

function checkSource(source: string): void {
  const bytes = Buffer.byteLength(source);
  if (bytes > MAX_BYTES)
    refuse('shell.unparsable', `Cannot read the command: it has ${bytes} bytes, over ${MAX_BYTES}`, NOWHERE);
  if (!source.isWellFormed()) at(source, /\p{Cs}/u, 'a lone surrogate, which no program could be given');
  at(source, /\0/, 'a NUL character, which ends the line for bash');
  at(source, /\r/, 'a carriage return, which bash takes as part of a word; end lines with \\n alone');
  at(source, /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/, 'a control character');
  at(source, /[\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/, 'a character that hides or reorders text');
  if (count(source, '<<') > MAX_HERE_DOCS)
    refuse('shell.unparsable', 'Cannot read the command: too many here-documents', NOWHERE);
  for (const stretch of source.matchAll(/\S+/g))
    if (count(stretch[0], '{') > MAX_BRACES)
      refuse('shell.unparsable', `Cannot read the command: over ${MAX_BRACES} braces in one word`, {
        pos: stretch.index,
        end: stretch.index,
      });
}

function at(source: string, pattern: RegExp, what: string): void {
  const pos = source.search(pattern);
  if (pos >= 0)
    refuse('shell.unparsable', `Cannot read the command: it holds ${what}`, { pos, end: pos + 1 });
}

function count(text: string, char: string): number {
  let found = 0;
  for (let i = text.indexOf(char); i >= 0; i = text.indexOf(char, i + 1)) found++;
  return found;
}
