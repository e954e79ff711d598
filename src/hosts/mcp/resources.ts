// Owns: artifacts as MCP resources: their URIs, lists and contents, each by a call of the tool that does the same.
// Refuses: a way around policy and audit, and to cut content: what is too long for one answer is read in ranges.
import type { CallResponse } from '../../contract/envelope.ts';
import { ERRORS } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { CallOptions, Runtime } from '../../contract/runtime.ts';
import { type RequestParams, RPC, type RpcError, rpcError } from './protocol.ts';

export interface ResourceSite {
  readonly runtime: Runtime;
  readonly options: CallOptions;
}

type Result = Readonly<Record<string, unknown>>;

const PAGE = 100;
/** What one answer may hold; also the most that `artifact_get` answers with. */
const LONGEST = 16 * 1024 * 1024;
const SCHEME = 'haft://artifact/';

export async function listResources({ cursor }: RequestParams, site: ResourceSite): Promise<Result> {
  if (cursor !== undefined && typeof cursor !== 'string')
    throw rpcError(RPC.params, 'cursor must be the nextCursor of an earlier list');
  const args = { limit: PAGE, ...(cursor === undefined ? {} : { before: cursor }) };
  const { artifacts, truncated } = await made<ArtifactList>(site, 'artifact_list', args, { cursor });
  return {
    resources: artifacts.map(({ artifact, kind, size, created }) => ({
      uri: SCHEME + artifact,
      name: artifact.slice(0, 'sha256:'.length + 12),
      title: `${kind} ${artifact.slice(0, 'sha256:'.length + 12)}`,
      ...(kind === 'tree' ? { mimeType: TREE } : { size }),
      annotations: { lastModified: created },
    })),
    ...(truncated ? { nextCursor: artifacts.at(-1)!.artifact } : {}),
  };
}

export function listTemplates(): Result {
  return {
    resourceTemplates: [
      {
        uriTemplate: `${SCHEME}{artifact}{?start_byte,end_byte}`,
        name: 'artifact',
        title: 'An artifact, or a range of its bytes',
        description:
          'end_byte is excluded. Without a range it is the whole artifact; a tree is a list of its files.',
      },
      {
        uriTemplate: `${SCHEME}{artifact}/{+path}{?start_byte,end_byte}`,
        name: 'artifact-file',
        title: 'A file of a tree, or a range of its bytes',
      },
    ],
  };
}

export async function readResource({ uri }: RequestParams, site: ResourceSite): Promise<Result> {
  if (typeof uri !== 'string') throw rpcError(RPC.params, 'resources/read needs params.uri');
  const args = parseUri(uri);
  const data = await made<ArtifactContent>(site, 'artifact_get', { ...args, max_bytes: LONGEST }, { uri });
  if (data.truncated) {
    const message = `Cannot read it in one answer: it is ${data.size} bytes, over ${LONGEST}; read ranges of it with ?start_byte=…&end_byte=…`;
    throw rpcError(RPC.params, message, { uri, reason: 'file.too_large', size: data.size });
  }
  const { content = '', encoding, entries, size, end_byte: end } = data;
  if (entries) return { contents: [{ uri, mimeType: TREE, text: JSON.stringify({ entries }) }] };
  const meta = { 'haft/size': size, 'haft/end_byte': end };
  const part = encoding === 'base64' ? { mimeType: BYTES, blob: content } : { mimeType: TEXT, text: content };
  return { contents: [{ uri, ...part, _meta: meta }] };
}

const TEXT = 'text/plain';
const BYTES = 'application/octet-stream';
const TREE = 'application/json';

interface ArtifactList {
  readonly artifacts: readonly { artifact: string; kind: string; size: number; created: string }[];
  readonly truncated: boolean;
}

interface ArtifactContent {
  readonly content?: string;
  readonly encoding?: string;
  readonly entries?: readonly unknown[];
  readonly size: number;
  readonly end_byte?: number;
  readonly truncated: boolean;
}

/** What the tool answered; a failure becomes an error with the code of its row, and names what was asked for. */
async function made<T>(
  { runtime, options }: ResourceSite,
  tool: string,
  args: JsonObject,
  asked: Readonly<Record<string, unknown>>,
): Promise<T> {
  const { data, errors }: CallResponse = await runtime.call({ tool, args }, options);
  const [error] = errors;
  if (!error) return data as T;
  const { code, reason, message } = error;
  // Revisions before 2026-07-28 had a code of their own for what is not there; this one is understood by all.
  const rpc = reason === 'object.missing' || reason === 'artifact.unknown' ? RPC.params : ERRORS[reason].rpc;
  throw rpcError(rpc, message, { ...asked, code, reason });
}

/** `haft://artifact/sha256:…`, with a path in a tree and a range of bytes where asked for. */
function parseUri(uri: string): JsonObject {
  const match = /^haft:\/\/artifact\/(sha256:[0-9a-f]{64})(?:\/([^?#]+))?(?:\?([^#]*))?$/.exec(uri);
  if (!match) throw notFound(uri);
  const [, artifact, path, query = ''] = match;
  const args: Record<string, string | number> = { artifact: artifact! };
  try {
    if (path !== undefined) args.path = decodeURIComponent(path);
  } catch {
    throw notFound(uri);
  }
  for (const [name, value] of new URLSearchParams(query)) {
    if (!RANGE.has(name) || !/^\d{1,15}$/.test(value)) throw notFound(uri);
    args[name] = Number(value);
  }
  return args;
}

const RANGE: ReadonlySet<string> = new Set(['start_byte', 'end_byte']);

function notFound(uri: string): RpcError {
  const message =
    'Cannot find the resource: artifacts are haft://artifact/sha256:<64 hex digits>, with ?start_byte=N&end_byte=M for a range';
  return rpcError(RPC.params, message, { uri: uri.slice(0, 200) });
}
