// Owns: `haft mcp install`: one client's configuration for this workspace: shown, written, taken out, tried.
// Refuses: to touch a server of another, or one that somebody changed, unless --force says so. Clients are in ../mcp-clients/.
import { existsSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { closest } from '../../../base/closest.ts';
import { isRecord } from '../../../base/is-record.ts';
import { createRedactor } from '../../../base/redact/create-redactor.ts';
import { makeUnifiedDiff } from '../../../base/unified-diff/make-diff.ts';
import { fail } from '../../../contract/errors.ts';
import type { Json } from '../../../contract/json.ts';
import { leadsWithin } from '../../../loader/is-within.ts';
import type { Command, Io } from '../command.ts';
import { MCP_CLIENTS, type McpClient, SCOPES, type Scope, type ServerEntry } from '../mcp-clients/clients.ts';
import { type ConfigFile, readConfig, replaceConfig, shownPath } from '../mcp-clients/config-file.ts';
import { type ConfigFormat, isDoubt } from '../mcp-clients/config-format.ts';
import { askClient, type ClientAnswer, type ServerAnswer, tryServer } from '../mcp-clients/connects.ts';
import { jsonConfig } from '../mcp-clients/json-config.ts';
import { ownCommand, workspaceOf } from '../mcp-clients/own-command.ts';
import { tomlConfig } from '../mcp-clients/toml-config.ts';

const CLIENTS = Object.keys(MCP_CLIENTS);

export const command: Command = {
  summary: 'Add Haft to the configuration of an MCP client',
  usage: `${CLIENTS.join('|')} [--scope project|user] [--uninstall] [--dry-run | --print] [--force]`,
  description:
    'Writes how to start "haft mcp" for this workspace, with absolute paths, and keeps everything else in the file. Then starts the server once, and asks the client, ' +
    'where it is installed, whether it connects. The scope "project" (default) is a file in the workspace; since it holds paths of this machine, do not commit it. ' +
    'The scope "user" is the file of the user, for all folders.',
  options: {
    scope: { type: 'string', value: 'SCOPE', help: 'project (default) or user' },
    name: { type: 'string', value: 'NAME', help: 'the name of the server in the client (default: haft)' },
    uninstall: { type: 'boolean', help: 'remove what install added' },
    'dry-run': { type: 'boolean', help: 'show the change and write nothing' },
    print: { type: 'boolean', help: 'print the configuration to paste by hand and write nothing' },
    force: { type: 'boolean', help: 'replace or remove a server of that name that is not from here' },
    'no-check': {
      type: 'boolean',
      help: 'do not start the server and the client to see whether they connect',
    },
  },
  examples: [
    'haft mcp install claude',
    'haft mcp install codex --scope user',
    'haft mcp install vscode --dry-run',
    'haft mcp install opencode --uninstall',
  ],
  positionals: [1, 1],
  choices: CLIENTS,
  async run({ positionals, flags, workspace, io, json }) {
    const id = positionals[0]!;
    const client = Object.hasOwn(MCP_CLIENTS, id) ? MCP_CLIENTS[id]! : undefined;
    if (!client) {
      const near = closest(id, CLIENTS);
      const instead = near ? `did you mean ${near}?` : `take one of ${CLIENTS.join(', ')}`;
      throw fail('usage', `Cannot install for "${id.slice(0, 80)}": ${instead}`);
    }
    const job = { client, workspace, scope: scopeOf(flags.scope), name: nameOf(flags.name) };
    const start = ownCommand(workspace);
    checkExpansion(client, start);
    const entry = client.entry(start);
    const format = client.format === 'toml' ? tomlConfig : jsonConfig(client.format === 'json');
    if (flags.print) {
      const text = format.put('', client.under, job.name, entry);
      io.out(json ? `${JSON.stringify({ client: id, text, entry })}\n` : text);
      return 0;
    }
    const file = chooseFile(job, format);
    const plan = await makePlan(job, file, format, entry, {
      uninstall: flags.uninstall === true,
      force: flags.force === true,
    });
    const shouldWrite = plan.action !== 'unchanged' && !flags['dry-run'];
    if (!json && plan.diff !== '') io.out(`${plan.diff}\n`);
    if (shouldWrite) replaceConfig(file, plan.text);
    if (!json) tellPlan(io, job, plan, shouldWrite);
    const shouldCheck = !flags['dry-run'] && !flags['no-check'] && !flags.uninstall;
    const server = shouldCheck ? await tryServer(start, workspace) : undefined;
    const says = server?.ok ? await askClient(client.lists, job.name, start, workspace) : undefined;
    const notes = flags.uninstall ? [] : notesOn(plan, start, workspace);
    if (json) {
      const { action, diff } = plan;
      const { scope, name } = job;
      io.out(
        `${JSON.stringify({
          ok: server?.ok !== false && says?.state !== 'failed',
          ...{ client: id, scope, name, file: file.path, action, written: shouldWrite, diff, entry },
          ...{ server: server ?? null, client_says: says ?? null, notes },
        })}\n`,
      );
    } else {
      if (server) tellCheck(io, job, server, says);
      for (const note of notes) io.out(`Note: ${note}\n`);
    }
    return server?.ok === false || says?.state === 'failed' ? 1 : 0;
  },
};

interface Job {
  readonly client: McpClient;
  readonly workspace: string;
  readonly scope: Scope;
  readonly name: string;
}

/** What is not wrong, and what its user would want to know. */
function notesOn({ kept }: Plan, start: readonly string[], workspace: string): string[] {
  return [
    ...(kept.length > 0
      ? [
          `the entry also has ${kept.join(', ')}, which stay; look whether they are yours, since they can change what is started.`,
        ]
      : []),
    ...(start[1]?.includes(`${sep}_npx${sep}`)
      ? [
          'Haft was started by npx, from a cache that npm clears; after "npm install --global haft" run this again.',
        ]
      : []),
    ...(start.slice(0, 2).some((path) => leadsWithin(path, workspace))
      ? [
          'Haft or its Node lies in this workspace, where tools may be allowed to change it; a global install is safer.',
        ]
      : []),
    ...(existsSync(join(workspace, 'haft.yaml'))
      ? []
      : ['there is no haft.yaml here, so the defaults hold (no shell, no network); "haft init" writes one.']),
  ];
}

function scopeOf(given: unknown): Scope {
  const scope = SCOPES.find((one) => one === (given ?? SCOPES[0]));
  if (!scope) throw fail('usage', `There is no scope "${given}": take one of ${SCOPES.join(', ')}`);
  return scope;
}

function nameOf(given: unknown = 'haft'): string {
  if (typeof given === 'string' && /^[A-Za-z0-9_-]{1,32}$/.test(given) && given !== '__proto__') return given;
  throw fail('usage', `Cannot name the server "${given}": take 1 to 32 letters, digits, "_" and "-"`);
}

function checkExpansion({ title, expands }: McpClient, start: readonly string[]): void {
  const odd = expands && start.find((word) => expands.test(word));
  if (odd !== undefined)
    throw fail(
      'usage',
      `Cannot configure ${title}: it would replace a part of the path ${odd} by something else`,
    );
}

/** The one that has the server already, else the one that is there. */
function chooseFile({ client, workspace, scope, name }: Job, format: ConfigFormat): ConfigFile {
  const inside = scope === 'project' ? workspace : undefined;
  const files = client.files[scope](workspace).map((path) => readConfig(resolve(path), inside));
  const holds = (file: ConfigFile) =>
    edit(client, file, () => format.find(file.text ?? '', client.under, name)) !== undefined;
  return files.find(holds) ?? files.find(({ text }) => text !== undefined) ?? files[0]!;
}

/** Where a text is not certain nothing is written, and its place is named. */
function edit<T>({ title }: McpClient, { path }: ConfigFile, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (!isDoubt(thrown)) throw thrown;
    throw fail(
      'usage',
      `Cannot edit ${shownPath(path)}:${thrown.line}, which ${title} reads: ${thrown.message}. Nothing was written.`,
    );
  }
}

interface Plan {
  readonly action: 'added' | 'updated' | 'removed' | 'unchanged';
  readonly text: string | undefined;
  readonly file: ConfigFile;
  readonly diff: string;
  /** Keys of the entry that are not from here. */
  readonly kept: readonly string[];
}

async function makePlan(
  job: Job,
  file: ConfigFile,
  format: ConfigFormat,
  entry: ServerEntry,
  { uninstall, force }: { readonly uninstall: boolean; readonly force: boolean },
): Promise<Plan> {
  const { client, name } = job;
  const before = file.text ?? '';
  const there = edit(client, file, () => format.find(before, client.under, name));
  const isOurs = there === undefined || workspaceOf(there) === job.workspace;
  if (!isOurs && !force) throw notOurs(job, file, there, uninstall);
  const text = edit(client, file, () => {
    if (uninstall) {
      const [changed] = isOurs ? addedKeys(there, entry) : [];
      if (changed !== undefined && !force) throw changedSince(job, file, changed);
      return format.remove(before, client.under, name);
    }
    const cleared = isOurs ? before : (format.remove(before, client.under, name) ?? '');
    return format.put(cleared, client.under, name, entry);
  });
  // What was found must come back from what is written, or the editor is wrong: then nothing is written.
  const now = text === undefined ? undefined : format.find(text, client.under, name);
  if (uninstall ? now !== undefined : workspaceOf(now) !== job.workspace)
    throw fail('internal.unexpected', `Cannot edit ${shownPath(file.path)}: the change does not read back`);
  const label = job.scope === 'project' ? relative(job.workspace, file.path) : shownPath(file.path);
  const redacted = createRedactor({ guess: 'settings' });
  const diff = await makeUnifiedDiff(
    file.text === undefined ? null : label,
    text === undefined ? null : label,
    before,
    text ?? '',
  );
  const isSame = text === file.text || (uninstall && there === undefined);
  const action = isSame ? 'unchanged' : uninstall ? 'removed' : there === undefined ? 'added' : 'updated';
  return { action, text, file, diff: isSame ? '' : redacted.text(diff), kept: addedKeys(now, entry) };
}

const addedKeys = (there: Json | undefined, entry: ServerEntry): string[] =>
  isRecord(there) ? Object.keys(there).filter((key) => !Object.hasOwn(entry, key)) : [];

function notOurs({ client, name, workspace }: Job, { path }: ConfigFile, there: Json, uninstall: boolean) {
  const other = workspaceOf(there);
  const whose =
    other === undefined ? 'it is not from haft mcp install' : `it is Haft for ${other}, not for ${workspace}`;
  const instead = uninstall ? '' : ', or take another name with --name';
  return fail(
    'path.exists',
    `Cannot ${uninstall ? 'remove' : 'write'} the server "${name}" of ${client.title} in ${shownPath(path)}: ${whose}. Use --force to ${uninstall ? 'remove' : 'replace'} it${instead}.`,
  );
}

const changedSince = ({ client, name }: Job, { path }: ConfigFile, key: string) =>
  fail(
    'path.exists',
    `Cannot remove the server "${name}" of ${client.title} in ${shownPath(path)}: somebody added "${key}" to it. Use --force to remove all of it.`,
  );

function tellPlan(io: Io, { client, name, scope }: Job, { action, file }: Plan, isWritten: boolean): void {
  const place = shownPath(file.path);
  if (action === 'unchanged') {
    io.out(`Nothing to change in ${place}${file.text === undefined ? ': it does not exist' : ''}.\n`);
    return;
  }
  if (!isWritten) io.out(`Nothing was written to ${place}.\n`);
  else if (action === 'removed') io.out(`Removed "${name}" from ${place} (${client.title}).\n`);
  else io.out(`Wrote ${place}: ${client.title} has the server "${name}" (scope ${scope}).\n`);
}

function tellCheck(
  io: Io,
  { client, scope }: Job,
  server: ServerAnswer,
  says: ClientAnswer | undefined,
): void {
  const next = client.next[scope];
  if (!server.ok) {
    io.err(
      `haft: The server does not start: ${server.says}\nThe configuration was written; --uninstall removes it.\n`,
    );
    return;
  }
  const tools = `${server.tools} tool${server.tools === 1 ? '' : 's'}`;
  if (server.tools > 0) io.out(`The server starts and lists ${tools}.\n`);
  else io.out(`The server starts and lists no tools. It says:\n${server.says}\n`);
  const lines: Readonly<Record<ClientAnswer['state'], string>> = {
    connected: `${client.title} connects to it (${says?.asked}).`,
    waits: `${client.title} knows it and does not use it yet: ${next}.`,
    listed: `${client.title} lists it (${says?.asked}).`,
    unlisted: `${client.title} does not list it yet: ${next}.`,
    failed: `${client.title} could not connect (${says?.asked}): ${says?.says}`,
    silent: `${says?.asked} did not answer. Next: ${next}.`,
  };
  if (says) io.out(`${lines[says.state]}\n`);
  else
    io.out(
      `${client.title} was not asked${client.lists ? ', since it is not on the PATH' : ''}. Next: ${next}.\n`,
    );
}
