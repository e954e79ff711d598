// Owns: the five messages of the SDK spec, as they travel, their one conversion to TypeScript's spelling, and the check that only known fields were named.
// Refuses: to touch `args` and `data`: they pass as they were sent.

import { closest } from '../base/closest.ts';
import { isRecord } from '../base/is-record.ts';
import { type ErrorEntry, fail } from './errors.ts';
import type { JsonObject } from './json.ts';

/** As it travels. `timestamp` is in seconds. */
export interface ToolRequest {
  readonly type: 'ToolRequest';
  readonly tool: string;
  readonly args: JsonObject;
  readonly request_id?: string;
  readonly session_id?: string;
  readonly timestamp?: number;
}

export interface ToolResponse {
  readonly type: 'ToolResponse';
  readonly ok: boolean;
  readonly tool: string;
  readonly request_id: string;
  /** What `haft undo` and the audit know this call by. */
  readonly call_id: string;
  /** Only for deterministic tools. */
  readonly run_id?: string;
  /** True when a verified earlier result answered. */
  readonly replayed?: boolean;
  readonly duration_ms: number;
  readonly data: unknown;
  /** Of an MCP server's tool whose `data` has a schema of its own: the blocks of its answer, where some are not text. */
  readonly content?: readonly JsonObject[];
  readonly errors: readonly ErrorEntry[];
  /** What the caller should know although the call succeeded: truncation, a missing sandbox. */
  readonly warnings?: readonly Warning[];
}

export interface EventMessage {
  readonly type: 'EventMessage';
  readonly event: string;
  readonly request_id?: string;
  readonly session_id?: string;
  readonly progress?: { readonly pct?: number; readonly message?: string };
  readonly data?: unknown;
}

export interface ErrorMessage {
  readonly type: 'ErrorMessage';
  readonly code: ErrorEntry['code'];
  readonly message: string;
  readonly request_id?: string;
  readonly reason?: ErrorEntry['reason'];
  readonly details?: ErrorEntry['details'];
}

export interface Heartbeat {
  readonly type: 'Heartbeat';
  readonly session_id: string;
  readonly timestamp: number;
}

export interface Warning {
  readonly reason: string;
  readonly message: string;
  /** Where the whole is kept, when something was cut. */
  readonly artifact?: string;
}

/**
 * The blocks of an MCP server's answer where some are not text: images, audio, embedded resources, links. All of them, in
 * their order, as they came.
 */
export interface ShownContent {
  readonly blocks: readonly JsonObject[];
  /** They are `data.content` too. */
  readonly inData: boolean;
}

/** A request inside the runtime. */
export interface CallRequest {
  readonly tool: string;
  readonly args?: JsonObject | undefined;
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** A response inside the runtime. */
export interface CallResponse {
  readonly ok: boolean;
  readonly tool: string;
  readonly requestId: string;
  readonly callId: string;
  readonly runId?: string;
  readonly replayed?: boolean;
  readonly durationMs: number;
  readonly data: unknown;
  readonly content?: ShownContent;
  readonly errors: readonly ErrorEntry[];
  readonly warnings?: readonly Warning[];
}

export function toToolResponse(response: CallResponse): ToolResponse {
  return {
    type: 'ToolResponse',
    ok: response.ok,
    tool: response.tool,
    request_id: response.requestId,
    call_id: response.callId,
    ...(response.runId === undefined ? {} : { run_id: response.runId }),
    ...(response.replayed === undefined ? {} : { replayed: response.replayed }),
    duration_ms: response.durationMs,
    data: response.data,
    ...(response.content && !response.content.inData ? { content: response.content.blocks } : {}),
    errors: response.errors,
    ...(response.warnings === undefined ? {} : { warnings: response.warnings }),
  };
}

/** Reads a ToolRequest as it came over a wire; answers with what is wrong, or the request. */
export function fromToolRequest(message: unknown): CallRequest | string {
  if (!isRecord(message)) return 'a ToolRequest is a JSON object';
  const m = message;
  const unknown = unknownField(m, TOOL_REQUEST);
  if (unknown !== undefined) return `a ToolRequest has ${unknown}`;
  if (m.type !== undefined && m.type !== 'ToolRequest') return 'type must be "ToolRequest"';
  if (typeof m.tool !== 'string') return 'tool must be a string';
  for (const field of ['request_id', 'session_id'] as const) {
    if (m[field] !== undefined && typeof m[field] !== 'string') return `${field} must be a string`;
  }
  if (m.timestamp !== undefined && typeof m.timestamp !== 'number') return 'timestamp must be a number';
  const args = m.args ?? {};
  if (!isRecord(args)) return 'args must be an object';
  return {
    tool: m.tool,
    args: args as JsonObject,
    requestId: m.request_id as string | undefined,
    sessionId: m.session_id as string | undefined,
  };
}

const TOOL_REQUEST: KnownFields<ToolRequest> = {
  type: true,
  tool: true,
  args: true,
  request_id: true,
  session_id: true,
  timestamp: true,
};

/** A request as it was read, once. */
export interface ReadRequest extends CallRequest {
  /** What is wrong with it; then nothing of it is left but the name of the tool. */
  readonly problem?: string;
}

/**
 * The request of a program in this process, which no compiler may have seen. A session that is spelled as it travels
 * (`session_id`) would else be none: the call would be made without its policy.
 */
export function readCallRequest(given: unknown): ReadRequest {
  const wrong = (problem: string): ReadRequest => {
    const { tool } = (given ?? {}) as { readonly tool?: unknown };
    return { tool: typeof tool === 'string' ? tool : '', problem };
  };
  if (!isRecord(given) || !isPlain(given)) return wrong('a request is a plain object');
  const unknown = unknownField(given, CALL_REQUEST);
  if (unknown !== undefined) return wrong(`a request has ${unknown}`);
  const { tool, requestId, sessionId } = given;
  const args = given.args ?? {};
  if (typeof tool !== 'string') return wrong('tool must be a string');
  if (requestId !== undefined && typeof requestId !== 'string') return wrong('requestId must be a string');
  if (sessionId !== undefined && typeof sessionId !== 'string') return wrong('sessionId must be a string');
  if (!isRecord(args)) return wrong('args must be an object');
  return { tool, args: args as JsonObject, requestId, sessionId };
}

/** Throws `input.envelope` for a request with a problem. */
export function checkRequest({ problem }: ReadRequest): void {
  if (problem !== undefined) throw fail('input.envelope', `Cannot make the call: ${problem}`);
}

const CALL_REQUEST: KnownFields<CallRequest> = { tool: true, args: true, requestId: true, sessionId: true };

function isPlain(value: object): boolean {
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null;
}

/** Every field of T, also those that may be left out: the compiler says where one is missing. */
export type KnownFields<T> = { readonly [K in keyof T]-?: true };

/** In words, the first field that is not known; undefined where all are. */
function unknownField(given: object, known: { readonly [field: string]: true }): string | undefined {
  for (const field of Object.keys(given)) {
    if (known[field] === true) continue;
    const names = Object.keys(known);
    const near = closest(field, names);
    return `no field "${field.slice(0, 80)}"; ${near ? `did you mean "${near}"?` : `there is ${names.join(', ')}`}`;
  }
  return undefined;
}

/** For a program's own mistakes: throws `usage`. `action` says what cannot be done. */
export function checkFields(
  action: string,
  given: unknown,
  known: { readonly [field: string]: true },
  what = 'options',
): void {
  if (given === undefined) return;
  if (!isRecord(given)) throw fail('usage', `Cannot ${action}: the ${what} are not an object`);
  const unknown = unknownField(given, known);
  if (unknown !== undefined) throw fail('usage', `Cannot ${action}: the ${what} have ${unknown}`);
}
