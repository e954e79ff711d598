// Owns: tools of MCP servers, over pipes and over streamable HTTP, of the revisions with a handshake and without one.
// Refuses: to send a call twice unless its tool is idempotent or the call provably never left.
import type { Redactor } from '../../base/redact/create-redactor.ts';
import type { CallHandles, Invocation } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import type { Program, ProgramHandle, ProgramStart } from '../../contract/program.ts';
import { programEffects } from '../../contract/program.ts';
import { USUAL_BREAKER } from '../attempts.ts';
import { type LastWords, lastWords, type ServerLog, startLineProgram } from '../line-program.ts';
import { createLink, type Linked, linkedConnection, longestMessage } from '../link.ts';
import { callNeeds, fillConfig, programOf } from '../program-config.ts';
import { createRequests, oversizedLines } from '../requests.ts';
import { type Scheduler, SYSTEM_SCHEDULER } from '../scheduler.ts';
import type { ServerAdapter, ServerConnection, ServerDeps } from '../server-adapter.ts';
import { readCallResult } from './call-result.ts';
import type { Agreement, Channel, ChannelEvents, ConverseOptions, McpProgress } from './converse.ts';
import { converse, hear } from './converse.ts';
import { bindTools, listTools } from './discover.ts';
import { openHttpChannel } from './http-channel.ts';
import { MCP_CONFIG, type McpConfig, mcpConfig, mcpProblem, withFixed } from './overlay.ts';
import { headersOf, type ParamHeader } from './param-headers.ts';
import { MODERN_META, MODERN_VERSION, messagesOf, type RpcAnswer, readAnswer } from './protocol.ts';

const TIMEOUT_MS = 300_000;
const MAX_BYTES = 4 * 1024 * 1024;

const PROTOCOLS = { auto: 'auto', '2025-11-25': 'handshake', [MODERN_VERSION]: 'modern' } as const;

export function createMcpAdapter(deps: ServerDeps): ServerAdapter {
  const { scheduler = SYSTEM_SCHEDULER, breaker = USUAL_BREAKER } = deps;
  return {
    name: 'mcp',
    strategy: 'mcp',
    config: MCP_CONFIG,
    problemOf: mcpProblem,
    needs({ installation: { name, config: given }, site }) {
      const config = mcpConfig(name, given);
      if (config.url !== undefined) return [{ kind: 'net.connect', ...parseHttpUrl(config.url).target }];
      return programEffects(programOf(config), site.place);
    },
    effects({ installation, tool, site }) {
      const config = mcpConfig(installation.name, installation.config);
      if (config.url !== undefined) return [{ kind: 'net.connect', ...parseHttpUrl(config.url).target }];
      return programEffects({ needs: callNeeds(config, tool.contract.mutates) }, site.place);
    },
    open: (installation, tools) => openServer(installation, tools, { ...deps, scheduler, breaker }),
  };
}

function openServer(
  installation: Installation,
  tools: readonly BoundTool[],
  {
    handlesFor,
    secretsFor,
    startFor,
    logFor,
    scheduler,
    breaker,
  }: ServerDeps & Required<Pick<ServerDeps, 'scheduler' | 'breaker'>>,
): ServerConnection {
  const { name } = installation;
  const config = mcpConfig(name, installation.config);
  const listeners = new Set<() => void>();
  const asked = PROTOCOLS[config.protocol ?? 'auto'];
  // What a server speaks does not change while it is the same; when it fails, it is looked at anew.
  let spoken: 'auto' | 'handshake' | 'modern' = asked;
  let met = false;
  const changed = () => {
    for (const listener of [...listeners]) listener();
  };
  const link = createLink({
    name,
    scheduler,
    breaker,
    idleMs: config.idle_ms,
    async connect(signal) {
      const protocol = spoken;
      spoken = asked;
      const session = await openMcpSession({
        name,
        ...(await fillConfig(config, installation, secretsFor)),
        handles: handlesFor(installation),
        start: () => startFor?.(installation) ?? { copies: [] },
        ...(logFor ? { logOf: (env: Program['env']) => logFor(installation, env) } : {}),
        protocol,
        maxMessageBytes: longestMessage(tools, config.max_output_bytes),
        events: { toolsChanged: changed },
        scheduler,
        signal,
      });
      spoken = session.agreement.version === MODERN_VERSION ? 'modern' : 'handshake';
      if (met) changed();
      met = true;
      return session;
    },
  });
  const send = async (invocation: Invocation, { binding: { target } }: BoundTool) => {
    const { args, signal, progress, spill } = invocation;
    const { channel } = await link.open(signal);
    const params = { name: String(target.name), arguments: withFixed(target, args) };
    const marks = target.headers as unknown as readonly ParamHeader[] | undefined;
    const answer = await channel.ask(
      { method: 'tools/call', params },
      {
        signal,
        progress,
        spill,
        http: invocation.handles?.http,
        ...(marks ? { headers: headersOf(marks, params.arguments) } : {}),
      },
    );
    return readCallResult(answer, target.described === true);
  };
  const ping = ({ channel, agreement }: McpSession, signal: AbortSignal) => {
    const method = agreement.version === MODERN_VERSION ? 'server/discover' : 'ping';
    return channel.ask({ method, params: {} }, { signal });
  };
  return {
    ...linkedConnection({ name, tools, link, scheduler, send, ping }),
    discover: (signal) =>
      link.hold(async () => {
        const { channel, agreement, redactor } = await link.open(signal);
        return bindTools(await listTools(channel, { name, redactor }, signal), agreement, {
          name,
          redactor,
          overlays: config.overlays ?? {},
          http: config.url !== undefined,
          limits: {
            timeoutMs: config.timeout_ms ?? TIMEOUT_MS,
            maxInputBytes: MAX_BYTES,
            maxOutputBytes: config.max_output_bytes ?? MAX_BYTES,
          },
        });
      }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface McpSession extends Linked {
  readonly channel: Channel;
  readonly agreement: Agreement;
  readonly redactor: Redactor | undefined;
}

interface McpSessionOptions {
  readonly name: string;
  readonly config: McpConfig;
  /** Of the secrets that are in it. */
  readonly redactor: Redactor | undefined;
  readonly handles: CallHandles;
  /** Asked when it is started. */
  start(): ProgramStart;
  /** Where what it writes to stderr is kept. */
  logOf?(env: Program['env']): ServerLog;
  readonly protocol: ConverseOptions['protocol'];
  readonly maxMessageBytes: number;
  readonly events: ChannelEvents;
  readonly scheduler: Scheduler;
  readonly signal: AbortSignal;
}

const START_MS = 20_000;
const PROBE_MS = 3_000;

async function openMcpSession(options: McpSessionOptions): Promise<McpSession> {
  const { name, config, protocol, redactor, signal } = options;
  const { channel, lastWords } = await openChannel(options);
  try {
    const agreement = await converse(redactor ? redacting(channel, redactor) : channel, {
      name,
      protocol,
      probeMs: config.probe_timeout_ms ?? PROBE_MS,
      startMs: config.start_timeout_ms ?? START_MS,
      signal,
    });
    return {
      channel,
      agreement,
      redactor,
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

/** What a server says of itself, and why it refuses to begin, is read without what it was given. */
const redacting = (channel: Channel, redactor: Redactor): Channel => ({
  ...channel,
  ask: async (...asked) => redactor.value(await channel.ask(...asked)),
});

async function openChannel(options: McpSessionOptions) {
  const { name, config, handles, maxMessageBytes, events, scheduler } = options;
  if (config.url !== undefined) {
    const { url, headers = {} } = config;
    const { http } = handles;
    return { channel: openHttpChannel({ name, url, headers, http, maxMessageBytes, events, scheduler }) };
  }
  const { exec } = handles;
  const program = programOf(config, process.env, options.start());
  const channel = await openStdioChannel({
    name,
    exec,
    program,
    redactor: options.redactor,
    log: options.logOf?.(program.env),
    maxMessageBytes,
    events,
  });
  return { channel, lastWords: channel.lastWords };
}

interface StdioChannel extends Channel {
  /** What it wrote to stderr last, and its exit code, once it has ended. */
  lastWords(): Promise<LastWords & { readonly code: number | null; readonly fault: string | undefined }>;
}

interface StdioChannelOptions {
  readonly name: string;
  readonly exec: ProgramHandle;
  readonly program: Program;
  /** Of the secrets that it is given. */
  readonly redactor?: Redactor | undefined;
  readonly maxMessageBytes: number;
  readonly events: ChannelEvents;
  readonly log?: ServerLog | undefined;
}

async function openStdioChannel(options: StdioChannelOptions): Promise<StdioChannel> {
  const { name, maxMessageBytes: limit, events } = options;
  const requests = createRequests<RpcAnswer, McpProgress>();
  let closing: Failure | undefined;
  let modern = false;
  const lost = () =>
    fail('call.outcome_unknown', `Cannot say what became of the call: "${name}" ended before it answered`);
  const running = await startLineProgram(
    options.exec,
    options.program,
    limit,
    {
      message(line) {
        for (const message of messagesOf(line))
          if (typeof message.method === 'string')
            hear(message, {
              progress: (token, progress) => requests.notice(token, progress),
              answer: (to, answer) => write({ jsonrpc: '2.0', id: to, ...answer } as JsonObject),
              toolsChanged: events.toolsChanged,
            });
          else requests.answer(message.id, readAnswer(message));
      },
      noise() {},
      redactor: options.redactor,
      ...oversizedLines({ name, limit, requests, stop: (why) => running.end(why) }),
      gone: () => requests.failAll(() => closing ?? lost()),
    },
    options.log,
  );
  const write = (message: JsonObject): void => {
    try {
      running.send(message);
    } catch {
      // It has ended; nobody is left to read this.
    }
  };
  const framed = (params: JsonObject, id: number): JsonObject => ({
    ...params,
    _meta: { ...(params._meta as JsonObject | undefined), ...(modern ? MODERN_META : {}), progressToken: id },
  });
  const channel: StdioChannel = {
    ask: ({ method, params }, { signal, progress, spill }) =>
      requests.ask({
        signal,
        spill,
        send: (id) => running.send({ jsonrpc: '2.0', id, method, params: framed(params, id) }),
        cancel: (requestId) =>
          write({
            jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId, reason: 'cancelled' },
          }),
        ...(progress ? { notice: progress } : {}),
      }),
    tell: async (method, params) =>
      write({ jsonrpc: '2.0', method, ...(params ? { params: params as Json } : {}) }),
    speak(version) {
      modern = version === MODERN_VERSION;
    },
    listen() {
      // With a handshake the server tells without being asked.
      if (!modern) return;
      const params = { notifications: { toolsListChanged: true } };
      channel
        .ask({ method: 'subscriptions/listen', params }, { signal: new AbortController().signal })
        .catch(() => {});
    },
    get gone() {
      return running.gone;
    },
    async lastWords() {
      const { code, stderr } = await running.ended;
      const { program, redactor } = options;
      return { code, fault: running.fault, ...(await lastWords(stderr, program, redactor)) };
    },
    async close(graceMs) {
      closing ??= fail('call.outcome_unknown', `Cannot finish the call: the adapter of "${name}" was closed`);
      requests.failAll(() => closing as Failure);
      await running.stop(graceMs);
    },
  };
  return channel;
}
