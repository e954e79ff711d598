// Owns: an operation as a command: its words and flags become arguments, its answer is printed as JSON or as people read it.
// Refuses: to know any operation.
import { resolve } from 'node:path';
import { fail } from '../../contract/errors.ts';
import { type Argument, type Operation, type Terminal, withDefaults } from '../../contract/operation.ts';
import { isWorkspace } from '../../loader/workspace.ts';
import { isFrozenRun } from '../../preset/open-host.ts';
import { operationSite, perform } from '../../preset/operation-handles.ts';
import { localPerson } from '../../runtime/management.ts';
import type { Command, CommandOption, Invocation } from './command.ts';
import { endProgress, progressOf } from './progress.ts';
import { readFileArgument, readObjectArgument } from './read-argument.ts';
import { readerOf } from './reader.ts';

type Given = Record<string, unknown>;
type Named = readonly [name: string, argument: Argument];

const MOST_WORDS = 1000;

export function commandOf(operation: Operation): Command {
  const { summary, description, examples, reads, lenient } = operation;
  const args = Object.entries(operation.args).filter(([, { secret }]) => !secret);
  const words = args.filter(([, { positional }]) => positional);
  const flags = args.filter(([, { positional }]) => !positional);
  const most = words.reduce(
    (sum, [, { type, maxItems = MOST_WORDS }]) => sum + (type === 'array' ? maxItems : 1),
    0,
  );
  return {
    summary,
    usage: operation.usage ?? words.map(usageOf).join(' '),
    ...(description === undefined ? {} : { description }),
    ...(flags.length === 0
      ? {}
      : { options: Object.fromEntries(flags.map(([name, one]) => [flagOf(name), optionOf(one)])) }),
    examples,
    positionals: [words.filter(([, { required }]) => required).length, most],
    ...(words[0]?.[1].enum ? { choices: words[0][1].enum } : {}),
    ...(reads ? { reads } : {}),
    ...(lenient ? { lenient } : {}),
    run: (invocation) => run(operation, invocation, words, flags).finally(() => endProgress(invocation.io)),
  };
}

const flagOf = (name: string): string => name.replaceAll('_', '-');

function usageOf([name, { type, required, placeholder = name.toUpperCase() }]: Named): string {
  const word = type === 'array' ? `${placeholder}…` : placeholder;
  return required ? word : `[${word}]`;
}

const optionOf = ({ type, placeholder, description, enum: choices }: Argument): CommandOption => ({
  type: type === 'boolean' ? 'boolean' : 'string',
  ...(type === 'array' ? { multiple: true } : {}),
  ...(placeholder === undefined ? {} : { value: placeholder }),
  ...(choices === undefined ? {} : { choices }),
  help: description,
});

async function run(
  operation: Operation,
  invocation: Invocation,
  words: readonly Named[],
  flags: readonly Named[],
): Promise<number> {
  const { io, json } = invocation;
  const isWatched = io.errTty && !invocation.flags.quiet;
  let args = withDefaults(operation, await parse(invocation, words, flags));
  const looks = operation.looks?.(args) ?? (operation.reads === true || !operation.changes);
  const site = operationSite({
    get workspace() {
      return invocation.workspace;
    },
    by: localPerson(),
    frozen: isFrozenRun(invocation.flags),
    get signal() {
      return io.signal;
    },
    watched: !json && io.tty,
    say: (text) => {
      endProgress(io);
      if (!invocation.flags.quiet) io.err(text);
    },
    progress: (step) => {
      if (isWatched) progressOf(io).show(step);
    },
    runtime: () => invocation.runtime({ looks }),
    looks,
  });
  if (invocation.flags.workspace === undefined) refuseBare(operation, invocation);
  if (operation.atTerminal) {
    const next = await operation.atTerminal(args, terminalOf(invocation), site);
    if (typeof next === 'number') return next;
    args = next;
  }
  const {
    answers = 'json',
    json: toJson = (value: unknown) => value,
    text,
    exit = () => 0,
    lastLine,
  } = operation;
  const value = await perform(operation, args, site);
  endProgress(io);
  const reader = readerOf(args, invocation);
  const lineOf = (one: unknown): string => `${JSON.stringify(toJson(one))}\n`;
  if (answers === 'json') {
    if (json || !text) io.out(lineOf(value));
    else await text(value, reader);
    return exit(value);
  }
  let last: unknown;
  let unwritten = '';
  const flush = () => {
    if (unwritten !== '') io.out(unwritten);
    unwritten = '';
  };
  const values = (value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  for (;;) {
    const coming = values.next();
    // Many lines that are there at once are one write.
    if (unwritten.length > MOST_UNWRITTEN || (unwritten !== '' && (await isLater(coming)))) flush();
    const { done, value: one } = await coming;
    if (done) break;
    last = one;
    if (!json && text) await text(one, reader);
    else if (!lastLine) unwritten += lineOf(one);
    if (io.signal.aborted) break;
  }
  flush();
  await values.return?.();
  if (json && lastLine && last !== undefined) io.out(lineOf(last));
  return last === undefined ? 0 : exit(last);
}

/** Where there is no workspace nothing was recorded: an empty answer would look like that of the wrong folder. */
function refuseBare({ id, reads, worksBare }: Operation, { workspace, io, flags }: Invocation): void {
  if (worksBare || isWorkspace(workspace)) return;
  const fact = 'there is no workspace here: neither haft.yaml nor .haft in this folder or above';
  if (reads) throw fail('usage', `Cannot run haft ${id.replace('.', ' ')}: ${fact}; "haft init" makes one`);
  if (io.errTty && !flags.quiet) io.err(`haft: ${fact}; "haft init" makes one\n`);
}

const MOST_UNWRITTEN = 64 * 1024;

/** Whether it takes more than this turn of the event loop. */
const isLater = (coming: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    coming.then(
      () => false,
      () => false,
    ),
    new Promise<boolean>((resolve) => setImmediate(resolve, true)),
  ]);

async function parse(
  { positionals, flags: given }: Invocation,
  words: readonly Named[],
  flags: readonly Named[],
): Promise<Given> {
  const args: Given = {};
  let at = 0;
  for (const [name, argument] of words) {
    const rest = positionals.slice(at);
    at = argument.type === 'array' ? positionals.length : at + 1;
    if (rest.length === 0) continue;
    args[name] = argument.type === 'array' ? rest : await parsed(rest[0]!, argument, `the ${name}`, name);
  }
  for (const [name, argument] of flags) {
    const flag = flagOf(name);
    const value = given[flag];
    if (value === undefined) continue;
    args[name] = typeof value === 'string' ? await parsed(value, argument, `--${flag}`, name) : value;
  }
  return args;
}

async function parsed(text: string, { type }: Argument, what: string, name: string): Promise<unknown> {
  if (type === 'integer') {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= 1) return value;
    throw fail('usage', `Cannot use ${what} ${text}: it takes a whole number from 1 on`);
  }
  if (type !== 'object') return text;
  // Arguments of a call are read as `haft call` reads them.
  return name === 'args'
    ? (await import('./commands/call.ts')).parseArgs(text)
    : readObjectArgument(text, what);
}

function terminalOf(invocation: Invocation): Terminal {
  const { io, json, flags } = invocation;
  const { table, time } = readerOf({}, invocation);
  const { out, err, tty, ask, askSecret, readStdin, stdin } = io;
  return {
    json,
    tty,
    table,
    time,
    out(text) {
      endProgress(io);
      out(text);
    },
    err,
    ask,
    askSecret,
    readStdin,
    stdin,
    trust: flags.trust as string | undefined,
    readText: async (path, limit) => new TextDecoder().decode(await readFileArgument(path, limit)),
    absolute: (path) => resolve(path),
    async makeNew(path, make) {
      const { checkNew, writeFailure } = await import('./named-path.ts');
      checkNew(path);
      await make(resolve(path)).catch((thrown: unknown) => {
        throw writeFailure(thrown, path);
      });
    },
    writeNew: async (path, pieces) => (await import('./named-path.ts')).writeNew(path, pieces),
  };
}
