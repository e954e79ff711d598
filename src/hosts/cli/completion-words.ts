// Owns: what may come next on a command line that is being typed: commands, flags, tools, names of arguments, ids.
// Refuses: to fail: where something cannot be looked up there is nothing to offer. Files are the shell's own.
import type { JsonSchema } from '../../contract/json.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import type { Command, CommandOption } from './command.ts';
import type { CommandEntry, Commands } from './commands.ts';
import { COMMON_OPTIONS } from './common-options.ts';

/** A word, and what it is. */
export type Offer = readonly [word: string, about: string];
type Open = () => Promise<DefaultRuntime>;

/** `typed` are the words after `haft`; the last one is the one that is being typed. */
export async function completionWords(
  commands: Commands,
  typed: readonly string[],
  open: Open,
): Promise<Offer[]> {
  const before = typed.slice(0, -1);
  const current = typed.at(-1) ?? '';
  const offers = await offersOf(commands, before, current, open).catch(() => []);
  return offers.filter(([word]) => word.startsWith(current));
}

async function offersOf(
  commands: Commands,
  before: readonly string[],
  current: string,
  open: Open,
): Promise<Offer[]> {
  const [name = '', sub = ''] = plainWords(before, COMMON_OPTIONS);
  const common = COMMON_OPTIONS[flagOf(before.at(-1))];
  if (common?.type === 'string') return valuesOf(common, '', open);
  if (name === '') return isFlag(current) ? flagsOf({}) : summaries(commands);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) return name === 'help' ? summaries(commands) : [];
  const subs = entry.commands ?? {};
  const below = sub === '' && !isFlag(current) ? summaries(subs) : [];
  const isSub = Object.hasOwn(subs, sub);
  const found: CommandEntry | undefined = isSub ? subs[sub] : 'load' in entry ? entry : undefined;
  if (!found) return below;
  const command = await found.load();
  const options = { ...command.options, ...COMMON_OPTIONS };
  const asked = options[flagOf(before.at(-1))];
  if (asked?.type === 'string') return valuesOf(asked, before.at(-1)!.slice(2), open);
  if (isFlag(current)) return flagsOf(command.options ?? {});
  const words = plainWords(before, options).slice(isSub ? 2 : 1);
  const path = isSub ? `${name} ${sub}` : name;
  return [...below, ...choicesOf(command, words), ...(await lookedUp(path, words, open))];
}

const flagOf = (word = ''): string => /^--([\w-]+)$/.exec(word)?.[1] ?? '';
const isFlag = (word: string): boolean => word.startsWith('-');

/** Without flags and their values. */
function plainWords(words: readonly string[], options: Readonly<Record<string, CommandOption>>): string[] {
  return words.filter((word, i) => {
    const owner = options[flagOf(words[i - 1])];
    return !isFlag(word) && owner?.type !== 'string';
  });
}

const summaries = (entries: Readonly<Record<string, { readonly summary: string }>>): Offer[] =>
  Object.entries(entries).map(([name, { summary }]) => [name, summary]);

const flagsOf = (own: Readonly<Record<string, CommandOption>>): Offer[] =>
  Object.entries({ ...own, ...COMMON_OPTIONS }).map(([name, { help }]) => [`--${name}`, help]);

const choicesOf = ({ choices = [] }: Command, words: readonly string[]): Offer[] =>
  words.length === 0 ? choices.map((one) => [one, '']) : [];

async function valuesOf({ choices = [] }: CommandOption, name: string, open: Open): Promise<Offer[]> {
  if (choices.length > 0) return choices.map((one) => [one, '']);
  const source = FLAG_SOURCES[name];
  return source ? source(await open()) : [];
}

type Source = (runtime: DefaultRuntime) => Offer[] | Promise<Offer[]>;

const MOST = 50;

const toolIds: Source = (runtime) => runtime.tools().map(({ contract }) => [contract.id, contract.title]);
const packNames: Source = (runtime) => runtime.packs().map(({ name, status }) => [name, status]);
const sessionIds: Source = async ({ sessions }) =>
  (await sessions.list()).slice(0, MOST).map(({ id }) => [id, '']);
const runIds: Source = async ({ runs }) =>
  (await runs.list({ limit: MOST })).map(({ runId, tool, state }) => [runId, `${tool}, ${state}`]);
const pending: Source = async ({ approvals }) =>
  (await approvals.list('pending')).map(({ id, tool }) => [id, tool]);
const artifactIds: Source = async (runtime) =>
  (await (await runtime.artifacts()).list({ limit: MOST })).map(({ id, kind }) => [
    id.replace('sha256:', ''),
    kind,
  ]);
const changing: Source = async ({ audit }) =>
  (await audit.rows({ last: 1000 }))
    .filter(({ phase, changes }) => phase === 'outcome' && changes.length > 0)
    .reverse()
    .slice(0, MOST)
    .map(({ callId, tool, changes: [first] }) => [callId, `${tool} ${first?.path ?? ''}`]);

const FLAG_SOURCES: Readonly<Record<string, Source>> = { tool: toolIds, session: sessionIds, call: changing };

/** By the command, for its first word. */
const SOURCES: Readonly<Record<string, Source>> = {
  call: toolIds,
  undo: changing,
  ...each('tools show|policy explain|policy hash', toolIds),
  ...each('tools remove|tools config|tools enable|tools disable|tools health|tools logs', packNames),
  ...each('approvals show|approvals grant|approvals refuse', pending),
  ...each('sessions show|sessions end', sessionIds),
  ...each(
    'runs show|runs watch|runs cancel|runs retry|runs verify|runs explain|runs export|runs collect',
    runIds,
  ),
  ...each('artifacts show|artifacts cat|artifacts verify', artifactIds),
};

function each(commands: string, source: Source): Record<string, Source> {
  return Object.fromEntries(commands.split('|').map((command) => [command, source]));
}

async function lookedUp(path: string, words: readonly string[], open: Open): Promise<Offer[]> {
  if (path === 'call' && words.length > 0) return argumentsOf(await open(), words);
  const source = words.length === 0 ? SOURCES[path] : undefined;
  return source ? source(await open()) : [];
}

interface Property {
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly type?: unknown;
}

/** `key=`, and where only some values fit, those. */
function argumentsOf(runtime: DefaultRuntime, [tool, ...given]: readonly string[]): Offer[] {
  const input = runtime.tools().find(({ contract }) => contract.id === tool)?.contract.input as
    | JsonSchema
    | undefined;
  const { properties = {} } = (input ?? {}) as { readonly properties?: Readonly<Record<string, Property>> };
  const used = new Set(given.map((word) => word.split(/:?=/, 1)[0]));
  return Object.entries(properties).flatMap(([name, { description = '', enum: among, type }]): Offer[] => {
    if (used.has(name) && type !== 'array') return [];
    const values = among ?? (type === 'boolean' ? [true, false] : undefined);
    return values
      ? values.map((value) => [`${name}=${String(value)}`, description])
      : [[`${name}=`, description]];
  });
}
