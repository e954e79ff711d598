// Owns: what every toolpack must do, as cases that any of them can be run through.
// Refuses: to know what a tool is for; the calls that the pack brings say what it answers.
import assert from 'node:assert/strict';
import { type Diagnostic, formatDiagnostic } from '../contract/diagnostic.ts';
import type { CallResponse } from '../contract/envelope.ts';
import { isFailure } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { RunData, RunVerification } from '../contract/runs.ts';
import type { ConformanceCase, Environment } from './conformance.ts';

export interface ToolpackCall {
  readonly name: string;
  readonly tool: string;
  /** Every file that it names is an artifact by now. */
  readonly args: JsonObject;
  readonly files: readonly string[];
  readonly result?: Json;
}

export interface ToolpackEnvironment extends Environment {
  /** What the loader says is wrong; then there are no tools. */
  readonly diagnostics: readonly Diagnostic[];
  readonly tools: readonly { readonly id: string; readonly outputs: readonly string[] }[];
  readonly calls: readonly ToolpackCall[];
  /** What the run of a call is named by, as canonical text. */
  identify(tool: string, args: JsonObject): Promise<string>;
  /** The arguments of a call with one byte of one of its files changed. */
  changed(call: ToolpackCall, file: string): Promise<JsonObject>;
  /** The arguments of a call with artifacts that nobody has. */
  withoutArtifacts(call: ToolpackCall): JsonObject;
  call(tool: string, args: JsonObject): Promise<CallResponse>;
  verify(runId: string): Promise<RunVerification>;
}

export type ToolpackCase = ConformanceCase<ToolpackEnvironment>;

export const TOOLPACK_CASES: readonly ToolpackCase[] = [
  {
    name: 'every definition keeps the rules of the ABI, in two environments',
    run: async (env) => requireLoaded(env),
  },
  {
    name: 'there is a call for every tool, and for no other',
    async run(env) {
      requireLoaded(env);
      const ids = env.tools.map(({ id }) => id).sort();
      assert.deepEqual(
        [...new Set(env.calls.map(({ tool }) => tool))].sort(),
        ids,
        'calls/*.json name other tools',
      );
    },
  },
  {
    name: 'a call is the same run however often it is made',
    async run(env) {
      for (const call of callsOf(env)) {
        const { tool, args } = call;
        const first = await env.identify(tool, args);
        for (let n = 0; n < 3; n++) assert.equal(await env.identify(tool, args), first);
        for await (const other of otherArgs(env, call)) await env.identify(tool, other).catch(mayRefuse);
        assert.equal(await env.identify(tool, args), first, `of ${call.name}, after other calls`);
      }
    },
  },
  {
    name: 'a call is another run when one byte of a file that it names changes',
    async run(env) {
      for (const call of callsOf(env)) {
        const before = await env.identify(call.tool, call.args);
        for (const file of call.files)
          assert.notEqual(
            await env.identify(call.tool, await env.changed(call, file)),
            before,
            `of ${call.name}: ${file}`,
          );
      }
    },
  },
  {
    name: 'a call of an artifact that is not there is refused before anything runs',
    async run(env) {
      for (const call of callsOf(env)) {
        if (call.files.length === 0) continue;
        await assert.rejects(env.identify(call.tool, env.withoutArtifacts(call)), (thrown) => {
          assert.ok(isFailure(thrown), `of ${call.name}: ${String(thrown)}`);
          return true;
        });
      }
    },
  },
  {
    name: 'a call executes, makes exactly the declared outputs and the log, and answers what it should',
    async run(env) {
      for (const { name, tool, args, result } of callsOf(env)) {
        const data = await answerOf(env, name, tool, args);
        const declared = env.tools.find(({ id }) => id === tool)?.outputs ?? [];
        assert.deepEqual(
          data.outputs.map(({ role }) => role).sort(),
          [...declared, 'log'].sort(),
          `of ${name}`,
        );
        if (result !== undefined) assert.deepEqual(data.result, result, `of ${name}`);
      }
    },
  },
  {
    name: 'a call that is executed again makes the same bytes and answers the same',
    async run(env) {
      for (const call of callsOf(env)) {
        const { name, tool, args } = call;
        await answerOf(env, name, tool, args);
        const { runId } = await env.call(tool, args);
        // The module has heard of another run then when it hears of this one again.
        for await (const other of otherArgs(env, call)) {
          const { ok, errors } = await env.call(tool, other);
          if (ok) break;
          errors.forEach(mayRefuse);
        }
        const { identical, outputs, result } = await env.verify(runId ?? '');
        const differs = outputs.filter(({ same }) => !same).map(({ role }) => `"${role}"`);
        if (!result.same) differs.push(`the result at ${result.paths.join(', ')}`);
        assert.ok(identical, `of ${name}: ${differs.join(', ')} came out otherwise`);
      }
    },
  },
];

/** Calls that are like this one and another: all that can be changed in it, then one thing at a time. */
async function* otherArgs(env: ToolpackEnvironment, call: ToolpackCall): AsyncGenerator<JsonObject> {
  let count = 0;
  const all = changedLeaves(call.args, () => {
    count += 1;
    return true;
  });
  if (count > 1) yield all as JsonObject;
  for (let n = 0; n < Math.min(count, MOST_LEAVES); n++) {
    let at = 0;
    yield changedLeaves(call.args, () => at++ === n) as JsonObject;
  }
  for (const file of call.files) yield env.changed(call, file);
  for (const { tool, args } of env.calls) if (tool === call.tool && args !== call.args) yield args;
}

/** Arguments that nobody meant may be refused for every reason but this one. */
function mayRefuse(thrown: unknown): void {
  const { reason, message } = thrown as { readonly reason?: unknown; readonly message?: string };
  assert.notEqual(reason, 'toolpack.unstable', message);
}

const MOST_LEAVES = 16;

/** Artifacts are left as they are: another name of one stands for nothing. */
function changedLeaves(value: Json, choose: () => boolean): Json {
  if (typeof value === 'string')
    return !/^sha256:[0-9a-f]{64}$/.test(value) && choose() ? `${value}x` : value;
  if (typeof value === 'number') return choose() ? value + 1 : value;
  if (typeof value === 'boolean') return choose() ? !value : value;
  if (Array.isArray(value)) return value.map((one: Json) => changedLeaves(one, choose));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, changedLeaves(one, choose)]));
}

function requireLoaded({ diagnostics, tools }: ToolpackEnvironment): void {
  assert.deepEqual(diagnostics.map(formatDiagnostic), [], 'the pack cannot be loaded');
  assert.ok(tools.length > 0, 'the pack has no tool');
}

/** A case over no calls would show nothing. */
function callsOf(env: ToolpackEnvironment): readonly ToolpackCall[] {
  requireLoaded(env);
  assert.ok(env.calls.length > 0, 'the pack brings no call: put one into calls/NAME.json');
  return env.calls;
}

async function answerOf(
  env: ToolpackEnvironment,
  name: string,
  tool: string,
  args: JsonObject,
): Promise<RunData> {
  const { ok, errors, data } = await env.call(tool, args);
  assert.ok(ok, `of ${name}: ${errors.map(({ message }) => message).join('; ')}`);
  return data as RunData;
}
