// Owns: agreeing with a server on a revision: a look whether it is one without a handshake, else the handshake.
// Refuses: a revision that this adapter does not speak.
import { isRecord } from '../../base/is-record.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Channel } from './channel.ts';
import {
  CLIENT_INFO,
  HANDSHAKE_VERSIONS,
  MODERN_ERRORS,
  MODERN_VERSION,
  RPC,
  type RpcAnswer,
} from './protocol.ts';

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
