// Owns: a pack that is a folder of `*.tool.yaml`: loaded whole, its config held to what its tools take, its secrets at hand.
// Refuses: a folder with a mistake in it, and a config that no tool of it knows.
import { join } from 'node:path';
import { bindYamlTool, yamlUse } from '../../adapters/yaml-filling.ts';
import { digest } from '../../base/digest.ts';
import type { Adapter } from '../../contract/adapter.ts';
import { type Credentials, userOf } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import type { OpenPack, Runtime } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import type { CodeCopies } from '../../loader/code/code-copies.ts';
import { lockedFiles } from '../../loader/code/locked-files.ts';
import type { Tree } from '../../loader/code/read-tree.ts';
import { unpinnedTools } from '../../loader/code/unpinned-tools.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import type { OpenEntry } from './open-packs.ts';
import type { PackEntry } from './pack-entries.ts';

export interface FolderSite {
  /** haft.yaml lies here. */
  readonly root: string;
  readonly adapter: Adapter;
  /** Of the folders that programs of packs lie in. */
  readonly code: CodeCopies;
  readonly schemas: SchemaCompiler;
  /** Where checked packs are kept, two levels below the state folder. */
  readonly cacheFolder: string;
  readonly credentials: Credentials;
  readonly sessions: Runtime['sessions'];
  readonly onWarning: (message: string) => void;
}

export function folderOpener(site: FolderSite): OpenEntry {
  return async (entry) => {
    const { name, path = '.' } = entry;
    const loader = new ToolpackLoader({ cacheFolder: site.cacheFolder });
    const { diagnostics, folder, beside } = await loader.loadDir(join(site.root, path), {
      label: path,
      root: site.root,
    });
    for (const { file, line, message } of diagnostics) site.onWarning(`${file}:${line}: ${message}`);
    const definitions = loader.list();
    if (definitions.length === 0) site.onWarning(`The pack "${path}" has no *.tool.yaml`);
    const filled = await fillConfig(entry, definitions, site.schemas);
    const tools = definitions.flatMap(bindYamlTool);
    const code = tools.some(isProgram) ? site.code.take({ at: folder }, path) : undefined;
    const installation: Installation = {
      name,
      origin: path,
      // Of the code as well: a program that is kept between calls is not that of another state of the folder.
      digest: digest('toolpack/v1', Buffer.concat([loader.snapshot(), Buffer.from(code?.digest ?? '')])),
      config: filled,
      enabled: true,
      health: { status: 'unverified', checkedTs: null },
    };
    const pinned = code ? tools.map((tool) => (isProgram(tool) ? withCode(tool, code) : tool)) : tools;
    const files = code ? { files: lockedFiles(code) } : {};
    const unpinned = unpinnedTools(definitions, code?.outward ?? []);
    return [
      {
        installation,
        adapter: site.adapter,
        tools: pinned,
        ...files,
        beside,
        unpinned,
        secrets: secretsOf(site),
      },
    ];
  };
}

const isProgram = ({ binding }: BoundTool): boolean => binding.adapter === 'process';

const withCode = (tool: BoundTool, { digest: code }: Tree): BoundTool => ({
  ...tool,
  pins: { ...tool.pins, code },
});

/** A call gets the secrets of whoever its session was opened for. */
function secretsOf({ credentials, sessions }: FolderSite): NonNullable<OpenPack['secrets']> {
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
