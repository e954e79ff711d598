// Owns: one run of the command line: find the command, parse its flags, run it, turn failures into exit codes.
// Refuses: to know any command; they come from the list in commands.ts.
import { closest } from '../../base/closest.ts';
import { once } from '../../base/once.ts';
import {
  ERRORS,
  type ErrorEntry,
  fail,
  isFailure,
  type Reason,
  toErrorEntry,
} from '../../contract/errors.ts';
import { VERSION } from '../../contract/version.ts';
import { findWorkspace } from '../../loader/workspace.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import { openHost } from '../../preset/open-host.ts';
import { givenTrust } from '../../preset/trust/trust.ts';
import { COMMON_FLAGS, type Command, type Io } from './command.ts';
import type { CommandEntry, CommandGroup, Commands } from './commands.ts';
import { processIo } from './io.ts';
import { type Parsed, parseFlags } from './parse-flags.ts';

export async function runCli(
  argv: readonly string[],
  commands: Commands,
  io: Io = processIo(),
): Promise<number> {
  const json = argv.includes('--json');
  let failed: ((reason: Reason) => number | undefined) | undefined;
  try {
    const found = findCommand(argv, commands);
    if ('version' in found) {
      io.out(json ? `${JSON.stringify({ version: VERSION })}\n` : `haft ${VERSION}\n`);
      return 0;
    }
    if ('help' in found) {
      if (json && !found.asked) throw fail('usage', 'Cannot run haft: a command is missing (see haft help)');
      io.out((await import('./help.ts')).renderHelp(commands, found.help));
      return found.asked ? 0 : ERRORS.usage.exit;
    }
    const command = await found.entry.load();
    failed = (reason) => command.failed?.(found.rest, reason);
    const { flags, positionals } = parseFlags(command, found.name, found.rest);
    if (flags.help) {
      io.out((await import('./help.ts')).renderCommandHelp(found.name, command));
      return 0;
    }
    return await runCommand(command, { flags, positionals, io, json });
  } catch (thrown) {
    if (!isFailure(thrown) && process.env.HAFT_DEBUG) io.err(`${(thrown as Error).stack}\n`);
    const error = toErrorEntry(thrown);
    await report(io, json, error);
    return failed?.(error.reason) ?? ERRORS[error.reason].exit;
  }
}

/** In the form that was asked for; where that cannot be written, in the other. */
async function report(io: Io, json: boolean, error: ErrorEntry): Promise<void> {
  try {
    if (json) return io.out(`${JSON.stringify({ ok: false, errors: [error] })}\n`);
  } catch {
    // The answer's own place is gone.
  }
  io.err((await import('../../contract/error-remedies.ts')).explainError(error));
}

async function runCommand(
  command: Command,
  run: Parsed & { readonly io: Io; readonly json: boolean },
): Promise<number> {
  const given = run.flags.workspace as string | undefined;
  const find = once(() => findWorkspace(given));
  if (!command.anywhere || given !== undefined) find();
  const takeBack = giveTrust(run.flags.trust);
  let opened: Promise<DefaultRuntime> | undefined;
  try {
    return await command.run({
      ...run,
      get workspace() {
        return find();
      },
      runtime({ looks = false } = {}) {
        const frozen = run.flags.frozen === true;
        const { lives: living = false, reads = false, lenient = reads } = command;
        opened ??= openHost(find(), run.io.err, { frozen, living, reads, lenient, looks });
        return opened;
      },
    });
  } finally {
    await (await opened?.catch(() => undefined))?.close();
    takeBack();
  }
}

/** For everything that this command opens: the environment is where all of it looks. */
function giveTrust(given: unknown): () => void {
  if (typeof given !== 'string') return () => {};
  const { HAFT_TRUST: before } = process.env;
  process.env.HAFT_TRUST = [...givenTrust(given)].join(',');
  return () => {
    if (before === undefined) delete process.env.HAFT_TRUST;
    else process.env.HAFT_TRUST = before;
  };
}

type Found =
  | { readonly name: string; readonly entry: CommandEntry; readonly rest: readonly string[] }
  /** `asked`: somebody wants it, rather than not knowing what else to say. */
  | { readonly help: CommandGroup | undefined; readonly asked: boolean }
  | { readonly version: true };

function findCommand(argv: readonly string[], commands: Commands): Found {
  const at = wordAt(argv);
  const word = argv[at];
  if (word === undefined) return withoutCommand(argv, commands);
  const rest = argv.toSpliced(at, 1);
  if (word === 'help') return findCommand([...rest, '--help'], commands);
  if (word === 'version') return { version: true };
  const entry = lookUp(word, commands);
  const subAt = wordAt(rest);
  const sub = rest[subAt];
  if ('load' in entry) {
    if (!entry.commands || sub === undefined) return { name: word, entry, rest };
    // The value of a flag of its own: `haft mcp --profile all`.
    if (!Object.hasOwn(entry.commands, sub) && rest[subAt - 1]?.startsWith('--'))
      return { name: word, entry, rest };
  } else if (sub === undefined) return { help: entry, asked: asksForHelp(rest) };
  if (sub === 'help') return findCommand([...argv.filter((one) => one !== sub), '--help'], commands);
  return {
    name: `${word} ${sub}`,
    entry: lookUp(sub, entry.commands ?? {}, word),
    rest: rest.toSpliced(subAt, 1),
  };
}

/** Common flags that take a value. */
const WITH_VALUE: readonly string[] = ['--workspace', '--trust', '--color'];

/** The first word that is neither a flag nor a flag's value. */
const wordAt = (argv: readonly string[]) =>
  argv.findIndex((word, i) => !word.startsWith('-') && !WITH_VALUE.includes(argv[i - 1] ?? ''));

const asksForHelp = (argv: readonly string[]) => argv.includes('--help') || argv.includes('-h');

function withoutCommand(argv: readonly string[], commands: Commands): Found {
  if (argv.includes('--version') || argv.includes('-V')) return { version: true };
  const flag = argv.find((one) => /^--?[^-]/.test(one) && !isCommon(one));
  if (flag !== undefined)
    throw fail('usage', `Cannot run haft ${flag.slice(0, 80)}: a command is missing (see haft help)`);
  const { status } = commands;
  // Alone it says where one is.
  if (!asksForHelp(argv) && status && 'load' in status) return { name: 'status', entry: status, rest: argv };
  return { help: undefined, asked: true };
}

const isCommon = (flag: string): boolean =>
  /^-[hvq]$/.test(flag) || Object.hasOwn(COMMON_FLAGS, flag.slice(2).split('=', 1)[0]!);

function lookUp<T>(word: string, among: Readonly<Record<string, T>>, group = ''): T {
  if (Object.hasOwn(among, word)) return among[word]!;
  const names = Object.keys(among);
  const near =
    closest(word, names) ?? names.find((name) => word.length > 3 && name.startsWith(word.slice(0, -1)));
  throw fail(
    'usage',
    `Cannot run "${word.slice(0, 80)}": there is no such ${`${group} command`.trim()}${near ? `; did you mean "${near}"?` : ''} (see ${`haft help ${group}`.trim()})`,
  );
}
