// Owns: one conversation with a server, from its transport to the agreement on a revision.
// Refuses: to begin another one when this is lost; `link.ts` does.
import type { CallHandles } from '../../contract/adapter.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { Program, ProgramStart } from '../../contract/program.ts';
import type { ServerLog } from '../line-program.ts';
import type { Linked } from '../link.ts';
import type { Pace } from '../pace.ts';
import { programOf } from '../program-config.ts';
import type { Channel, ChannelEvents } from './channel.ts';
import type { McpConfig } from './config.ts';
import { type Agreement, type ConverseOptions, converse } from './converse.ts';
import { openHttpChannel } from './http-channel.ts';
import { openStdioChannel } from './stdio-channel.ts';

export interface McpSession extends Linked {
  readonly channel: Channel;
  readonly agreement: Agreement;
}

export interface McpSessionOptions {
  readonly name: string;
  readonly config: McpConfig;
  readonly handles: CallHandles;
  /** Asked when it is started. */
  start(): ProgramStart;
  /** Where what it writes to stderr is kept. */
  logOf?(env: Program['env']): ServerLog;
  readonly protocol: ConverseOptions['protocol'];
  readonly maxMessageBytes: number;
  readonly events: ChannelEvents;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

const START_MS = 20_000;
const PROBE_MS = 3_000;

export async function openMcpSession(options: McpSessionOptions): Promise<McpSession> {
  const { name, config, protocol, signal } = options;
  const { channel, lastWords } = await openChannel(options);
  try {
    const agreement = await converse(channel, {
      name,
      protocol,
      probeMs: config.probe_timeout_ms ?? PROBE_MS,
      startMs: config.start_timeout_ms ?? START_MS,
      signal,
    });
    return {
      channel,
      agreement,
      get gone() {
        return channel.gone;
      },
      close: () => channel.close(),
    };
  } catch (thrown) {
    const ended = channel.gone && !signal.aborted;
    // What never answered needs no time to end in good order.
    await channel.close(0);
    const words = await lastWords?.();
    if (!words || signal.aborted) throw thrown;
    // Some servers end when they are asked what they do not know: those can only be shaken hands with.
    if (ended && protocol === 'auto' && words.fault === undefined)
      return openMcpSession({ ...options, protocol: 'handshake' });
    if (!isFailure(thrown)) throw thrown;
    const how = words.fault ?? `it ended with code ${words.code} before it was ready`;
    const fact = ended ? `Cannot reach "${name}": ${how}` : thrown.message;
    throw fail('tool.unhealthy', `${fact}${words.because}`, { ...thrown.details, ...words.details });
  }
}

async function openChannel(options: McpSessionOptions) {
  const { name, config, handles, maxMessageBytes, events, pace } = options;
  if (config.url !== undefined) {
    const { url, headers = {} } = config;
    const { http } = handles;
    return { channel: openHttpChannel({ name, url, headers, http, maxMessageBytes, events, pace }) };
  }
  const { exec } = handles;
  const program = programOf(config, process.env, options.start());
  const channel = await openStdioChannel({
    name,
    exec,
    program,
    log: options.logOf?.(program.env),
    maxMessageBytes,
    events,
  });
  return { channel, lastWords: channel.lastWords };
}
