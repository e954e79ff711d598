// Owns: what a conversation needs of a transport, whichever it is.
// Refuses: to know revisions beyond the one that it is told to speak.
import { isRecord } from '../../base/is-record.ts';
import type { Invocation } from '../../contract/adapter.ts';
import type { HttpHandle } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Linked } from '../link.ts';
import { RPC, type RpcAnswer } from './protocol.ts';

export interface Channel extends Linked {
  ask(request: ChannelRequest, options: AskOptions): Promise<RpcAnswer>;
  /** Sends what nobody answers. Failing to is no failure: whatever it was about is gone too. */
  tell(method: string, params?: JsonObject): Promise<void>;
  /** From now on every message is of this revision. */
  speak(version: string): void;
  /** Asks to be told of changes, for as long as the channel is open. */
  listen(): void;
}

export interface ChannelRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  progress?(progress: McpProgress): void;
  /** Where an answer goes that cannot be held. */
  readonly spill?: Invocation['spill'] | undefined;
  /** Of a transport that has headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The guarded way out of the call that asks, where it is one. */
  readonly http?: HttpHandle | undefined;
}

export interface McpProgress {
  readonly pct?: number;
  readonly message?: string;
}

export interface ChannelEvents {
  toolsChanged(): void;
}

/** What the other side says by itself. `answer` is for its requests: we are asked for nothing that we offer but a sign of life. */
export interface Incoming {
  progress(token: unknown, progress: McpProgress): void;
  answer(id: string | number, answer: RpcAnswer): void;
  toolsChanged(): void;
  /** The server has ended a subscription of ours. */
  cancelled?(requestId: unknown): void;
}

/** Reads a notification or a request of the other side. */
export function hear(message: Readonly<Record<string, unknown>>, incoming: Incoming): void {
  const { method, id } = message;
  const params = isRecord(message.params) ? message.params : {};
  if (id !== undefined) {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    if (method === 'ping') incoming.answer(id, { result: {} });
    else incoming.answer(id, { error: { code: RPC.method, message: 'Method not found' } });
  } else if (method === 'notifications/tools/list_changed') incoming.toolsChanged();
  else if (method === 'notifications/progress') incoming.progress(params.progressToken, readProgress(params));
  else if (method === 'notifications/cancelled') incoming.cancelled?.(params.requestId);
}

function readProgress({ progress, total, message }: Readonly<Record<string, unknown>>): McpProgress {
  const known = typeof progress === 'number' && typeof total === 'number' && total > 0;
  return {
    ...(known ? { pct: Math.max(0, Math.min(100, (progress / total) * 100)) } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
