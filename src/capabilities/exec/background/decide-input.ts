// Owns: what text for the standard input of a background shell would run: the command that a plain shell is given next, the code
// that an interpreter is given; and the program by which a plain shell takes one command after the other.
// Refuses: pieces. A shell is given whole commands, an interpreter whole lines; nothing waits for its other half.
import type { ShellListing, SimpleCommand } from '../../../base/shell/analysis.ts';
import { analyzeShell } from '../../../base/shell/analyze-shell.ts';
import { codeLine } from '../../../base/shell/interpreters.ts';
import { shellQuote } from '../../../base/shell/shell-quote.ts';
import type { Effect } from '../../../contract/effect.ts';
import { fail } from '../../../contract/errors.ts';
import { shellEffects } from '../../../contract/shell-effects.ts';
import { COMMANDS_AT } from './command-folders.ts';

/** What is remembered of a shell to decide what it is given. */
export interface InputState {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Of a line: the commands in it. Of a plain shell: all that it was given, one script, and how many commands are in that. */
  readonly commands: readonly SimpleCommand[] | undefined;
  readonly script: { readonly text: string; readonly commands: number };
}

export interface DecidedInput {
  readonly effects: readonly Effect[];
  /** Of a plain shell: what to remember once the input was given, and what the commands of this input are. */
  readonly next?: InputState['script'];
  readonly listing?: ShellListing;
}

type Place = (path: string) => string;

export async function decideInput(
  state: InputState,
  input: string,
  end: boolean,
  place: Place,
): Promise<DecidedInput> {
  if (state.commands === undefined) return decideCommand(state, input, place);
  if (input === '') return { effects: [] };
  const code = state.commands.flatMap((command) => codeLine(command, input.replace(/\n$/, '')) ?? []);
  if (code.length === 0) return { effects: [] };
  if (!input.endsWith('\n') && !end)
    throw fail('shell.unparsable', 'Cannot give an interpreter half a line: end the input with a line feed');
  const effects: Effect[] = [];
  for (const line of code) effects.push(...shellEffects(await listing(line), state.cwd, false, place));
  return { effects };
}

/** As much as is read of a line. */
const MOST_BYTES = 64 * 1024;

/** Decided alone, and once more after all that the shell was given before: that set variables and changed folders. */
async function decideCommand(
  { cwd, env, script }: InputState,
  input: string,
  place: Place,
): Promise<DecidedInput> {
  if (input.trim() === '') return { effects: [], next: script };
  const alone = await listing(input);
  const before = script.text === '' ? settings(env) : script.text;
  const text = `${before}${input}\n`;
  if (Buffer.byteLength(input) < MOST_BYTES && Buffer.byteLength(text) > MOST_BYTES)
    throw fail(
      'shell.unparsable',
      'Cannot give the shell more: it was given 64 KiB of commands; start another',
    );
  const whole = await listing(text);
  // A command that went on in the next one would be another command.
  if (whole.commands.length !== script.commands + alone.commands.length)
    throw fail('shell.unparsable', 'Cannot give the shell this text: it is not a whole command by itself');
  // Where its redirections lead depends on where the shell is by now.
  const redirects = alone.redirects.length > 0 ? whole.redirects.slice(-alone.redirects.length) : [];
  return {
    effects: shellEffects({ ...alone, redirects }, cwd, false, place),
    next: { text, commands: whole.commands.length },
    listing: alone,
  };
}

async function listing(text: string): Promise<ShellListing> {
  const analysis = await analyzeShell(text);
  if (!analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  return analysis;
}

/** Variables that the shell begins with are text for whatever is given to it. */
const settings = (env: InputState['env']): string =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${shellQuote(value)}\n`)
    .join('');

/**
 * A plain shell. It reads no script: text that a command in it consumed would shift what the rest means, and a command could
 * write to it. Its input only wakes it. What it evaluates are whole commands that were decided: files in a folder that is shown to it
 * read-only, each once and in their order, whatever a command reads from its input (`<&10`) or writes to it
 * (`tee /proc/$$/fd/10`); a mark that is readonly cannot be taken back. What it runs reads an empty input. SIGINT ends the
 * command, not the shell. A command may have given the name another attribute: it is taken back.
 */
export const PLAIN_SHELL = `exec 3<&0 </dev/null
trap : INT
__haft_status() { return "$1"; }
__haft_last=0
while IFS= read -r -u 3 __haft_next; do
  __haft_next=1
  while :; do
    while [[ -v __haft_given_$__haft_next ]]; do __haft_next=$((__haft_next + 1)); done
    [ -f "${COMMANDS_AT}/$__haft_next" ] || break
    readonly "__haft_given_$__haft_next=1"
    eval "$(<"${COMMANDS_AT}/$__haft_next")" 3<&-
    __haft_last=$?
    unset -n __haft_next || :
    unset -v __haft_next
    __haft_next=1
  done
done`;

/** `env`: set for this command and those after it. */
export function plainShellText(command: string, env: Readonly<Record<string, string>>): string {
  const set = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}\n`);
  return `${set.join('')}__haft_status "$__haft_last"\n${command}\n`;
}
