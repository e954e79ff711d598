// Owns: what is pinned of a tool (every word that callers are told, how it is reached, the bytes that it runs), and a pack under its lock: what was accepted is callable, what differs shows its accepted face and is not.
// Refuses: whatever differs between two machines that hold the same pack, and to pass on a single word that nobody accepted: a description is what an injection would come in.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Drift, LockedPack, LockedTool, LockFile } from '../../contract/lock.ts';
import type { Binding, BoundTool, ToolPins } from '../../contract/manifest.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { compareLock, isCodeUnpinned, isQuarantined } from './compare-lock.ts';
import { describeDrift } from './describe-drift.ts';

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

/** Without a lock, and for a pack that nobody locked, the pack as it is. */
export function applyLock(pack: OpenPack, lock: LockFile | undefined): OpenPack {
  if (!lock) return pack;
  const quarantined = driftsOf(pack, lock).filter(isQuarantined);
  if (quarantined.length === 0) return pack;
  const ids = new Set(quarantined.map(({ tool }) => tool));
  return {
    ...pack,
    tools: pack.tools.map((tool) =>
      ids.has(tool.contract.id) ? acceptedFace(tool, lockedOf(lock, tool.contract.id)) : tool,
    ),
    quarantine: Object.fromEntries(quarantined.map((drift) => [drift.tool!, whyNot(drift)])),
  };
}

/** For `--frozen`: throws `lockfile.drift` unless everything is exactly as it was accepted. */
export function checkFrozen(packs: readonly OpenPack[], lock: LockFile | undefined): void {
  if (!lock && packs.length === 0) return;
  if (!lock)
    throw fail(
      'lockfile.drift',
      'Cannot start with --frozen: there is no haft.lock; haft tools lock writes it',
    );
  const drifts = compareLock(withoutUnknown(lock, packs), pinPacks(packs));
  if (drifts.length === 0) return;
  const list = drifts.map(describeDrift).join('\n');
  throw fail('lockfile.drift', `Cannot start with --frozen: tools differ from haft.lock\n${list}`);
}

/** What a server has that was not asked yet is compared once it says so: then each tool that differs is quarantined. */
function withoutUnknown(lock: LockFile, packs: readonly OpenPack[]): LockFile {
  const unknown = new Set(
    packs.flatMap(({ absent, installation }) => (absent?.known === false ? [installation.name] : [])),
  );
  if (unknown.size === 0) return lock;
  const tools = Object.entries(lock.tools).filter(([, { pack }]) => !unknown.has(pack));
  return { ...lock, tools: Object.fromEntries(tools) };
}

/** Of this pack alone: that others are not there says nothing. Most of its tools are known by the digest of their file. */
function driftsOf(pack: OpenPack, lock: LockFile): readonly Drift[] {
  const { name } = pack.installation;
  const doubtful = pack.tools.filter((tool) => {
    const source = sourceDigest(tool);
    const locked = lockedOf(lock, tool.contract.id);
    const same = locked?.pack === name && locked.source === source && locked.code === tool.pins?.code;
    return source === undefined || !same;
  });
  if (doubtful.length === 0) return [];
  const known = doubtful.flatMap(({ contract: { id } }) => {
    const locked = lockedOf(lock, id);
    return locked ? [[id, locked] as const] : [];
  });
  const accepted: LockFile = { version: 1, packs: lock.packs, tools: Object.fromEntries(known) };
  return compareLock(accepted, pinPacks([{ ...pack, tools: doubtful }]));
}

const lockedOf = ({ tools }: LockFile, id: string): LockedTool | undefined =>
  Object.hasOwn(tools, id) ? tools[id] : undefined;

const whyNot = (drift: Drift): string => {
  const { tool, state, changes } = drift;
  const fields = changes.map(({ field }) => field).join(', ');
  const changed = isCodeUnpinned(drift)
    ? 'haft.lock does not hold its code yet, so that nobody accepted that'
    : `it changed since it was accepted (${fields})`;
  const fact = state === 'added' ? 'it is new and nobody accepted it' : changed;
  return `Cannot call "${tool}": ${fact}; "haft tools lock" shows the difference, and --accept takes it over`;
};

function acceptedFace(tool: BoundTool, locked: LockedTool | undefined): BoundTool {
  const { id } = tool.contract;
  if (!locked) return { ...tool, contract: { ...UNKNOWN, id, title: id } };
  const { adapter: _, target: __, ...told } = locked.definition;
  return { ...tool, contract: { ...UNKNOWN, ...(told as Partial<ToolContract>), id } };
}

const UNKNOWN: Omit<ToolContract, 'id'> = {
  version: '0.0.0',
  contract: 'v1',
  title: '',
  description: 'Nobody accepted this tool yet; it cannot be called.',
  tags: [],
  input: true,
  output: true,
  deterministic: false,
  idempotent: false,
  mutates: true,
  limits: { timeoutMs: 1_000, maxInputBytes: 1_048_576, maxOutputBytes: 1_048_576 },
};
