// Owns: the words of MCP that this host speaks: versions, methods, error codes and the modern request envelope.
// Refuses: to import an SDK; loading one would cost more than everything else this host does.

/** Revisions that open with `initialize`, newest first. */
export const HANDSHAKE_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** The one revision whose clients may send several messages as one list. */
export const BATCH_VERSION = '2025-03-26';

/** Revisions without a handshake: every request carries its version, and `server/discover` answers what is spoken. */
export const ENVELOPE_VERSIONS = ['2026-07-28'] as const;

export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

export const RPC = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  version: -32022,
} as const;

export type RequestId = string | number;

export interface RpcMessage {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

/** The parameters of any request that this host reads. */
export interface RequestParams {
  readonly name?: unknown;
  readonly arguments?: unknown;
  readonly protocolVersion?: unknown;
  readonly requestId?: unknown;
  readonly uri?: unknown;
  readonly cursor?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** What a request is refused with. Known by its `rpc`: the built command has several copies of this file. */
export type RpcError = Error & { readonly rpc: number; readonly data?: unknown };

export function rpcError(rpc: number, message: string, data?: unknown): RpcError {
  return Object.assign(new Error(message), data === undefined ? { rpc } : { rpc, data });
}

export const isRpcError = (thrown: unknown): thrown is RpcError =>
  thrown instanceof Error && 'rpc' in thrown && typeof thrown.rpc === 'number';
