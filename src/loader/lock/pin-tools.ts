// Owns: what is pinned of a tool: every word that callers are told, how it is reached, and the bytes that it runs.
// Refuses: whatever differs between two machines that hold the same pack.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { LockedPack, LockedTool, LockFile } from '../../contract/lock.ts';
import type { Binding, BoundTool, ToolPins } from '../../contract/manifest.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';

type PinnedPack = Pick<OpenPack, 'installation' | 'tools' | 'files'>;

/** Everything that is there now, as `haft.lock` would hold it. */
export function pinPacks(packs: readonly PinnedPack[]): LockFile {
  return {
    version: 1,
    packs: Object.fromEntries(packs.map((pack) => [pack.installation.name, pinPack(pack)])),
    tools: Object.fromEntries(
      packs.flatMap(({ installation, tools }) =>
        tools.map((tool) => [tool.contract.id, pinTool(installation.name, tool)]),
      ),
    ),
  };
}

function pinPack({ installation: { origin, config }, files }: PinnedPack): LockedPack {
  return { origin, config: digest('toolpack/v1', canonicalJson(config)), ...(files ? { files } : {}) };
}

function pinTool(pack: string, tool: BoundTool): LockedTool {
  const { contract, binding } = tool;
  const told = Object.fromEntries(
    TOLD.flatMap((field) => (contract[field] === undefined ? [] : [[field, contract[field]]])),
  );
  const { target, pins } = portable(binding, tool.pins);
  const definition = { ...told, adapter: binding.adapter, target } as JsonObject;
  const pinned = { definition, ...pins };
  const source = sourceDigest(tool);
  try {
    return {
      pack,
      digest: digest('toolpack/v1', canonicalJson(pinned)),
      ...(source === undefined ? {} : { source }),
      ...pinned,
    };
  } catch (thrown) {
    throw fail('pack.invalid', `Cannot pin "${contract.id}": ${(thrown as Error).message}`);
  }
}

/** What the loader of a `*.tool.yaml` hashed: its definition and its scripts. */
export function sourceDigest({ binding: { target } }: BoundTool): string | undefined {
  return isYaml(target) ? target.tool.digest : undefined;
}

const TOLD = [
  'version',
  'contract',
  'title',
  'description',
  'tags',
  'input',
  'output',
  'deterministic',
  'idempotent',
  'mutates',
  'limits',
  'textField',
  'examples',
] as const satisfies readonly (keyof BoundTool['contract'])[];

/** Tools of a `*.tool.yaml` carry it whole: here only what is not told already, and its scripts as pins. */
function portable({ target }: Binding, given: ToolPins = {}): { target: JsonObject; pins: ToolPins } {
  if (!isYaml(target)) return { target, pins: given };
  const { tool, action } = target;
  const own = tool.actions.find(({ name }) => name === action);
  const { caps, env, templating, credentials, config, retry, health, source } = tool;
  const how = {
    execution: (own ?? tool).execution,
    caps,
    env,
    credentials,
    ...(templating ? { templating } : {}),
    ...(config === undefined ? {} : { config }),
    ...(retry ? { retry } : {}),
    ...(health ? { health } : {}),
  };
  const files = Object.fromEntries(source.scripts.map(({ path, sha256 }) => [path, sha256]));
  const pins = source.scripts.length === 0 ? given : { ...given, files: { ...files, ...given.files } };
  return { target: how as unknown as JsonObject, pins };
}

function isYaml(target: unknown): target is { readonly tool: YamlTool; readonly action?: string } {
  const { tool } = target as { readonly tool?: Partial<YamlTool> };
  return typeof tool === 'object' && tool?.source !== undefined;
}

/** `pins` holds that pack alone; undefined takes it out. */
export function replacePack(lock: LockFile, name: string, pins: LockFile | undefined): LockFile {
  const { [name]: _, ...packs } = lock.packs;
  const others = Object.entries(lock.tools).filter(([, tool]) => tool.pack !== name);
  return {
    version: 1,
    packs: { ...packs, ...pins?.packs },
    tools: { ...Object.fromEntries(others), ...pins?.tools },
  };
}
