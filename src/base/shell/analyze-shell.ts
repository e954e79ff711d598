// Owns: the door to the shell analysis: a command line in, every simple command that it would run out, or a refusal.
// Refuses: to run anything, and to guess: what is not known before running is not listed but refused.
import { isRefusal, type ShellAnalysis, type ShellPlace, type Span } from './analysis.ts';
import { checkSource } from './source-check.ts';

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
  return {
    line: before.split('\n').length,
    column: span.pos - start + 1,
    text: cut(text, 80),
  };
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}
