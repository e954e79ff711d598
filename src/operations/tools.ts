// Owns: the operations that say which tools there are: all of them, one, those that do something.
// Refuses: to hide a disabled tool: it is listed with the line that would grant it. Packs are in packs.ts.
import { defineOperation } from '../contract/operation.ts';
import type { FoundTool } from '../contract/operation-handles.ts';
import type { OpenPack, PackState, ToolListing } from '../contract/runtime.ts';
import { listingToWire, toolStateToWire, toWire } from '../contract/spelling.ts';
import { describeAdmit, table } from '../contract/terminal-text.ts';
import { count, document, list as listOf, TEXT, word, YES } from './schemas.ts';

interface Listed {
  readonly tools: readonly ToolListing[];
  readonly packs: readonly PackState[];
  readonly unnamed: string;
}

export const toolsList = defineOperation<object, Listed>({
  id: 'tools.list',
  summary: 'List the installed tools',
  examples: ['haft tools list', 'haft tools list --json'],
  args: {},
  result: document({
    tools: listOf('By id: what each is, and whether it can be called.'),
    packs: listOf('By name: how each is.'),
  }),
  who: 'anyone',
  async run(_, { runtime, unnamedPacks }) {
    const host = await runtime();
    await host.installations.settle();
    return { tools: host.tools(), packs: host.packs(), unnamed: await unnamedPacks() };
  },
  json: ({ tools, packs }) => ({
    tools: tools.map((one) => {
      const { id, version, title, mutates } = one.contract;
      return { id, version, title, mutates, ...toolStateToWire(one) };
    }),
    packs: packs.map(toWire),
  }),
  text({ tools, packs, unnamed }, { note, table: show }) {
    const rows = tools.map((one) => [one.contract.id, stateOf(one), one.contract.title]);
    const missing = packs
      .filter(isMissing)
      .map(({ name, message = '' }) => [`${name}.*`, 'not there', message]);
    show([...rows, ...missing], ['TOOL', 'STATE', 'WHAT IT DOES']);
    note(whyDisabled(tools));
    note(whyDown(packs));
    note(unnamed);
  },
});

export const toolsSearch = defineOperation<
  { readonly words: readonly string[]; readonly limit: number },
  { readonly tools: readonly FoundTool[]; readonly count: number }
>({
  id: 'tools.search',
  summary: 'Find tools by what they do',
  usage: 'WORDS...',
  description: 'Looks at names, descriptions, tags and fields; beginnings of words and small slips are fine.',
  examples: ['haft tools search read a file', 'haft tools search "http request" --limit 3 --json'],
  args: {
    words: { type: 'array', required: true, positional: true, maxItems: 32, description: 'what it does' },
    limit: count(10, 'the most to show (default: 10)'),
  },
  result: document({
    tools: listOf(
      'The best first.',
      document({ id: TEXT, title: TEXT, origin: TEXT, enabled: YES, score: { type: 'number' } }),
    ),
  }),
  who: 'anyone',
  async run({ words, limit }, { runtime, searchTools }) {
    const tools = await searchTools(words.join(' '), limit);
    return { tools, count: (await runtime()).tools().length };
  },
  json: ({ tools }) => ({ tools }),
  text({ tools, count }, { out, table: show }) {
    if (tools.length === 0) return out(`No tool matches; there are ${count}. Try other words.\n`);
    const rows = tools.map(({ id, title, enabled }) => [id, enabled ? '' : 'disabled', title]);
    show(rows, ['TOOL', 'STATE', 'WHAT IT DOES']);
  },
});

interface Shown {
  readonly found: ToolListing;
  readonly pack: OpenPack | undefined;
}

export const toolsShow = defineOperation<{ readonly tool: string }, Shown>({
  id: 'tools.show',
  summary: 'Show one tool: arguments, answer, limits, examples',
  examples: ['haft tools show file_read', 'haft tools show file_patch --json'],
  args: { tool: word('its id') },
  result: document(
    { id: TEXT, input_schema: {}, output_schema: {}, enabled: YES },
    { not_pinned: listOf('What no digest covers.') },
  ),
  who: 'anyone',
  async run({ tool: id }, { runtime, findTool }) {
    const found = await findTool(id);
    const { installations } = await runtime();
    const isIt = ({ contract }: { readonly contract: { readonly id: string } }) =>
      contract.id === found.contract.id;
    return { found, pack: installations.all().find(({ tools }) => tools.some(isIt)) };
  },
  json: ({ found, pack }) => ({
    ...listingToWire(found),
    ...(pack?.unpinned ? { not_pinned: pack.unpinned } : {}),
  }),
  text({ found, pack }, { out, err, args }) {
    const { contract, origin, enabled, health } = found;
    const facts = [
      contract.mutates ? 'writes' : 'reads only',
      contract.idempotent ? 'idempotent' : 'not idempotent',
    ];
    if (contract.deterministic) facts.push('deterministic');
    out(
      `${contract.id} ${contract.version} (${origin}${enabled ? '' : ', disabled'}): ${contract.title}\n\n${contract.description}\n\n`,
    );
    out(
      `${facts.join(', ')}; at most ${contract.limits.timeoutMs} ms\n\narguments:\n${fields(contract.input)}\nanswer:\n${fields(contract.output)}`,
    );
    for (const { title, args: example } of contract.examples ?? [])
      out(`\n${title}:\n  haft call ${args.tool} '${JSON.stringify(example)}'\n`);
    if (health) out(`\nhealth: ${`${health.status} ${health.message ?? ''}`.trimEnd()}\n`);
    const code = pack?.tools.find((tool) => tool.contract.id === contract.id)?.pins?.code;
    if (code !== undefined) out(`\ncode: ${code}\n`);
    for (const { what, why } of pack?.unpinned ?? []) out(`not pinned: ${what} (${why})\n`);
    err(whyDisabled([found]));
  },
});

/** Nothing of it can be listed. */
const isMissing = ({ status, tools }: PackState): boolean => tools === 0 && status === 'unhealthy';

function stateOf({ contract, enabled, quarantined, health }: ToolListing): string {
  if (quarantined) return 'quarantined';
  if (!enabled) return 'disabled';
  if (health?.status === 'unhealthy') return 'unhealthy';
  return contract.mutates ? 'writes' : 'reads';
}

interface ObjectSchema {
  readonly properties?: Readonly<
    Record<string, { type?: unknown; description?: string; default?: unknown; enum?: unknown[] }>
  >;
  readonly required?: readonly string[];
}

function fields(schema: unknown): string {
  const { properties = {}, required = [] } = schema as ObjectSchema;
  const rows = Object.entries(properties).map(
    ([name, { type, description = '', default: usual, enum: among }]) => {
      const kind = among
        ? among.map((one) => JSON.stringify(one)).join(' | ')
        : Array.isArray(type)
          ? type.join(' | ')
          : String(type ?? 'any');
      const note = required.includes(name)
        ? 'required'
        : usual === undefined
          ? ''
          : `default ${JSON.stringify(usual)}`;
      return [`  ${name}`, kind, note, description];
    },
  );
  return table(rows);
}

/** Text for standard error; none for tools that can be used. What several need alike is said once. */
function whyDisabled(listings: readonly ToolListing[]): string {
  const lines: string[] = [];
  const byAdmit = Map.groupBy(
    listings.filter(({ enabled, admit }) => !enabled && admit !== undefined),
    ({ admit }) => admit as string,
  );
  for (const { contract, enabled, admit, denied, quarantined, lacks } of listings) {
    if (enabled) continue;
    if (quarantined) lines.push(quarantined);
    const alike = byAdmit.get(admit ?? '')?.map((one) => one.contract.id) ?? [];
    if (admit && alike[0] === contract.id)
      lines.push(`${alike.join(', ')} ${alike.length > 1 ? 'are' : 'is'} disabled`, describeAdmit(admit));
    if (denied) lines.push(`${contract.id} is disabled: ${denied}`);
    if (lacks) {
      lines.push(`${contract.id} is disabled: it needs a credential that nobody has set`);
      lines.push(...lacks.map((line) => `  ${line}`));
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** The same for packs: those that are not there, and what is wrong with what they say. */
function whyDown(packs: readonly PackState[]): string {
  return packs
    .flatMap(({ name, status, message = '', problems = [] }) => [
      ...(status === 'unhealthy'
        ? [`${name} is unhealthy: ${message} ("haft tools logs ${name}" says more)`]
        : []),
      ...problems,
    ])
    .map((line) => `${line}\n`)
    .join('');
}
