// Owns: packs that are folders of `*.tool.yaml`: loaded whole, config held to what the tools take, secrets at hand.
// Refuses: a folder with a mistake in it, and a config that no tool of it knows.
import { join, resolve } from 'node:path';
import { combineAdapters } from '../../../adapters/combined.ts';
import { createHttpAdapter } from '../../../adapters/http/http.ts';
import { createProcessAdapter } from '../../../adapters/process/process.ts';
import { bindYamlTool, yamlUse } from '../../../adapters/yaml-filling.ts';
import { digest } from '../../../base/digest.ts';
import type { Adapter } from '../../../contract/adapter.ts';
import { type Credentials, userOf } from '../../../contract/credentials.ts';
import { fail } from '../../../contract/errors.ts';
import type { JsonObject, SchemaCompiler } from '../../../contract/json.ts';
import type { Unpinned } from '../../../contract/lock.ts';
import type { BoundTool, Installation } from '../../../contract/manifest.ts';
import type { OpenPack, Runtime } from '../../../contract/runtime.ts';
import type { YamlExecution, YamlTool } from '../../../contract/yaml-tool.ts';
import { lockedFiles } from '../../../loader/code/locked-files.ts';
import type { Tree } from '../../../loader/code/read-tree.ts';
import { packPlace } from '../../../loader/find-pack-folder.ts';
import { ToolpackLoader } from '../../../loader/tool-yaml/toolpack-loader.ts';
import type { OpenEntry, PackEntry, PackParts, PackSource } from '../pack-source.ts';

export const toolYamlFolder: PackSource = {
  key: 'path',
  folder: true,
  open: (parts) => {
    const { code, readInputs, runtime } = parts;
    const { handlesFor } = runtime.installations;
    const adapter = combineAdapters('yaml', [
      createProcessAdapter({ handlesFor, copyOf: (at, is) => code.use({ at }, is), readInputs }),
      createHttpAdapter({ handlesFor }),
    ]);
    return (entry) => openFolder(entry, parts, adapter);
  },
  /** Errors alone: the rest keeps nothing from starting. */
  async check({ path = '.' }, { root, tell }) {
    const { diagnostics } = await new ToolpackLoader({ quarantine: true }).loadDir(join(root, path), {
      root,
    });
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    for (const { file, code, message } of errors)
      if (file === '') tell('', code, `Cannot take the pack "${path}": ${lower(message)}`);
    return errors.flatMap((one) => (one.file === '' ? [] : [{ ...one, file: join(path, one.file) }]));
  },
  async needs({ path = '.' }, root) {
    const loader = new ToolpackLoader({ quarantine: true, cacheFolder: cacheFolder(root) });
    await loader.loadDir(join(root, path), { root });
    return loader.list().flatMap(({ id, credentials }) => credentials.map((need) => ({ ...need, by: id })));
  },
  async hasTool({ path = '.' }, ids, { root, nameOf }) {
    const loader = new ToolpackLoader({ quarantine: true });
    await loader.loadDir(join(root, path), { root }).catch(() => {});
    return loader.ids().some((id) => ids.includes(id) || ids.includes(nameOf(id)));
  },
  async describe({ path = '.' }, root, quoted) {
    const loader = new ToolpackLoader({ quarantine: true });
    const isUnread = await loader.loadDir(resolve(root, path), { label: path, root }).then(
      ({ diagnostics }) => diagnostics.some(({ severity }) => severity === 'error'),
      () => true,
    );
    const tools = loader.list().map(({ id, execution }) => {
      const { kind } = execution;
      if (kind === 'http') return `the tool ${quoted(id)}: connects to ${quoted(execution.url)}`;
      if (kind === 'cli') return `the tool ${quoted(id)}: runs ${execution.cmd.map(quoted).join(' ')}`;
      const { entry } = execution;
      return `the tool ${quoted(id)}: runs ${kind} ${quoted(entry.by === 'script' ? entry.path : entry.module)}`;
    });
    return isUnread ? [...tools, `more in ${quoted(path)} that has mistakes and cannot be read`] : tools;
  },
};

const cacheFolder = (root: string): string => `${root}/.haft/cache/packs`;

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

async function openFolder(
  entry: PackEntry,
  { root, schemas, code: copies, onWarning, credentials, runtime }: PackParts,
  adapter: Adapter,
): ReturnType<OpenEntry> {
  const { name, path = '.' } = entry;
  packPlace(root, path);
  const loader = new ToolpackLoader({ cacheFolder: cacheFolder(root) });
  const { diagnostics, folder, beside } = await loader.loadDir(join(root, path), { label: path, root });
  for (const { file, line, message } of diagnostics) onWarning(`${file}:${line}: ${message}`);
  const definitions = loader.list();
  if (definitions.length === 0) onWarning(`The pack "${path}" has no *.tool.yaml`);
  const config = await fillConfig(entry, definitions, schemas);
  const tools = definitions.flatMap(bindYamlTool);
  const code = tools.some(isProgram) ? copies.take({ at: folder }, path) : undefined;
  const installation: Installation = {
    name,
    origin: path,
    // Of the code as well: a program that is kept between calls is not that of another state of the folder.
    digest: digest('toolpack/v1', Buffer.concat([loader.snapshot(), Buffer.from(code?.digest ?? '')])),
    config,
    enabled: true,
    health: { status: 'unverified', checkedTs: null },
  };
  return [
    {
      installation,
      adapter,
      tools: code ? tools.map((tool) => (isProgram(tool) ? withCode(tool, code) : tool)) : tools,
      ...(code ? { files: lockedFiles(code) } : {}),
      beside,
      unpinned: unpinnedTools(definitions, code?.outward ?? []),
      secrets: secretsOf(credentials, runtime.sessions),
    },
  ];
}

const isProgram = ({ binding }: BoundTool): boolean => binding.adapter === 'process';

const withCode = (tool: BoundTool, { digest: code }: Tree): BoundTool => ({
  ...tool,
  pins: { ...tool.pins, code },
});

/** A call gets the secrets of whoever its session was opened for. */
function secretsOf(
  credentials: Credentials,
  sessions: Runtime['sessions'],
): NonNullable<OpenPack['secrets']> {
  return async (tool, sessionId) => {
    const needs = yamlUse(tool).tool.credentials;
    if (needs.length === 0) return undefined;
    const session = await sessions.get(sessionId);
    return credentials.resolve(needs, userOf(session?.attribution ?? null));
  };
}

/** The config with the defaults of its tools. What one of them does not know is none of its business. */
async function fillConfig(
  { name, config }: PackEntry,
  tools: readonly YamlTool[],
  schemas: SchemaCompiler,
): Promise<JsonObject> {
  const configurable = tools.filter((tool) => tool.config !== undefined);
  if (configurable.length === 0 && Object.keys(config).length > 0)
    throw fail('pack.invalid', `Cannot take the pack "${name}": none of its tools takes a config`);
  const all = await Promise.all(configurable.map((tool) => fillFor(name, tool, config, schemas)));
  return Object.assign({}, ...all.toReversed());
}

async function fillFor(
  pack: string,
  tool: YamlTool,
  config: JsonObject,
  schemas: SchemaCompiler,
): Promise<JsonObject> {
  const check = await schemas.compile(tool.config!);
  const filled = structuredClone(config);
  const problems = await check(filled);
  if (problems.length === 0) return filled;
  const list = problems.map(({ path, message }) => `config${path} ${message}`).join('; ');
  throw fail('pack.invalid', `Cannot take the pack "${pack}": for ${tool.id} ${list}`);
}

const MACHINE = 'a program of this machine';

/** What the tools run that no digest covers: programs of the machine, services, what links lead to; each once. */
function unpinnedTools(tools: readonly YamlTool[], outward: readonly string[]): readonly Unpinned[] {
  const found = new Map<string, string>();
  for (const { execution, actions, caps } of tools) {
    for (const one of [execution, ...actions.map((action) => action.execution)]) {
      const [what, why] = runBy(one);
      if (what !== undefined) found.set(what, why);
    }
    if (caps.subprocess)
      found.set('programs that it starts', 'caps.subprocess lets it start those of this machine');
  }
  for (const path of outward) found.set(path, 'a link that leads out of its folder');
  return [...found].map(([what, why]) => ({ what, why })).sort((a, b) => (a.what < b.what ? -1 : 1));
}

/** `node` is the one that runs Haft. */
function runBy(execution: YamlExecution): readonly [what: string | undefined, why: string] {
  switch (execution.kind) {
    case 'python':
      return ['python3', MACHINE];
    case 'php':
      return ['php', MACHINE];
    case 'cli':
      return [execution.script === undefined ? execution.cmd[0] : undefined, MACHINE];
    case 'http':
      return [execution.url.split('?')[0], 'a service that runs elsewhere'];
    default:
      return [undefined, ''];
  }
}
