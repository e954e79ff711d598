// Owns: the strategies: for each, one way to look at a subject once, and what the words that it hears mean.
// Refuses: thresholds and intervals, which are judge.ts's and the monitor's; to take a word that it does not know for good news.
import { fail } from '../../contract/errors.ts';
import type { HealthPlan, HealthStrategy, HealthWays } from '../../contract/health.ts';
import type { Look } from './judge.ts';

/** Undefined where there is nothing to be seen. */
type Probe = (plan: HealthPlan, ways: HealthWays, signal: AbortSignal) => Promise<Look | undefined>;

/** Only the adapter can tell whether its program starts, its host takes a connection, its server answers. */
const askAdapter: Probe = async (_plan, ways, signal) => {
  const { status, message } = await (await ways.connection()).health(signal);
  if (status === 'unverified') return undefined;
  return { status: normaliseStatus(status), ...(message === undefined ? {} : { message }) };
};

const askEndpoint: Probe = async ({ url, timeoutMs }, { http }, signal) => {
  if (url === undefined || !http) throw impossible('endpoint', 'there is no url to ask');
  const { status } = await http.request({ url, signal, timeoutMs, retries: 0, maxBytes: 0 });
  return status < 400
    ? { status: 'ready' }
    : { status: 'unhealthy', message: `its endpoint answers with status ${status}` };
};

const callTool: Probe = async ({ tool, input = {} }, { call }, signal) => {
  if (tool === undefined || !call) throw impossible('ping', 'there is no tool to call');
  const { ok, errors } = await call({ tool, args: input }, { signal });
  return ok ? { status: 'ready' } : { status: 'unhealthy', message: errors[0]?.message ?? 'its call failed' };
};

/** A new strategy is a line here and one in the contract. */
export const PROBES: { readonly [S in HealthStrategy]: Probe } = {
  process: askAdapter,
  connection: askAdapter,
  mcp: askAdapter,
  endpoint: askEndpoint,
  ping: callTool,
};

const impossible = (strategy: HealthStrategy, fact: string) =>
  fail('pack.invalid', `Cannot look by ${strategy}: ${fact}`);

/** Case and surrounding spaces do not matter; what is unknown is `unhealthy`. */
export function normaliseStatus(word: unknown): Look['status'] {
  const known = typeof word === 'string' ? word.trim().toLowerCase() : '';
  return Object.hasOwn(MEANINGS, known) ? MEANINGS[known]! : 'unhealthy';
}

const MEANINGS: Readonly<Record<string, Look['status']>> = {
  ready: 'ready',
  ok: 'ready',
  up: 'ready',
  pass: 'ready',
  passing: 'ready',
  healthy: 'ready',
  serving: 'ready',
  degraded: 'degraded',
  warn: 'degraded',
  warning: 'degraded',
  partial: 'degraded',
};
