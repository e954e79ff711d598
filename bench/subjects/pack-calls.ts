// Owns: what the whole pipeline adds to a call of a tool from elsewhere: an MCP server, a Python function.
// Refuses: to leave anything out: schemas, policy, the sandbox around the program and the audit row are all there.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { drive } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type LinePeer, openLinePeer } from '../line-peer.ts';
import { type McpClient, openMcp, resultOf } from '../mcp-client.ts';
import { type Comparison, defineSubject, type Figures, type Scale } from '../measure.ts';
import { mustCall, openRuntime, ROOT } from '../product.ts';

interface State {
  readonly runtime: DefaultRuntime;
  readonly server: McpClient;
  readonly python: LinePeer;
}

const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const MESSAGE = 'x'.repeat(200);
const INPUT = { text: MESSAGE, times: 3 };

const FUNCTION = `def run(input):
    return {"text": input["text"] * input["times"]}
`;

const MANIFEST = `id: bench.repeat
version: 1.0.0
deterministic: false
idempotent: true
timeoutMs: 10000
limits: { maxInputBytes: 65536, maxOutputBytes: 65536 }
inputSchema:
  type: object
  required: [text, times]
  properties: { text: { type: string }, times: { type: integer, minimum: 1 } }
  additionalProperties: false
outputSchema: { type: object, required: [text], properties: { text: { type: string } } }
execution: { kind: python, module: "bench_tool:run", warm: true }
`;

/** The direct call, and what may come on top of it. */
const allowing =
  (extraMs: number, call: (state: State) => Promise<unknown>) =>
  async (state: State, scale: Scale): Promise<Figures> => {
    const { p50 = 0, p95 = 0 } = await alone(call)(state, scale);
    return { p50: p50 + extraMs, p95: p95 + extraMs };
  };

const alone =
  (call: (state: State) => Promise<unknown>) =>
  (state: State, { sliceMs }: Scale): Promise<Figures> =>
    drive(() => call(state), { inFlight: 1, ms: sliceMs, atLeast: 50 });

const throughHaft = (tool: string, args: Parameters<typeof mustCall>[2]) =>
  alone(({ runtime }) => mustCall(runtime, tool, args));

const comparison = (
  name: string,
  haft: ReturnType<typeof alone>,
  direct: (state: State) => Promise<unknown>,
  extraMs: number,
): Comparison<State> => {
  const budget = `the same, direct, and ${extraMs} ms`;
  return {
    name,
    rounds: 15,
    contenders: { 'through haft': haft, [budget]: allowing(extraMs, direct), direct: alone(direct) },
    goals: [{ figure: 'p50', ratio: '<=', value: 1, of: budget }],
    also: [{ figure: 'p50', of: 'direct' }],
  };
};

const echo = ({ server }: State) => server.call('echo', { message: MESSAGE });
const repeat = ({ python }: State) => python.ask({ input: INPUT });

export const packCalls = defineSubject<State>({
  name: 'pack-calls',
  about:
    'One call at a time of tools from elsewhere, through the whole pipeline (schemas, policy, sandbox, audit row), against the same ' +
    'program asked directly over its pipes: `echo` of `@modelcontextprotocol/server-everything`, which only reads, and a Python ' +
    'function with `warm: true`. The goal is the direct time of the same round and what may come on top of it.',
  async open() {
    const workspace = makeWorkspace();
    mkdirSync(join(workspace, 'pack'));
    writeFileSync(join(workspace, 'pack/bench_tool.py'), FUNCTION);
    writeFileSync(join(workspace, 'pack/repeat.tool.yaml'), MANIFEST);
    appendFileSync(
      join(workspace, 'haft.yaml'),
      `packs:\n  - pack\n  - { name: everything, mcp: { command: [node, ${EVERYTHING}, stdio] } }\n`,
    );
    trustForTests(workspace);
    const runtime = await openRuntime(workspace);
    const server = openMcp({ args: [EVERYTHING, 'stdio'] });
    await server.initialize();
    const python = openLinePeer('python3', [
      join(ROOT, 'bench/peers/plain-python.py'),
      join(workspace, 'pack'),
    ]);
    const state = { runtime, server, python };
    const { content } = resultOf(await server.call('echo', { message: MESSAGE }));
    assert.deepEqual(await mustCall(runtime, 'everything.echo', { message: MESSAGE }), {
      text: content[0].text,
    });
    assert.equal(runtime.tool('everything.echo')?.mutates, false);
    assert.deepEqual(await repeat(state), { data: await mustCall(runtime, 'bench.repeat', INPUT) });
    return state;
  },
  async close({ runtime, server, python }) {
    await Promise.all([server.close(), python.close()]);
    await runtime.close();
  },
  comparisons: [
    comparison(
      'a proxied MCP call that only reads',
      throughHaft('everything.echo', { message: MESSAGE }),
      echo,
      0.5,
    ),
    comparison('a call of a kept Python function', throughHaft('bench.repeat', INPUT), repeat, 2),
  ],
});
