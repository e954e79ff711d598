// Owns: the five messages of the SDK spec, as they travel, and their one conversion to TypeScript's spelling.
// Refuses: to touch `args` and `data`: they pass as they were sent.
import type { ErrorEntry } from './errors.ts';
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
    errors: response.errors,
    ...(response.warnings === undefined ? {} : { warnings: response.warnings }),
  };
}

/** Reads a ToolRequest as it came over a wire; answers with what is wrong, or the request. */
export function fromToolRequest(message: unknown): CallRequest | string {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return 'a ToolRequest is a JSON object';
  const m = message as Record<string, unknown>;
  const unknown = Object.keys(m).find((key) => !REQUEST_FIELDS.has(key));
  if (unknown !== undefined) return `a ToolRequest has no field "${unknown}"`;
  if (m.type !== undefined && m.type !== 'ToolRequest') return 'type must be "ToolRequest"';
  if (typeof m.tool !== 'string') return 'tool must be a string';
  for (const field of ['request_id', 'session_id'] as const) {
    if (m[field] !== undefined && typeof m[field] !== 'string') return `${field} must be a string`;
  }
  if (m.timestamp !== undefined && typeof m.timestamp !== 'number') return 'timestamp must be a number';
  const args = m.args ?? {};
  if (typeof args !== 'object' || Array.isArray(args)) return 'args must be an object';
  return {
    tool: m.tool,
    args: args as JsonObject,
    requestId: m.request_id as string | undefined,
    sessionId: m.session_id as string | undefined,
  };
}

const REQUEST_FIELDS = new Set(['type', 'tool', 'args', 'request_id', 'session_id', 'timestamp']);
