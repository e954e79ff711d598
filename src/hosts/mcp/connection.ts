// Owns: one MCP client's conversation: which request gets which answer, over any transport.
// Refuses: bytes and pipes (serve-stdio.ts), and any method that is not about tools or artifacts.
import { isRecord } from '../../base/is-record.ts';
import type { Rejection } from '../../base/rejection.ts';
import { parseStrict } from '../../base/strict-json.ts';
import type { EventMessage } from '../../contract/envelope.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Runtime } from '../../contract/runtime.ts';
import type { Pieces } from './call-result.ts';
import type { UseFinder } from './finders.ts';
import {
  BATCH_VERSION,
  ENVELOPE_VERSIONS,
  HANDSHAKE_VERSIONS,
  isRpcError,
  META,
  type RequestId,
  type RequestParams,
  RPC,
  type RpcError,
  type RpcMessage,
  rpcError,
} from './protocol.ts';
import type { ResourceSite } from './resources.ts';
import { DEFAULT_VIEW, FINDERS, hasFinders, type McpView } from './view.ts';

export interface Connection {
  /** Takes one message of the client, as JSON text. Answers go to `send`, as JSON text. */
  receive(text: string): void;
  /** Tells the client that it sent something that is not text. */
  unreadable(): void;
  /** Tells the client that the list of tools changed. */
  toolsChanged(): void;
  /** Whether every request that was received has its answer. */
  isSettled(): boolean;
  /** Resolves when they have. */
  settled(): Promise<void>;
}

type Resources = typeof import('./resources.ts');

interface Request {
  readonly id: RequestId;
  readonly params: RequestParams;
  /** Fields that results of the envelope revisions carry, as the tail of a JSON object: `,"resultType":…`. */
  readonly extra: string;
  /** Says whether the client cancelled the request; it then gets no answer. */
  readonly cancellation: Cancellation;
}

/** What results of the envelope revisions carry beside their content, as the tail of a JSON object. */
const MODERN = ',"resultType":"complete"';
const CAPABILITIES = { tools: { listChanged: true }, resources: {} };
const INSTRUCTIONS =
  'Tools work in one workspace; paths are relative to its root. haft.yaml decides every call: a refusal names the rule and what to ask the user for, so do not try to get around it. Take back a change of files with undo and the call_id of its result.';
const MORE_TOOLS =
  'There are more tools than are listed: look for them with find_tool, see their arguments with describe_tool, call them with call_tool.';

export interface ConnectionSite {
  runtime(): Promise<Runtime>;
  readonly version: string;
  send(message: Pieces): void;
  /** Absent: the default. */
  readonly view?: McpView | undefined;
  /** The tools as JSON text, where they are known without the runtime. */
  catalogue?(): string | undefined;
  /** Why there are no tools, where the policy is not trusted. */
  untrusted?(): Promise<string | undefined>;
}

export function createConnection(site: ConnectionSite): Connection {
  const { runtime, version, send, view = DEFAULT_VIEW } = site;
  const { catalogue = () => undefined, untrusted = async () => undefined } = site;
  const usual = hasFinders(view) ? `${INSTRUCTIONS} ${MORE_TOOLS}` : INSTRUCTIONS;
  const instructions = async () => (await untrusted()) ?? usual;
  const toolList = async (): Promise<string> => {
    const known = catalogue();
    if (known !== undefined) return known;
    if ((await untrusted()) !== undefined) return '[]';
    const host = await runtime();
    if (view.profile !== 'searchable') await host.installations.settle();
    const { listTools } = await import('./list-tools.ts');
    return listTools(host, view);
  };
  /** Loaded with the first call: what a conversation begins with needs neither. */
  let toResult: typeof import('./call-result.ts').callResult | undefined;
  let useFinder: UseFinder | undefined;
  const serverInfo = { name: 'haft', title: 'Haft', version };
  const underWay = new Map<RequestId, Cancellation>();
  /** By the last handshake. */
  let agreed: string | undefined;
  const working = new Set<Promise<void>>();

  const reply = (id: RequestId, result: string | Pieces) => {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    if (typeof result === 'string') send([`${head}${result}}`]);
    else if (result.length === 1) send([`${head}${result[0]}}`]);
    else send([head, ...result, '}']);
  };
  const refuse = (id: RequestId | null, error: RpcError) => {
    const { rpc: code, message, data } = error;
    const fault = { code, message, ...(data === undefined ? {} : { data }) };
    send([JSON.stringify({ jsonrpc: '2.0', id, error: fault })]);
  };
  const listed = { ttlMs: 0, cacheScope: 'private' };
  const modernMeta = { _meta: { [META.serverInfo]: serverInfo } };
  const listTail = (request: Request) =>
    request.extra
      ? `,${JSON.stringify({ resultType: 'complete', ...listed, ...modernMeta }).slice(1, -1)}`
      : '';

  const METHODS: Readonly<Record<string, (request: Request) => Promise<string | Pieces> | string>> = {
    initialize: async ({ params }) => {
      const asked = params.protocolVersion as (typeof HANDSHAKE_VERSIONS)[number];
      const protocolVersion = HANDSHAKE_VERSIONS.includes(asked) ? asked : HANDSHAKE_VERSIONS[0];
      agreed = protocolVersion;
      return JSON.stringify({
        protocolVersion,
        capabilities: CAPABILITIES,
        serverInfo,
        instructions: await instructions(),
      });
    },
    'server/discover': async () =>
      JSON.stringify({
        supportedVersions: ENVELOPE_VERSIONS,
        // Announcing changes would take `subscriptions/listen`, which clients then open.
        capabilities: { tools: {}, resources: {} },
        instructions: await instructions(),
        resultType: 'complete',
        ...listed,
        ...modernMeta,
      }),
    ping: () => '{}',
    'tools/list': async (request) => `{"tools":${await toolList()}${listTail(request)}}`,
    'tools/call': (request) => callTool(request),
    'resources/list': (request) =>
      resources(request, ({ listResources }, site) => listResources(request.params, site)),
    'resources/templates/list': (request) => resources(request, ({ listTemplates }) => listTemplates()),
    'resources/read': (request) =>
      resources(request, ({ readResource }, site) => readResource(request.params, site)),
  };

  async function resources(
    request: Request,
    answer: (module: Resources, site: ResourceSite) => object | Promise<object>,
  ): Promise<string> {
    const site = { runtime: await runtime(), options: { signal: request.cancellation.signal } };
    const result = JSON.stringify(await answer(await import('./resources.ts'), site));
    return `${result.slice(0, -1)}${listTail(request)}}`;
  }

  async function callTool({ params, extra, cancellation }: Request): Promise<Pieces> {
    const { name, arguments: args = {}, _meta: meta } = params;
    if (typeof name !== 'string') throw rpcError(RPC.params, 'tools/call needs params.name');
    if (!isRecord(args)) throw rpcError(RPC.params, 'params.arguments must be an object');
    const token = meta?.progressToken;
    const progress =
      token === undefined
        ? undefined
        : createProgressSender(token, (message) => cancellation.cancelled || send(message));
    const host = await runtime();
    toResult ??= (await import('./call-result.ts')).callResult;
    const isFinder = hasFinders(view) && FINDERS.includes(name) && !host.tool(name);
    if (isFinder) useFinder ??= (await import('./finders.ts')).createFinders();
    const used = isFinder ? await useFinder!(name, args as JsonObject, host, extra) : undefined;
    if (used && 'result' in used) return used.result;
    const asked = used?.call ?? { tool: name, args: args as JsonObject };
    const call = { ...asked, tool: host.named(asked.tool) ?? asked.tool };
    const { signal } = cancellation;
    const response = await host
      .call(call, { signal, ...(progress ? { onEvent: progress.onEvent } : {}) })
      .finally(() => progress?.end());
    const [error] = response.errors;
    if (error?.reason === 'tool.unknown' && !used)
      throw rpcError(RPC.params, error.message, { reason: error.reason });
    const tool = host.tool(call.tool);
    return toResult(response, { tool, args: call.args ?? {}, structured: view.outputSchemas }, extra);
  }

  const answer = async (method: string, request: Request): Promise<void> => {
    try {
      const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
      if (!handler) throw rpcError(RPC.method, `Method not found: ${method.slice(0, 80)}`);
      const result = await handler(request);
      if (!request.cancellation.cancelled) reply(request.id, result);
    } catch (thrown) {
      refuse(request.id, isRpcError(thrown) ? thrown : startFailure(thrown));
    } finally {
      underWay.delete(request.id);
    }
  };

  const begin = (method: string, id: RequestId, params: RequestParams): void => {
    const asked = params._meta?.[META.protocolVersion];
    if (asked !== undefined && !ENVELOPE_VERSIONS.includes(asked as (typeof ENVELOPE_VERSIONS)[number])) {
      const data = { supported: ENVELOPE_VERSIONS, requested: asked };
      return refuse(id, rpcError(RPC.version, 'Unsupported protocol version', data));
    }
    const cancellation = new Cancellation();
    underWay.set(id, cancellation);
    const work = answer(method, {
      id,
      params,
      extra: asked === undefined ? '' : MODERN,
      cancellation,
    });
    working.add(work);
    work.then(() => working.delete(work));
  };

  const take = (message: unknown): void => {
    if (!isRecord(message)) return refuse(null, rpcError(RPC.request, 'A message is one JSON-RPC object'));
    const { method, id, params = {} } = message as RpcMessage;
    if (typeof params !== 'object' || params === null) {
      return refuse(idOf(message), rpcError(RPC.request, 'params must be an object'));
    }
    if (typeof method !== 'string') {
      // An answer to a request of ours would be fine; we make none.
      if (isAnswer(message)) return;
      return refuse(idOf(message), rpcError(RPC.request, 'A message needs a method'));
    }
    if (id === undefined) {
      if (method === 'notifications/cancelled')
        underWay.get((params as RequestParams).requestId as RequestId)?.cancel();
      return;
    }
    if (typeof id !== 'string' && typeof id !== 'number') {
      return refuse(null, rpcError(RPC.request, 'id must be a string or a number'));
    }
    begin(method, id, params as RequestParams);
  };

  /** Each message is answered by itself, as soon as it can be. A refusal is told to each: whoever waits, waits for its id. */
  const takeBatch = (messages: readonly unknown[], refusal = batchRefusal(messages, agreed)): void => {
    if (!refusal) return messages.forEach(take);
    const ids = messages.flatMap((message) => (isAnswer(message) ? [] : (idOf(message) ?? [])));
    for (const id of ids.length > 0 ? ids : [null]) refuse(id, refusal);
  };

  return {
    receive(text) {
      const { message, refusal } = parse(text);
      if (Array.isArray(message)) takeBatch(message, refusal);
      else if (refusal) refuse(idOf(message), refusal);
      else take(message);
    },
    unreadable: () => refuse(null, rpcError(RPC.parse, 'The line is not UTF-8 text')),
    toolsChanged: () => send(['{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}']),
    isSettled: () => working.size === 0,
    async settled() {
      await Promise.all([...working]);
    },
  };
}

/** As strict as every other door: of two equal keys none wins. What can be read at all is refused by its id. */
function parse(text: string): { readonly message?: unknown; readonly refusal?: RpcError } {
  try {
    return { message: parseStrict(text) };
  } catch (thrown) {
    const { reason, message: why } = thrown as Rejection;
    if (reason !== 'input.not_canonical') return { refusal: rpcError(RPC.parse, 'The line is not JSON') };
    return { message: JSON.parse(text), refusal: rpcError(RPC.params, why, { reason }) };
  }
}

function idOf(message: unknown): RequestId | null {
  const { id } = (message ?? {}) as RpcMessage;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

const isAnswer = (message: unknown): boolean =>
  typeof message === 'object' &&
  message !== null &&
  !('method' in message) &&
  ('result' in message || 'error' in message);

/** Why a batch cannot be taken; undefined where it can. */
function batchRefusal(messages: readonly unknown[], agreed: string | undefined): RpcError | undefined {
  const refuse = (fact: string) =>
    rpcError(RPC.request, `Cannot take a batch: ${fact}; send each message on a line of its own`);
  if (agreed !== BATCH_VERSION)
    return refuse(
      `only revision ${BATCH_VERSION} of MCP has batches, and ${agreed ? `${agreed} was agreed on` : 'none was agreed on'}`,
    );
  if (messages.length === 0) return refuse('it is empty');
  if (messages.some((message) => (message as RpcMessage | null)?.method === 'initialize'))
    return refuse('"initialize" must not be in one');
  return undefined;
}

/** The runtime could not be opened: a bad policy, a damaged store. Every request says so, rather than none. */
function startFailure(thrown: unknown): RpcError {
  if (!isFailure(thrown)) return rpcError(RPC.internal, 'Internal error');
  return rpcError(RPC.internal, thrown.message, { code: thrown.code, reason: thrown.reason });
}

/** Whether a client took its request back, and a signal for who waits: most are answered before anybody could. */
class Cancellation {
  #controller: AbortController | undefined;
  #cancelled = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** As a field, since it is handed on. */
  readonly signal = (): AbortSignal => {
    this.#controller ??= new AbortController();
    if (this.#cancelled) this.#controller.abort();
    return this.#controller.signal;
  };

  cancel(): void {
    this.#cancelled = true;
    this.#controller?.abort();
  }
}

interface ProgressSender {
  onEvent(event: EventMessage): void;
  /**
   * To be called before the answer, which has all of the output: what is still held would arrive together with it, and
   * clients take an answer first and then complain about progress of nothing.
   */
  end(): void;
}

const OUTPUT_MS = 100;
/** A client that hears nothing for long gives a call up. */
const SILENCE_MS = 5_000;
/** The most of the output that one message holds. */
const LONGEST = 2_000;

function createProgressSender(token: unknown, send: (message: Pieces) => unknown): ProgressSender {
  /** MCP's progress must grow with every notification; a tool's percentage need not. */
  let last = 0;
  let hasTotal = false;
  let held = '';
  let due: NodeJS.Timeout | undefined;
  let ended = false;
  const started = Date.now();

  const notify = (pct: number, message: string | undefined) => {
    last = Math.max(last + 0.001, pct);
    const params = {
      progressToken: token,
      progress: last,
      ...(hasTotal ? { total: 100 } : {}),
      ...(message === undefined ? {} : { message }),
    };
    send([JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })]);
    silence.refresh();
  };
  const flush = () => {
    due = undefined;
    const message = held.trimEnd();
    held = '';
    if (message !== '') notify(0, message);
  };
  const silence = setTimeout(() => {
    notify(0, `still running after ${Math.round((Date.now() - started) / 1000)} s`);
  }, SILENCE_MS).unref();

  return {
    onEvent({ event, progress, data }) {
      if (ended) return;
      if (progress) {
        hasTotal ||= progress.pct !== undefined;
        notify(progress.pct ?? 0, progress.message);
      } else if (event === 'TaskOutput') {
        const { text } = data as { readonly text: string };
        held = held.length + text.length > LONGEST ? `…${(held + text).slice(-LONGEST)}` : held + text;
        due ??= setTimeout(flush, OUTPUT_MS).unref();
      }
    },
    end() {
      ended = true;
      clearTimeout(due);
      clearTimeout(silence);
    },
  };
}
