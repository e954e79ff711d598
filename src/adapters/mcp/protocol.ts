// Owns: the words of MCP that this adapter speaks: revisions, reserved names, error codes, and the shapes that it reads.
// Refuses: to import an SDK: see docs/adr/0003.
import { isRecord } from '../../base/is-record.ts';
import type { JsonObject } from '../../contract/json.ts';
import { VERSION } from '../../contract/version.ts';
import { shownValue } from '../answer.ts';

/** Revisions that open with `initialize`, newest first. */
export const HANDSHAKE_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** The revision without a handshake: each request says what it speaks. */
export const MODERN_VERSION = '2026-07-28';

export const CLIENT_INFO = { name: 'haft', version: VERSION } as const;

const KEY = 'io.modelcontextprotocol';

/** What every request of the modern revision carries. We offer nothing that a server could ask us for. */
export const MODERN_META: JsonObject = {
  [`${KEY}/protocolVersion`]: MODERN_VERSION,
  [`${KEY}/clientInfo`]: CLIENT_INFO,
  [`${KEY}/clientCapabilities`]: {},
};

export const RPC = {
  request: -32600,
  method: -32601,
  params: -32602,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** Errors that only a server of the modern revision answers with. */
export const MODERN_ERRORS: ReadonlySet<number> = new Set([
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
]);

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** `status` is that of HTTP, where an error came with one. */
export type RpcAnswer =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: RpcError; readonly status?: number };

/** A tool as `tools/list` shows it, as far as it is looked at. */
export interface ListedTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** What a server says at once: a message, or several as one list, which servers of 2025-03-26 may send and others do. */
export const messagesOf = (said: unknown): readonly Readonly<Record<string, unknown>>[] =>
  (Array.isArray(said) ? said : [said]).filter(isRecord);

/** The answer that a message is; a server that breaks the protocol is told to whoever waits, at once. */
export function readAnswer({ result, error }: Readonly<Record<string, unknown>>): RpcAnswer {
  const [hasResult, hasError] = [result ?? undefined, error ?? undefined].map((one) => one !== undefined);
  if (hasResult && hasError) return broken('it has both a result and an error');
  if (hasError) return { error: readError(error) };
  if (isRecord(result)) return { result };
  return broken(
    result === undefined
      ? 'it has neither a result nor an error'
      : `its result is ${shownValue(result)}, not an object`,
  );
}

const broken = (fact: string): RpcAnswer => ({
  error: { code: 0, message: `the server broke the protocol with its answer: ${fact}` },
});

/** Reads an error however odd it is. */
export function readError(error: unknown): RpcError {
  const { code, message, data } = (
    typeof error === 'object' && error !== null ? error : {}
  ) as Partial<RpcError>;
  return {
    code: typeof code === 'number' ? code : 0,
    message:
      typeof message === 'string'
        ? message
        : typeof error === 'string'
          ? error
          : 'the server answered with an error',
    ...(data === undefined ? {} : { data }),
  };
}
