// Owns: MCP over the pipes of a contained program: one JSON-RPC message a line.
// Refuses: to start the program again; a channel that is gone stays so.
import type { Redactor } from '../../base/redact/create-redactor.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Program, ProgramHandle } from '../../contract/program.ts';
import { type LastWords, lastWords, type ServerLog, startLineProgram } from '../line-program.ts';
import { createRequests, oversizedLines } from '../requests.ts';
import { type Channel, type ChannelEvents, hear, type McpProgress } from './converse.ts';
import { MODERN_META, MODERN_VERSION, messagesOf, type RpcAnswer, readAnswer } from './protocol.ts';

export interface StdioChannel extends Channel {
  /** What it wrote to stderr last, and its exit code, once it has ended. */
  lastWords(): Promise<LastWords & { readonly code: number | null; readonly fault: string | undefined }>;
}

export interface StdioChannelOptions {
  readonly name: string;
  readonly exec: ProgramHandle;
  readonly program: Program;
  /** Of the secrets that it is given. */
  readonly redactor?: Redactor | undefined;
  readonly maxMessageBytes: number;
  readonly events: ChannelEvents;
  readonly log?: ServerLog | undefined;
}

export async function openStdioChannel(options: StdioChannelOptions): Promise<StdioChannel> {
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
