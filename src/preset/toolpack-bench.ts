// Owns: a toolpack on the bench: opened in a workspace of its own, its calls made on this machine, for tests and `haft toolpack check`.
// Refuses: engines and images; what a name of an image stands for is made up, since programs are those of the host.
import { canonicalText } from '../base/canonical-json.ts';
import { sha256Hex } from '../base/digest.ts';
import type { ArtifactStore, TreeItem } from '../contract/artifacts.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { PreparedRun, PrepareSite } from '../contract/runs.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import {
  type CallContent,
  type CallFixture,
  type FolderPart,
  makeBenchFolder,
  readCalls,
} from '../loader/toolpack/pack-files.ts';
import { registerCases } from '../testing/conformance.ts';
import { TOOLPACK_CASES, type ToolpackCall, type ToolpackEnvironment } from '../testing/toolpack-suite.ts';
import { createDefaultRuntime } from './default.ts';
import { openToolpackFolder } from './runs/toolpack-folder.ts';

/** Registers the cases with node:test: the whole test of a toolpack in the folder of its test file. */
export function toolpackSuite(folder: string): void {
  registerCases('the toolpack', TOOLPACK_CASES, () => openToolpackBench(folder));
}

/** What `haft toolpack check` needs of it beyond the suite. */
export interface ToolpackBench extends ToolpackEnvironment {
  /** A workspace of its own, which is gone when this is closed. */
  readonly workspace: string;
  readonly artifacts: ArtifactStore;
  /** What a call would run, with images as `pin` says. */
  prepare(tool: string, args: JsonObject, pin: PrepareSite['pinImage']): Promise<PreparedRun>;
}

const pinImage = async (reference: string): Promise<string> => `sha256:${sha256Hex(`image ${reference}`)}`;

export async function openToolpackBench(folder: string): Promise<ToolpackBench> {
  const bench = makeBenchFolder();
  const runtime = await createDefaultRuntime({
    workspace: bench.path,
    runs: (usual) => ({ ...usual, pinImage }),
  });
  const close = async (): Promise<void> => {
    await runtime.close();
    bench.remove();
  };
  try {
    const artifacts = await runtime.artifacts();
    const { handlesFor } = runtime.installations;
    const schemas = createSchemaCompiler();
    const { value, diagnostics } = await openToolpackFolder(folder, 'bench', {
      handlesFor,
      runs: runtime.runs,
      schemas,
      askAlways: true,
    });
    if (value) runtime.installations.add(value);
    const keep: Keep = async (content) =>
      content instanceof Uint8Array
        ? (await artifacts.importBytes(content)).id
        : (await artifacts.importTree(content.map(toItem))).id;
    const fixtures = readCalls(folder);
    const calls = new Map<ToolpackCall, CallFixture>();
    for (const fixture of fixtures) calls.set(await toCall(fixture, keep), fixture);

    const prepare: ToolpackBench['prepare'] = async (id, args, pin) => {
      const tool = value?.tools.find(({ contract }) => contract.id === id);
      const site = { artifacts, pinImage: pin, signal: new AbortController().signal };
      if (!value || !tool) throw new Error(`the pack has no tool "${id}"`);
      const { installation, adapter } = value;
      return (await adapter.prepare?.({ installation, tool, args, site })) as PreparedRun;
    };

    return {
      workspace: bench.path,
      artifacts,
      prepare,
      diagnostics,
      tools: (value?.tools ?? []).map(({ contract, binding }) => ({
        id: contract.id,
        outputs: binding.target.outputs as readonly string[],
      })),
      calls: [...calls.keys()],
      async identify(id, args) {
        return canonicalText((await prepare(id, args, pinImage)).params);
      },
      async changed(call, file) {
        const { args, files } = calls.get(call) as CallFixture;
        const ids = new Map<string, string>();
        for (const { name, content } of files)
          ids.set(name, await keep(name === file ? changedContent(content) : content));
        return named(args, (name) => ids.get(name) as string) as JsonObject;
      },
      withoutArtifacts: (call) =>
        named(
          (calls.get(call) as CallFixture).args,
          (name) => `sha256:${sha256Hex(`nobody has ${name}`)}`,
        ) as JsonObject,
      call: (tool, args) => runtime.call({ tool, args }),
      verify: (runId) => runtime.runs.verify(runId),
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Makes it an artifact; answers its id. */
type Keep = (content: CallContent) => Promise<string>;

async function toCall(fixture: CallFixture, keep: Keep): Promise<ToolpackCall> {
  const { name, tool, args, files, result } = fixture;
  const ids = new Map<string, string>();
  for (const file of files) ids.set(file.name, await keep(file.content));
  return {
    name,
    tool,
    args: named(args, (file) => ids.get(file) as string) as JsonObject,
    files: files.map((file) => file.name),
    ...(result === undefined ? {} : { result }),
  };
}

/** The arguments with every `file:NAME` replaced. */
function named(value: Json, idOf: (name: string) => string): Json {
  if (typeof value === 'string') return value.startsWith('file:') ? idOf(value.slice(5)) : value;
  if (Array.isArray(value)) return value.map((one: Json) => named(one, idOf));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, named(one, idOf)]));
}

function toItem({ path, bytes }: FolderPart): TreeItem {
  if (!bytes) return { type: 'dir', path };
  const file = {
    size: bytes.length,
    executable: false,
    read: async (into: Uint8Array, position: number) => {
      const piece = bytes.subarray(position, position + into.length);
      into.set(piece);
      return piece.length;
    },
    close() {},
  };
  return { type: 'file', path, open: () => file };
}

/** Of a folder, its first file. */
function changedContent(content: CallContent): CallContent {
  if (content instanceof Uint8Array) return flipped(content);
  const at = content.findIndex(({ bytes }) => bytes !== undefined);
  return content.map((part, n) => (n === at ? { ...part, bytes: flipped(part.bytes!) } : part));
}

/** An empty file gets a byte. */
function flipped(bytes: Uint8Array): Uint8Array {
  const other = bytes.length === 0 ? new Uint8Array(1) : Uint8Array.from(bytes);
  const at = other.length >> 1;
  other[at] = (other[at] ?? 0) ^ 1;
  return other;
}
