// Owns: `*.tool.yaml` tools of the kind http: a request from templates, and data from its answer.
// Refuses: a scheme that its caps do not name, addresses that the guarded handle refuses, and sending twice what may have
// arrived, unless the tool is idempotent.
import type { Adapter, HandlesFor, Invocation, InvocationResult } from '../../contract/adapter.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { type HttpRequest, parseHttpUrl } from '../../contract/http.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { YamlExecutions } from '../../contract/yaml-tool.ts';
import { createAnswerReader, readAnswerText } from '../answer.ts';
import type { BreakerOptions, CircuitBreaker } from '../attempts.ts';
import { attempt, createCircuitBreaker, markUnsent, SEND_ONCE, USUAL_BREAKER } from '../attempts.ts';
import { closedLink } from '../link.ts';
import { type Scheduler, SYSTEM_SCHEDULER } from '../scheduler.ts';
import { createFillings, type Filling, runInputs, type YamlUse, yamlUse } from '../yaml-filling.ts';

export interface HttpAdapterHandles {
  readonly handlesFor: HandlesFor;
  readonly scheduler?: Scheduler;
  readonly breaker?: BreakerOptions;
  /** Where `env.passthrough` is taken from; by default this process. */
  readonly env?: NodeJS.ProcessEnv;
}

/** How much of a failing answer's body is kept. */
const EXCERPT = 2048;
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

export function createHttpAdapter(handles: HttpAdapterHandles): Adapter {
  const { handlesFor, scheduler = SYSTEM_SCHEDULER, breaker = USUAL_BREAKER } = handles;
  const fillings = createFillings(handles.env);
  return {
    name: 'http',
    needs: ({ tool }) =>
      fixedOrigin(tool).map((url) => ({ kind: 'net.connect', ...parseHttpUrl(url).target })),
    effects({ installation, tool, args }) {
      const use = yamlUse(tool);
      const filling = fillings.masked(use, { input: args, config: installation.config });
      return [{ kind: 'net.connect', ...targetOf(use, filling) }];
    },
    runIdentity: ({ installation: { config }, tool, args: input }) =>
      runInputs(fillings, yamlUse(tool), { input, config }),
    open(installation, tools) {
      const byId = new Map(tools.map((tool) => [tool.contract.id, tool]));
      const closing = new AbortController();
      const breakers = new Map<string, CircuitBreaker>();
      const breakerOf = (host: string): CircuitBreaker => {
        const known = breakers.get(host) ?? createCircuitBreaker(host, breaker, scheduler);
        breakers.set(host, known);
        return known;
      };
      const send = async (invocation: Invocation, use: YamlUse, n: number): Promise<InvocationResult> => {
        const { args: input, credentials: secrets = {} } = invocation;
        const filling = fillings.fill(use, { input, config: installation.config, secrets });
        const { host, port } = targetOf(use, filling);
        const { http } = invocation.handles ?? handlesFor(installation);
        const signal = AbortSignal.any([invocation.signal, closing.signal]);
        try {
          const run = () => exchange(use, requestOf(use, filling, input), { ...invocation, signal }, http, n);
          return await breakerOf(`${host}:${port}`).guard(run, isLost);
        } catch (thrown) {
          if (invocation.signal.aborted) throw invocation.signal.reason;
          throw closing.signal.aborted ? closing.signal.reason : sentOrNot(thrown, use);
        }
      };
      return {
        async invoke(invocation) {
          const { tool: id, signal } = invocation;
          if (closing.signal.aborted) throw closing.signal.reason;
          const bound = byId.get(id);
          if (!bound)
            throw fail('tool.unknown', `Cannot call "${id}": "${installation.name}" has no such tool`);
          const use = yamlUse(bound);
          const plan = use.tool.retry ?? SEND_ONCE;
          return attempt((n) => send(invocation, use, n), {
            plan,
            idempotent: use.idempotent,
            signal,
            scheduler,
          });
        },
        async health(signal) {
          const checkedTs = Date.now();
          if (closing.signal.aborted) return { status: 'unhealthy', checkedTs, message: 'closed' };
          const origins = new Set(tools.flatMap(fixedOrigin));
          if (origins.size === 0) return { status: 'unverified', checkedTs: null };
          const { http } = handlesFor(installation);
          try {
            for (const url of origins) await http.request({ url, method: 'HEAD', signal, maxRedirects: 0 });
            return { status: 'ready', checkedTs };
          } catch (thrown) {
            return { status: 'unhealthy', checkedTs, message: (thrown as Error).message };
          }
        },
        async close() {
          closing.abort(closedLink(installation.name));
        },
      };
    },
  };
}

type Request = YamlExecutions['http'];

const requestKind = ({ execution, id }: YamlUse): Request => {
  if (execution.kind !== 'http') throw fail('pack.invalid', `Cannot request "${id}": it is no http tool`);
  return execution;
};

function targetOf(use: YamlUse, filling: Filling) {
  const { target } = parseHttpUrl(filling.text(requestKind(use).url, 'url'));
  const { network } = use.tool.caps;
  if (!network.includes(target.scheme as 'http' | 'https')) {
    const granted = network.length > 0 ? network.join(', ') : 'nothing';
    throw fail(
      'policy.undeclared',
      `Cannot connect ${target.scheme}://${target.host}: "${use.id}" has ${granted} in caps.network`,
    );
  }
  return target;
}

function requestOf(use: YamlUse, filling: Filling, input: unknown): HttpRequest {
  const { url, method, headers, body } = requestKind(use);
  const filled: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    filled[name.toLowerCase()] = filling.text(value, `headers.${name}`);
  for (const [name, value] of Object.entries(filling.headers)) filled[name.toLowerCase()] = value;
  const sent =
    body !== undefined ? filling.json(body, 'body') : WITH_BODY.has(method) ? (input as never) : undefined;
  const text = sent === undefined ? undefined : typeof sent === 'string' ? sent : JSON.stringify(sent);
  if (text !== undefined && typeof sent !== 'string') filled['content-type'] ??= 'application/json';
  filled.accept ??= 'application/json, */*;q=0.5';
  return {
    url: filling.text(url, 'url'),
    method,
    headers: filled,
    ...(text === undefined ? {} : { body: text }),
  };
}

async function exchange(
  use: YamlUse,
  request: HttpRequest,
  { signal, progress, spill }: Pick<Invocation, 'signal' | 'progress' | 'spill'>,
  http: ReturnType<HandlesFor>['http'],
  attempts: number,
): Promise<InvocationResult> {
  const { id, limits, timeoutMs, idempotent, outputSchema, tool } = use;
  const reader = createAnswerReader({ id, maxBytes: limits.maxOutputBytes, spill, progress });
  const onData = (chunk: Uint8Array) => reader.push(chunk);
  const response = await http
    .request({ ...request, signal, timeoutMs, retries: 0, onData })
    .catch(async (thrown) => {
      await reader.discard();
      throw thrown;
    });
  const { status } = response;
  const text = await reader.text();
  const { attempts: most = 1, onStatus = [] } = tool.retry ?? {};
  if (onStatus.includes(status) && idempotent && attempts < most)
    throw fail('http.failed', `Cannot call "${id}": the service answers with HTTP ${status}`, { status });
  const answer = readAnswerText(text, outputSchema);
  if (status >= 400) {
    const said = answer && !answer.ok ? `: ${answer.message}` : '';
    const details = { status, body: text.slice(0, EXCERPT) };
    return { ok: false, message: `the service answers with HTTP ${status}${said}`, details };
  }
  if (answer) return answer;
  const type = String(response.headers['content-type'] ?? 'no content-type');
  return {
    ok: false,
    message: `the answer is not JSON (${type.slice(0, 80)})`,
    details: { status, body: text.slice(0, EXCERPT) },
  };
}

/** What says something about the host, and not about the call. */
const isLost = (thrown: unknown): boolean =>
  isFailure(thrown) && ['http.failed', 'call.outcome_unknown', 'time.deadline'].includes(thrown.reason);

/** The handle takes a lost GET for harmless; whether it is, the tool says. */
function sentOrNot(thrown: unknown, { idempotent }: YamlUse): unknown {
  if (!isFailure(thrown) || thrown.reason !== 'http.failed' || thrown.details?.status !== undefined)
    return thrown;
  const { message, details } = thrown;
  if (UNSENT.has(String(details?.cause))) return markUnsent(thrown);
  return idempotent ? thrown : fail('call.outcome_unknown', message, details);
}

/** Causes before there was a connection. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Where a tool's url is no template, or one only behind its host. */
function fixedOrigin(bound: BoundTool): string[] {
  const { execution } = yamlUse(bound);
  if (execution.kind !== 'http') return [];
  const origin = /^https?:\/\/[^/?#{}]+(?=[/?#]|$)/.exec(execution.url)?.[0];
  return origin === undefined ? [] : [`${origin}/`];
}
