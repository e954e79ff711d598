// Owns: the flags and words that follow a command's name, and what is wrong with them.
// Refuses: to know what any of them means.
import { parseArgs } from 'node:util';
import { closest } from '../../base/closest.ts';
import { fail } from '../../contract/errors.ts';
import { COMMON_FLAGS, type Command, type Flag } from './command.ts';

export interface Parsed {
  readonly flags: Record<string, string | boolean | readonly string[] | undefined>;
  readonly positionals: readonly string[];
}

const COLORS = ['auto', 'always', 'never'];

type Options = Readonly<Record<string, Flag>>;

export function parseFlags(command: Command, name: string, args: readonly string[]): Parsed {
  const options = { ...COMMON_FLAGS, ...command.options };
  const refuse = (fact: string) => {
    const usage = `haft ${name} ${command.usage}`.trimEnd();
    return fail('usage', `Cannot run haft ${name}: ${fact} (usage: ${usage}; --help says more)`);
  };
  let parsed: Parsed;
  try {
    parsed = parsePlain(args, options) ?? parseAny(args, options);
  } catch (thrown) {
    throw refuse(flagProblem(thrown as Error & { code?: string }, options));
  }
  const { flags, positionals } = parsed;
  const { color = 'auto' } = flags;
  if (!COLORS.includes(color as string)) throw refuse(`--color takes one of ${COLORS.join(', ')}`);
  const [least, most] = command.positionals;
  if (!flags.help && positionals.length < least) throw refuse('an argument is missing');
  if (!flags.help && positionals.length > most)
    throw refuse(`"${positionals[most]!.slice(0, 80)}" is one argument too many`);
  return parsed;
}

/**
 * What nearly every command line is: words, and flags written out. Node's parser is half a millisecond of a start. Undefined
 * for whatever else there is, which is for that one to judge.
 */
export function parsePlain(args: readonly string[], options: Options): Parsed | undefined {
  const flags: Record<string, string | boolean> = Object.create(null);
  const positionals: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (!arg.startsWith('-')) {
      positionals.push(arg);
      continue;
    }
    const name = arg.slice(2);
    const option = arg.startsWith('--') && Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option || option.multiple) return undefined;
    if (option.type === 'boolean') flags[name] = true;
    else {
      const value = args[++at];
      if (value === undefined || value.startsWith('-')) return undefined;
      flags[name] = value;
    }
  }
  return { flags, positionals };
}

export function parseAny(args: readonly string[], options: Options): Parsed {
  const config = Object.fromEntries(
    Object.entries(options).map(([key, { type, short, multiple = false }]) => [
      key,
      { type, multiple, ...(short ? { short } : {}) },
    ]),
  );
  const { values, positionals } = parseArgs({ args: [...args], options: config, allowPositionals: true });
  return { flags: values as Parsed['flags'], positionals };
}

/** Node's complaint about a flag, in our words and with the nearest flag. */
function flagProblem({ code, message }: Error & { code?: string }, options: Options): string {
  const flag = /--?[^\s',=]+/.exec(message.replace(/'-., /, "'"))?.[0] ?? '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const near = closest(
      flag,
      Object.keys(options).map((one) => `--${one}`),
    );
    return `there is no flag ${flag.slice(0, 80)}${near ? `; did you mean ${near}?` : ''}`;
  }
  return `${flag} ${options[flag.slice(2)]?.type === 'string' ? 'needs a value' : 'takes no value'}`;
}
