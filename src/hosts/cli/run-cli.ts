// Owns: one run of the command line: find the command, parse its flags, run it, turn failures into exit codes.
// Refuses: to know any command; they come from the list in commands.ts.
import { parseArgs } from 'node:util';
import { closest } from '../../base/closest.ts';
import { ERRORS, fail, isFailure, toErrorEntry } from '../../contract/errors.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { VERSION } from '../../contract/version.ts';
import { createDefaultRuntime } from '../../preset/default.ts';
import { COMMON_OPTIONS, type Command, type Io } from './command.ts';
import type { CommandEntry, CommandGroup, Commands } from './commands.ts';
import { processIo } from './io.ts';
import { describeError } from './output.ts';
import { findWorkspace } from './workspace.ts';

export async function runCli(
  argv: readonly string[],
  commands: Commands,
  io: Io = processIo(),
): Promise<number> {
  const json = argv.includes('--json');
  try {
    const found = findCommand(argv, commands);
    if ('version' in found) {
      io.out(`haft ${VERSION}\n`);
      return 0;
    }
    if ('help' in found) {
      io.out((await import('./help.ts')).renderHelp(commands, found.help));
      return found.exit;
    }
    const command = await found.entry.load();
    const { flags, positionals } = parseFlags(command, found.name, found.rest);
    if (flags.help) {
      io.out((await import('./help.ts')).renderCommandHelp(found.name, command));
      return 0;
    }
    return await runCommand(command, { flags, positionals, io, json });
  } catch (thrown) {
    if (!isFailure(thrown) && process.env.HAFT_DEBUG) io.err(`${(thrown as Error).stack}\n`);
    const error = toErrorEntry(thrown);
    if (json) io.out(`${JSON.stringify({ ok: false, errors: [error] })}\n`);
    else io.err(describeError(error));
    return ERRORS[error.reason].exit;
  }
}

interface Parsed {
  readonly flags: Record<string, string | boolean | readonly string[] | undefined>;
  readonly positionals: readonly string[];
}

async function runCommand(
  command: Command,
  run: Parsed & { readonly io: Io; readonly json: boolean },
): Promise<number> {
  const workspace = findWorkspace(run.flags.workspace as string | undefined);
  let opened: Promise<Runtime> | undefined;
  try {
    return await command.run({
      ...run,
      workspace,
      runtime() {
        opened ??= createDefaultRuntime({ workspace }).then((runtime) => {
          for (const row of runtime.startup.inFlight) {
            run.io.err(
              `haft: ${row.tool} (${row.callId}) was in flight when its process died; "haft undo ${row.callId}" takes back what it did\n`,
            );
          }
          return runtime;
        });
        return opened;
      },
    });
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}

type Found =
  | { readonly name: string; readonly entry: CommandEntry; readonly rest: readonly string[] }
  | { readonly help: CommandGroup | undefined; readonly exit: number }
  | { readonly version: true };

function findCommand(argv: readonly string[], commands: Commands): Found {
  const at = argv.findIndex((word, i) => !word.startsWith('-') && argv[i - 1] !== '--workspace');
  const word = argv[at];
  if (word === undefined && argv.includes('--version')) return { version: true };
  if (word === undefined || word === 'help') return { help: undefined, exit: argv.length === 0 ? 2 : 0 };
  const entry = lookUp(word, commands, 'command');
  const rest = argv.toSpliced(at, 1);
  if ('load' in entry) return { name: word, entry, rest };
  const subAt = rest.findIndex((one) => !one.startsWith('-'));
  const sub = rest[subAt];
  if (sub === undefined) return { help: entry, exit: rest.includes('--help') || rest.includes('-h') ? 0 : 2 };
  return {
    name: `${word} ${sub}`,
    entry: lookUp(sub, entry.commands, `${word} command`),
    rest: rest.toSpliced(subAt, 1),
  };
}

function lookUp<T>(word: string, among: Readonly<Record<string, T>>, what: string): T {
  if (Object.hasOwn(among, word)) return among[word]!;
  const near = closest(word, Object.keys(among));
  throw fail(
    'usage',
    `Cannot run "${word.slice(0, 80)}": there is no such ${what}${near ? `; did you mean "${near}"?` : ''} (see haft help)`,
  );
}

function parseFlags(command: Command, name: string, args: readonly string[]): Parsed {
  const options = { ...COMMON_OPTIONS, ...command.options };
  try {
    const config = Object.fromEntries(
      Object.entries(options).map(([key, { type, short, multiple = false }]) => [
        key,
        { type, multiple, ...(short ? { short } : {}) },
      ]),
    );
    const { values, positionals } = parseArgs({ args: [...args], options: config, allowPositionals: true });
    const [least, most] = command.positionals;
    if (!values.help && (positionals.length < least || positionals.length > most)) {
      throw new Error(
        positionals.length < least
          ? 'an argument is missing'
          : `"${positionals[most]}" is one argument too many`,
      );
    }
    return { flags: values as Parsed['flags'], positionals };
  } catch (thrown) {
    const why = thrown instanceof Error ? (thrown.message.split('. ')[0] ?? '') : '';
    throw fail('usage', `Cannot run haft ${name}: ${why}; usage: haft ${name} ${command.usage}`);
  }
}
