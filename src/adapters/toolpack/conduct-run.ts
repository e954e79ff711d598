// Owns: a toolpack's `run` around an attempt: asked in two processes that must answer one result, in bytes that stay.
// Refuses: a result that depends on anything but the run, and a `run` that takes longer than its plan may.
import { canonicalText } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json, JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { ConductedAttempt } from '../../contract/runs.ts';
import { isRecord, show } from './check-definition.ts';
import type { ToolFields } from './contract-of.ts';
import { type RunAsking, refusal, type Toolpack } from './toolpack.ts';

/** Beside its program a `run` reads and counts; whatever its plan's time, it has no more than this. */
const LONGEST_MS = 60_000;
const READ_OUTPUT = 1024 * 1024;

interface ConductSite {
  readonly toolpack: Pick<Toolpack, 'run'>;
  readonly schemas: SchemaCompiler;
}

export async function conductRun(
  { toolpack, schemas }: ConductSite,
  fields: ToolFields,
  attempt: ConductedAttempt,
): Promise<Json> {
  const { toolName, result: schema } = fields;
  const answer = await toolpack.run(toolName, askings(toolName, attempt));
  const cannot = `Cannot take the result of "${toolName}"`;
  if (!answer.ok && 'difference' in answer) {
    const { path, first, second } = answer.difference;
    const message = `${cannot}: in two environments its run() answered two different results; at "${path}" ${show(first)} and ${show(second)}`;
    throw fail('toolpack.unstable', message, { path, first: show(first), second: show(second) });
  }
  if (!answer.ok && 'refused' in answer) throw refusal(toolName, answer.refused);
  if (!answer.ok) throw fail('toolpack.abi', `${cannot}: at "${answer.unsafe.path}" ${answer.unsafe.fact}`);
  const { value } = answer;
  if (!isRecord(value)) throw fail('toolpack.abi', `${cannot}: it is ${show(value)}, not an object`);
  const result = inOneForm(value, cannot);
  const problems = schema === undefined ? [] : await (await schemas.compile(schema))(structuredClone(result));
  if (problems.length > 0) {
    const list = problems.map(({ path, message }) => `${path || 'result'} ${message}`).join('; ');
    throw fail('output.schema', `${cannot}: ${list}`);
  }
  return result;
}

/** Equal results are equal bytes, whatever the order in which their fields were written. */
function inOneForm(value: JsonObject, cannot: string): Json {
  try {
    return JSON.parse(canonicalText(value));
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    throw fail('toolpack.abi', `${cannot}: ${thrown.message}`);
  }
}

/**
 * The second is asked about the same run as if it were another attempt: it hears what the first was answered, and what it
 * says and keeps goes nowhere.
 */
function askings(tool: string, attempt: ConductedAttempt): readonly [RunAsking, RunAsking] {
  const { id, ticket, args, checkpointed, signal } = attempt;
  const { runId, plan, carry } = ticket;
  const patienceMs = Math.min(plan.resources.wallMs, LONGEST_MS);
  const late = (): Failure =>
    fail(
      'time.deadline',
      `Cannot finish "${tool}": its run() took longer than ${patienceMs} ms, beside its program; the plan's wallMs, up to ${LONGEST_MS} ms, is what it has`,
      { limit_ms: patienceMs },
    );
  const shared = { signal, patienceMs, late };
  const heard = new Map<string, Promise<unknown>>();
  return [
    {
      ...shared,
      input: { ...carry, runId, attemptId: id, args, checkpointed },
      reply(method, params) {
        const answer = answerFrom(RUN, method, params, attempt);
        if (ONCE.includes(method)) heard.set(keyOf(method, params), answer);
        return answer;
      },
    },
    {
      ...shared,
      input: { ...carry, runId, attemptId: `att_${sha256Hex(id)}`, args, checkpointed: null },
      async reply(method, params) {
        if (UNHEARD.includes(method)) return null;
        if (!ONCE.includes(method)) return answerFrom(RUN, method, params, attempt);
        const answer = heard.get(keyOf(method, params));
        if (answer) return answer;
        throw fail(
          'toolpack.unstable',
          `Cannot take the result of "${tool}": in another environment its run() asked for ${show([method, ...params])}, which it had not asked for before`,
        );
      },
    },
  ];
}

/** What changes the attempt happens when the first asks, and only then. */
const ONCE: readonly string[] = ['run.execute', 'run.link'];
const UNHEARD: readonly string[] = ['run.log', 'run.checkpoint'];

const keyOf = (method: string, params: readonly unknown[]): string =>
  JSON.stringify(method === 'run.link' ? [method, String(params[0])] : [method]);

const RUN: Replies<ConductedAttempt> = {
  'run.execute': (_params, attempt) => attempt.execute(),
  async 'run.link'([role], attempt) {
    const { artifact, size } = await attempt.link(String(role));
    return { artifactId: artifact, size };
  },
  async 'run.read'([role, maxBytes], attempt) {
    return Buffer.from(await attempt.read(String(role), readAmount(maxBytes, READ_OUTPUT))).toString();
  },
  'run.log': ([text], attempt) => attempt.log(String(text)),
  async 'run.checkpoint'([state], attempt) {
    if (!isRecord(state)) throw fail('toolpack.abi', 'Cannot keep the checkpoint: it is not an object');
    await attempt.checkpoint(state);
  },
};

export type Replies<T> = {
  readonly [method: string]: (params: readonly unknown[], given: T) => Promise<unknown>;
};

export async function answerFrom<T>(
  table: Replies<T>,
  method: string,
  params: readonly unknown[],
  given: T,
): Promise<unknown> {
  const found = Object.hasOwn(table, method) ? table[method] : undefined;
  if (found === undefined)
    throw fail('toolpack.abi', `Cannot answer "${method.slice(0, 80)}": there is no such question`);
  return found(params, given);
}

const READ_MOST = 8 * 1024 * 1024;

export const readAmount = (given: unknown, usual: number): number =>
  typeof given === 'number' && given > 0 ? Math.min(given, READ_MOST) : usual;
