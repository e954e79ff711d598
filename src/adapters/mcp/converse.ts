// Owns: the channel to a server, and agreeing with it on a revision: a look whether it is one without a handshake, else the handshake.
// Refuses: a revision that this adapter does not speak.
import { isRecord } from '../../base/is-record.ts';
import type { Invocation } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { HttpHandle } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Linked } from '../link.ts';
import type { RpcAnswer } from './protocol.ts';
import { CLIENT_INFO, HANDSHAKE_VERSIONS, MODERN_ERRORS, MODERN_VERSION, RPC } from './protocol.ts';

/** What is known of the server once it was agreed. */
export interface Agreement {
  readonly version: string;
  /** Whether it tells when its tools change. */
  readonly tellsChanges: boolean;
  readonly server: { readonly name?: string; readonly version?: string };
  readonly instructions?: string;
}

export interface ConverseOptions {
  readonly name: string;
  /** `auto` looks first; else the handshake or its absence is taken for granted. */
  readonly protocol: 'auto' | 'handshake' | 'modern';
  /** How long a server without an answer is waited for before it is taken for one with a handshake. */
  readonly probeMs: number;
  readonly startMs: number;
  readonly signal: AbortSignal;
}

export async function converse(channel: Channel, options: ConverseOptions): Promise<Agreement> {
  const late = AbortSignal.timeout(options.startMs);
  const signal = AbortSignal.any([options.signal, late]);
  try {
    const modern = options.protocol === 'handshake' ? undefined : await look(channel, options, signal);
    const agreed = modern ?? (await shakeHands(channel, options.name, signal));
    if (agreed.tellsChanges) channel.listen();
    return agreed;
  } catch (thrown) {
    if (options.signal.aborted || !late.aborted) throw thrown;
    throw fail(
      'tool.unhealthy',
      `Cannot reach "${options.name}": it did not answer within ${options.startMs} ms`,
      { timed_out: true },
    );
  }
}

/** Undefined where the server is one with a handshake. */
async function look(
  channel: Channel,
  options: ConverseOptions,
  signal: AbortSignal,
): Promise<Agreement | undefined> {
  const { name, protocol, probeMs } = options;
  const probing = protocol === 'auto' ? AbortSignal.any([signal, AbortSignal.timeout(probeMs)]) : signal;
  channel.speak(MODERN_VERSION);
  const answer = await channel
    .ask({ method: 'server/discover', params: {} }, { signal: probing })
    .catch((thrown) => {
      signal.throwIfAborted();
      // No answer, or a refusal in words of HTTP alone: it does not know the question.
      const refused = isFailure(thrown) && isRefusal(thrown);
      if (protocol === 'auto' && (probing.aborted || refused)) return undefined;
      throw thrown;
    });
  if (answer && 'result' in answer) {
    const spoken = answer.result.supportedVersions;
    if (!Array.isArray(spoken) || spoken.includes(MODERN_VERSION))
      return agreement(MODERN_VERSION, answer.result);
    if (spoken.some((version) => HANDSHAKE_VERSIONS.includes(String(version)))) return undefined;
    throw incompatible(name, spoken);
  }
  if (answer && MODERN_ERRORS.has(answer.error.code)) {
    const spoken = supportedBy(answer.error.data);
    const older = spoken.some((version) => HANDSHAKE_VERSIONS.includes(version));
    if (answer.error.code === RPC.unsupportedVersion && older) return undefined;
    throw incompatible(name, spoken, answer.error.message);
  }
  if (protocol === 'auto') return undefined;
  throw incompatible(name, [], answer?.error.message);
}

async function shakeHands(channel: Channel, name: string, signal: AbortSignal): Promise<Agreement> {
  channel.speak(HANDSHAKE_VERSIONS[0] as string);
  const params = {
    protocolVersion: HANDSHAKE_VERSIONS[0] as string,
    capabilities: {},
    clientInfo: CLIENT_INFO,
  };
  const answer: RpcAnswer = await channel.ask({ method: 'initialize', params }, { signal });
  if ('error' in answer)
    throw fail(
      'tool.unhealthy',
      `Cannot reach "${name}": it refuses to begin (${answer.error.message.slice(0, 300)})`,
    );
  const version = String(answer.result.protocolVersion);
  if (!HANDSHAKE_VERSIONS.includes(version)) throw incompatible(name, [version]);
  channel.speak(version);
  await channel.tell('notifications/initialized');
  return agreement(version, answer.result);
}

function agreement(version: string, result: Readonly<Record<string, unknown>>): Agreement {
  const { capabilities, instructions } = result;
  const tools = isRecord(capabilities) && isRecord(capabilities.tools) ? capabilities.tools : {};
  const meta = isRecord(result._meta) ? result._meta['io.modelcontextprotocol/serverInfo'] : undefined;
  const info = isRecord(result.serverInfo) ? result.serverInfo : isRecord(meta) ? meta : {};
  return {
    version,
    tellsChanges: tools.listChanged === true,
    server: {
      ...(typeof info.name === 'string' ? { name: info.name } : {}),
      ...(typeof info.version === 'string' ? { version: info.version } : {}),
    },
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

const isRefusal = ({ details }: Failure): boolean => {
  const status = Number(details?.status);
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 429;
};

const supportedBy = (data: unknown): string[] =>
  isRecord(data) && Array.isArray(data.supported) ? data.supported.map(String) : [];

function incompatible(name: string, spoken: readonly unknown[], words?: string): Failure {
  const theirs =
    spoken.length > 0 ? `it speaks ${spoken.join(', ')}` : (words ?? 'it does not say what it speaks');
  const ours = [MODERN_VERSION, ...HANDSHAKE_VERSIONS].join(', ');
  return fail(
    'tool.unhealthy',
    `Cannot reach "${name}": no common revision of MCP (${theirs}; we speak ${ours})`,
  );
}

export interface Channel extends Linked {
  ask(request: ChannelRequest, options: AskOptions): Promise<RpcAnswer>;
  /** Sends what nobody answers. Failing to is no failure: whatever it was about is gone too. */
  tell(method: string, params?: JsonObject): Promise<void>;
  /** From now on every message is of this revision. */
  speak(version: string): void;
  /** Asks to be told of changes, for as long as the channel is open. */
  listen(): void;
}

interface ChannelRequest {
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
interface Incoming {
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
