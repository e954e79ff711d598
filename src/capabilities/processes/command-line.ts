// Owns: a process's arguments as one line that can be shown: secrets unreadable, not too long.
// Refuses: to be taken for something to run; nothing is quoted.
import { REDACTED } from '../../base/redact/automaton.ts';
import type { Redactor } from '../../base/redact/create-redactor.ts';
import { isSecretKey } from '../../base/redact/secret-keys.ts';

const MAX_SHOWN = 4096;

/** `name` is shown in brackets where there are no arguments. */
export function commandLine(args: readonly string[], name: string, redactor: Redactor): string {
  if (args.length === 0) return `[${name}]`;
  // An argument is known to be one here; in the line that they make up, one with blanks in it would be several.
  const shown = args.map((arg, at) => (isNamedSecret(args[at - 1]) ? REDACTED : withoutValue(arg)));
  const line = redactor.text(shown.join(' '));
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** `--api-key`: the next argument is the secret. */
function isNamedSecret(before: string | undefined): boolean {
  const flag = before === undefined ? undefined : /^--?([A-Za-z][\w-]*)$/.exec(before)?.[1];
  return flag !== undefined && isSecretKey(flag);
}

/** `--api-key=abc`, `DB_PASSWORD=abc`. */
function withoutValue(arg: string): string {
  const found = /^((?:--?)?([A-Za-z_][\w-]*)=)./s.exec(arg);
  return found && isSecretKey(found[2]!) ? `${found[1]}${REDACTED}` : arg;
}
