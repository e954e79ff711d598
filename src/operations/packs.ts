// Owns: the operations on packs: adding, configuring, removing, enabling, pinning and looking after them.
// Refuses: packs that haft.yaml names, which a person changes there, and single tools, which policy decides about.
import { ERRORS, fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { HealthReport } from '../contract/manifest.ts';
import { defineOperation, type Operation } from '../contract/operation.ts';
import type { LockReport, PackListing, ReachedPack } from '../contract/operation-handles.ts';
import { toWire } from '../contract/spelling.ts';
import {
  count,
  document,
  flag,
  list as listOf,
  optionalWord,
  TEXT,
  TEXTS,
  text,
  word,
  words,
  YES,
} from './schemas.ts';

const KINDS = ['mcp', 'stdio'];

interface AddArgs {
  readonly name: string;
  readonly command?: readonly string[];
  readonly kind: string;
  readonly url?: string;
  readonly config?: JsonObject;
}

export const toolsAdd = defineOperation<AddArgs, ReachedPack & { readonly name: string }>({
  id: 'tools.add',
  summary: 'Add a server as a pack of this workspace',
  usage: 'NAME [--url URL | -- COMMAND ARG...]',
  description:
    'Starts or reaches it, lists its tools and keeps it for the next start; where there is a haft.lock its tools are pinned. ' +
    'Folders of *.tool.yaml are named in haft.yaml.',
  examples: [
    'haft tools add hub --url https://mcp.example.org/',
    'haft tools add memory -- node node_modules/@modelcontextprotocol/server-memory/dist/index.js',
    `haft tools add notes --config '{"caps":{"filesystem":{"read":["notes"]}}}' -- python3 notes.py`,
  ],
  args: {
    name: word('what the ids of its tools begin with'),
    command: words(63, 'the program that is the server, and its words'),
    kind: {
      type: 'string',
      placeholder: 'KIND',
      default: 'mcp',
      enum: KINDS,
      description: 'mcp (the default), or stdio for a program of JSON lines',
    },
    url: text('URL', 'of an MCP server over HTTP, instead of a command'),
    config: {
      type: 'object',
      placeholder: 'JSON',
      description: 'more of what it needs (caps, env, overlays, …), or @file',
    },
  },
  result: document({ added: TEXT, tools: TEXTS }, { problems: TEXTS }),
  who: 'person',
  changes: true,
  run: async (args, { packs }) => ({ name: args.name, ...(await packs.add(args.name, entryOf(args))) }),
  json: ({ name, tools, problems = [] }) => ({ added: name, tools, ...problemsOf(problems) }),
  text({ name, tools, problems = [] }, { out, err }) {
    for (const id of tools) out(`${id}\n`);
    for (const problem of problems) err(`haft: ${problem}\n`);
    out(`added ${name}: ${tools.length} tools; haft tools show TOOL says more\n`);
  },
});

const problemsOf = (problems: readonly string[]) => (problems.length > 0 ? { problems } : {});

function entryOf({ name, kind, url, config = {}, command = [] }: AddArgs): JsonObject {
  if (!KINDS.includes(kind))
    throw fail('usage', `Cannot add a pack of kind "${kind.slice(0, 40)}": take ${KINDS.join(' or ')}`);
  if (url !== undefined && command.length > 0)
    throw fail('usage', `Cannot add "${name.slice(0, 80)}": take either --url or a command`);
  const whole: JsonObject = {
    ...config,
    ...(url === undefined ? {} : { url }),
    ...(command.length === 0 ? {} : { command }),
  };
  if (!('url' in whole) && !('command' in whole))
    throw fail(
      'usage',
      `Cannot add "${name.slice(0, 80)}": say how it is reached; use --url URL, or -- COMMAND ARG...`,
    );
  return { [kind]: whole };
}

const PACK = word('its name');

export const toolsRemove = defineOperation<{ readonly pack: string }, { readonly removed: string }>({
  id: 'tools.remove',
  summary: 'Remove a pack that was added',
  description:
    'Its tools are gone at once, also from hosts that run, and from haft.lock. Packs of haft.yaml are taken out there.',
  examples: ['haft tools remove hub'],
  args: { pack: PACK },
  result: document({ removed: TEXT }),
  who: 'person',
  changes: true,
  async run({ pack }, { packs }) {
    await packs.remove(pack);
    return { removed: pack };
  },
  text: ({ removed }, { out }) => out(`removed ${removed}\n`),
});

interface Turned {
  readonly pack: string;
  readonly enabled: boolean;
  readonly changed: boolean;
}

/** Both have the same answer. */
const turning = (
  enabled: boolean,
  words: Pick<Operation, 'id' | 'summary' | 'description' | 'examples'>,
): Operation<{ readonly pack: string }, Turned> => ({
  ...words,
  args: { pack: PACK },
  result: document({ pack: TEXT, enabled: YES, changed: YES }),
  who: 'person',
  changes: true,
  run: async ({ pack }, { packs }) => ({ pack, enabled, changed: await packs.enable(pack, enabled) }),
  text({ pack, changed }, { out }) {
    const state = enabled ? 'enabled' : 'disabled';
    out(changed ? `${state} ${pack}\n` : `${pack} is ${state} already\n`);
  },
});

export const toolsEnable = turning(true, {
  id: 'tools.enable',
  summary: 'Enable a pack that was disabled',
  examples: ['haft tools enable hub'],
});

export const toolsDisable = turning(false, {
  id: 'tools.disable',
  summary: 'Disable a pack with all of its tools',
  description: 'Holds for packs of haft.yaml as well. To forbid single tools, use tools.rules of haft.yaml.',
  examples: ['haft tools disable hub'],
});

type Configured =
  | { readonly packs: readonly PackListing[] }
  | { readonly pack: PackListing }
  | {
      readonly configured: string;
      readonly reached: ReachedPack & { readonly quarantined: readonly string[] };
    };

export const toolsConfig = defineOperation<
  { readonly pack?: string; readonly config?: JsonObject },
  Configured
>({
  id: 'tools.config',
  summary: 'List the packs, show what one needs, or change that',
  usage: '[PACK [JSON | @file]]',
  description:
    'What is given takes the place of what was there, whole, after the server was reached by it. Where that changes its tools and ' +
    'there is a haft.lock, they are quarantined until haft tools lock --accept.',
  examples: [
    'haft tools config',
    'haft tools config memory',
    `haft tools config hub '{"url":"https://mcp.example.org/v2"}'`,
  ],
  args: {
    pack: optionalWord('its name; without it all packs are listed'),
    config: { type: 'object', positional: true, description: 'all that it needs' },
  },
  result: document(
    {},
    { packs: listOf('By name.'), configured: TEXT, tools: TEXTS, quarantined: TEXTS, problems: TEXTS },
  ),
  who: 'person',
  changes: true,
  async run({ pack, config }, { packs }) {
    if (pack === undefined) return { packs: await packs.list() };
    if (config === undefined) return { pack: await packs.show(pack) };
    return { configured: pack, reached: await packs.configure(pack, config) };
  },
  json(value) {
    if ('packs' in value) return value;
    if ('pack' in value) return value.pack;
    const { tools, quarantined, problems = [] } = value.reached;
    return { configured: value.configured, tools, quarantined, ...problemsOf(problems) };
  },
  text(value, { out, err, table }) {
    if ('pack' in value) return out(`${JSON.stringify(value.pack.config, null, 2)}\n`);
    if ('packs' in value) {
      if (value.packs.length === 0) return out('No packs are installed.\n');
      const rows = value.packs.map((one) => [one.name, one.kind, one.from, one.enabled ? '' : 'disabled']);
      return table(rows, ['PACK', 'KIND', 'FROM', 'STATE']);
    }
    const { tools, quarantined, problems = [] } = value.reached;
    for (const problem of problems) err(`haft: ${problem}\n`);
    out(`configured ${value.configured}: ${tools.length} tools\n`);
    for (const id of quarantined) err(`haft: ${id} is not what was accepted; see haft tools lock\n`);
  },
});

interface Looked {
  readonly found: readonly (readonly [name: string, report: HealthReport])[];
  readonly unnamed: string;
}

const isSick = ({ found }: Looked): boolean => found.some(([, { status }]) => status === 'unhealthy');

export const toolsHealth = defineOperation<{ readonly names?: readonly string[] }, Looked>({
  id: 'tools.health',
  summary: 'Check that the packs can be reached',
  usage: '[PACK | TOOL]...',
  description: 'Starts or reaches each of them. Exits with 70 when one is unhealthy.',
  examples: ['haft tools health', 'haft tools health hub --json'],
  args: { names: words(64, 'packs and tools; all by default') },
  result: document({ ok: YES, health: listOf('By name: how each is.') }),
  who: 'person',
  async run({ names = [] }, { packs, unnamedPacks }) {
    return { found: await packs.health(names), unnamed: await unnamedPacks() };
  },
  json: (looked) => ({
    ok: !isSick(looked),
    health: looked.found.map(([name, report]) => ({ name, ...toWire(report) })),
  }),
  text({ found, unnamed }, { out, err, table }) {
    const rows = found.map(([name, { status, message = '' }]) => [name, status, message]);
    if (rows.length === 0) out('No packs are installed.\n');
    else table(rows, ['PACK OR TOOL', 'HEALTH', '']);
    err(unnamed);
  },
  exit: (looked) => (isSick(looked) ? ERRORS['tool.unhealthy'].exit : 0),
});

export const toolsLogs = defineOperation<
  { readonly pack: string; readonly lines: number },
  { readonly pack: string; readonly lines: readonly string[] }
>({
  id: 'tools.logs',
  summary: 'Show what a server wrote to its standard error',
  usage: 'PACK [--lines N]',
  description:
    'The last lines, without secrets, of all hosts of this workspace: when each was kept, and when the server was started and ended (--). ' +
    'About 256 KiB are kept for each server, in .haft/logs.',
  examples: ['haft tools logs hub', 'haft tools logs hub --lines 20 --json'],
  args: { pack: PACK, lines: count(100, 'the most to show (default: 100)') },
  result: document({ pack: TEXT, lines: TEXTS }),
  who: 'person',
  async run({ pack, lines }, { packs }) {
    const { name } = await packs.show(pack);
    return { pack: name, lines: await packs.log(name, lines) };
  },
  text({ pack, lines }, { out, err }) {
    if (lines.length === 0) err(`${pack} has written nothing yet.\n`);
    else out(`${lines.join('\n')}\n`);
  },
});

type Locked = LockReport & { readonly frozen: boolean };

export const toolsLock = defineOperation<{ readonly accept?: boolean; readonly digest?: string }, Locked>({
  id: 'tools.lock',
  summary: 'Pin the tools of packs in haft.lock, or show how they differ from it',
  usage: '[--accept]',
  description:
    'Asks every server for its tools anew. Tools of packs that are not in haft.lock yet are added to it; what differs from it is shown, ' +
    'and is not callable until it is accepted. With --frozen nothing is written, and any difference fails. ' +
    'What tools run and cannot be pinned (a program of the machine, a service) is listed each time.',
  examples: ['haft tools lock', 'haft tools lock --accept', 'haft tools lock --frozen'],
  args: {
    accept: flag('take over what differs, after showing it'),
    digest: text(
      'HEX',
      'with --accept: only where what would be written still has the digest that was shown',
    ),
  },
  result: document({
    ok: YES,
    written: YES,
    drifts: listOf('Field by field, what differs.'),
    digest: TEXT,
    unpinned: listOf('What no digest covers.'),
  }),
  who: 'person',
  changes: true,
  async run({ accept, digest }, { packs, frozen, progress }) {
    if (frozen && accept) throw fail('usage', 'Cannot use --accept while frozen: nothing may be written');
    const step = frozen ? 'frozen' : accept ? 'accept' : 'add';
    progress({ message: 'asking the servers of packs for their tools' });
    return { ...(await packs.lock(step, digest)), frozen };
  },
  json: ({ ok, written, drifts, digest, unpinned }) => ({ ok, written, drifts, digest, unpinned }),
  text({ lines, packs, tools, ok, written, unpinned, frozen }, { out, err }) {
    for (const line of lines) out(`${line}\n`);
    for (const { pack, what, why } of unpinned) out(`! not pinned: ${what} of pack ${pack}: ${why}\n`);
    const count = `${tools} tools of ${packs} packs`;
    const same =
      unpinned.length === 0
        ? `haft.lock is as it should be: ${count}\n`
        : `haft.lock holds these ${count}; what is not pinned may change unseen\n`;
    if (ok) out(written ? `Wrote haft.lock: ${count}\n` : same);
    else if (frozen) err('haft: the tools differ from haft.lock\n');
    else err('haft: look at what changed; haft tools lock --accept takes it over\n');
  },
  exit: ({ ok, frozen }) => (ok ? 0 : ERRORS[frozen ? 'lockfile.drift' : 'tool.changed'].exit),
});
