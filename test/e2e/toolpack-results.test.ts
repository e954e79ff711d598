// Owns: what a toolpack's run() answers: one result for one run, the same bytes for ever; and that run() ends in time.
// Refuses: engines; what conducts a run is the same on every backend.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { RunData } from '../../src/contract/runs.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { exportRun } from '../../src/preset/prove.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { eventually } from '../support/eventually.ts';
import { cli } from './support/cli.ts';

interface Pack {
  readonly root: string;
  runtime(): Promise<DefaultRuntime>;
  close(): Promise<void>;
}

/** A tool that writes a word and answers what `answer` says, once its output is linked. */
async function withPack(
  answer: string,
  use: (pack: Pack) => Promise<void>,
  { wallMs = 20_000, limits = '' } = {},
): Promise<void> {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-results-')));
  mkdirSync(join(root, 'word'));
  writeFileSync(join(root, 'word/package.json'), '{"type":"module","haft":{"toolpack":"toolpack.ts"}}');
  writeFileSync(
    join(root, 'word/toolpack.ts'),
    `import os from 'node:os';
import { defineTool } from 'haft/toolpack';
let n = 0, last;
const heard = [], known = new Set(), asked = new Set();
const OUTPUTS = [{ role: 'word', type: 'text/plain', label: 'A word', srcRelpath: 'out/word' }];
export default defineTool({
  abiVersion: 'v1', toolName: 'word', contractVersion: 'v1', planKind: 'slurm', description: 'Writes a word.',
  input: { type: 'object' }, declaredOutputs: OUTPUTS, ${limits}
  canonicalize: (args) => asked.add(args.text) && ({ canonicalParams: { ...args }, inputsToLink: [], plan: {
    kind: 'slurm', argv: ['sh', '-c', 'printf word > out/word'], resources: { wallMs: ${wallMs} }, io: { inputs: [], outputs: OUTPUTS },
  } }),
  async run(run) {
    await run.execute();
    const linked = await run.linkOutput('word');
    ${answer}
  },
});
`,
  );
  mkdirSync(join(root, 'word/calls'));
  writeFileSync(join(root, 'word/calls/one.json'), '{"tool":"word","args":{"text":"a"}}');
  writeTrusted(join(root, 'haft.yaml'), 'version: 1\npacks: [word]\n');
  let runtime: DefaultRuntime | undefined;
  const pack: Pack = {
    root,
    async runtime() {
      runtime ??= await createDefaultRuntime({ workspace: root });
      return runtime;
    },
    async close() {
      await runtime?.close();
      runtime = undefined;
    },
  };
  try {
    await use(pack);
  } finally {
    await pack.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** What a result may not depend on. */
const LIES: Readonly<Record<string, string>> = {
  'the time': 'return { words: Date.now() };',
  'the year, deep in it': 'return { a: [{ b: new Date().getFullYear() }] };',
  'a random bit': 'return { words: Math.random() < 0.5 };',
  'a random bit of crypto': 'return { words: crypto.getRandomValues(new Uint8Array(1))[0] & 1 };',
  'how long its program took':
    'const t = Date.now(); await run.readOutput("word"); return { words: Date.now() - t };',
  chance: 'return { words: Math.random() };',
  'the host name': 'return { words: os.hostname() };',
  'the kernel': 'return { words: os.release() };',
  'the version of Node.js': 'return { words: process.version };',
  'the folder': 'return { words: process.cwd() };',
  'the locale': 'return { words: (1234.5).toLocaleString() };',
  'the attempt': 'return { words: run.attemptId };',
  'how often it was asked': 'return { words: ++n };',
  'a field that is there at times': 'return new Date().getFullYear() % 2 ? { odd: 1 } : { even: 1 };',
  'whether it throws': "if (process.platform !== 'linux') throw new Error('not here'); return {};",
};

/** What a pack may do to its own process; the answer is what `run` returned all the same. */
const POISON: readonly string[] = [
  "JSON.stringify = () => '{}';",
  'JSON.stringify = () => undefined;',
  "JSON.stringify = () => { throw new Error('no'); };",
  'JSON.parse = () => ({});',
  'JSON = {};',
  "Array.prototype.toJSON = () => 'poisoned';",
  "String.prototype.toJSON = () => 'poisoned';",
  'Map.prototype.get = () => undefined;',
  'Object.keys = Object.entries = () => [];',
  'Array.isArray = () => false;',
  'String.prototype.split = () => [];',
  'String.prototype.slice = String.prototype.indexOf = () => 0;',
  'Array.prototype[Symbol.iterator] = function* () {};',
  'Array.prototype.then = () => {};',
  'Array.prototype.map = Array.prototype.find = () => [];',
  'Function.prototype.call = Function.prototype.apply = () => {};',
  'Reflect.apply = () => {};',
  'Promise = class {};',
  'globalThis.Promise = undefined;',
  'structuredClone = () => ({});',
  'Buffer.from = () => [];',
  'process.stdout.write = () => true;',
  'process.stdin.on = process.exit = () => {};',
  "(await import('node:events')).EventEmitter.prototype.emit = () => true;",
  "(await import('node:stream')).Readable.prototype.push = () => true;",
  "(await import('node:fs')).default.writeSync = () => 1e9;",
  'setTimeout = setImmediate = () => {};',
  'Error = TypeError = null;',
  'process = Buffer = Uint8Array = undefined;',
  'Object.defineProperty = Object.create = Object.getOwnPropertyDescriptor = () => {};',
];

/** Without these nobody could wait for an answer. */
const FORBIDDEN: readonly string[] = [
  'Promise.prototype.then = () => {};',
  'Promise.prototype.constructor = class {};',
  'Object.prototype.then = () => {};',
  'Object.prototype.x = 1;',
];

/** What a module can remember of earlier calls, each as it is at a call with the text "b" after one with "a". */
const MEMORIES: Readonly<Record<string, string>> = {
  'a list of its module': 'heard.push(run.args.text); return { v: [...new Set(heard)].join() };',
  'a set of its module': 'known.add(run.args.text); return { v: [...known].sort() };',
  'a global': 'return { v: (globalThis.first ??= run.args.text) };',
  'the call before': 'const v = last; last = run.args.text; return { v: v === last ? null : (v ?? null) };',
  'a builtin that it changed': 'Math.first ??= run.args.text; return { v: Math.first };',
  'a builtin module that it changed': 'os.first ??= run.args.text; return { v: os.first };',
  'a symbol': "const at = Symbol.for('x'); Symbol[at] ??= run.args.text; return { v: Symbol[at] };",
  'a variable': 'process.env.FIRST ??= run.args.text; return { v: process.env.FIRST };',
  'what canonicalize heard': 'return { v: [...asked].sort() };',
};

describe('the result of run()', () => {
  for (const [what, answer] of Object.entries(MEMORIES))
    it(`is refused where it depends on earlier calls through ${what}`, () =>
      withPack(answer, async (pack) => {
        const runtime = await pack.runtime();
        const call = (text: string) => runtime.call({ tool: 'word', args: { text } });
        await call('a');
        const { errors, data } = await call('b');
        assert.equal(errors[0]?.reason, 'toolpack.unstable', JSON.stringify([errors, data]));
      }));

  it('may come from what the module keeps of earlier calls, as long as it is the same without', () =>
    withPack('known.add(run.args.text); return { v: known.has(run.args.text) };', async (pack) => {
      const runtime = await pack.runtime();
      for (const text of ['a', 'b', 'c', 'd']) {
        const { ok, errors } = await runtime.call({ tool: 'word', args: { text } });
        assert.ok(ok, JSON.stringify(errors));
      }
    }));

  for (const [what, answer] of Object.entries(LIES))
    it(`is refused where it depends on ${what}, and nothing is kept`, () =>
      withPack(answer, async (pack) => {
        const runtime = await pack.runtime();
        const { errors, data, runId } = await runtime.call({ tool: 'word', args: {} });
        assert.equal(errors[0]?.reason, 'toolpack.unstable', JSON.stringify([errors, data]));
        assert.equal((await runtime.runs.get(runId as string)).result, null);
      }));

  for (const poison of POISON)
    it(`is answered although the pack says ${poison}`, () =>
      withPack(`${poison} return { words: [1, { a: 'b' }] };`, async (pack) => {
        const { errors, data } = await (await pack.runtime()).call({ tool: 'word', args: {} });
        assert.deepEqual(
          (data as RunData | null)?.result,
          { words: [1, { a: 'b' }] },
          JSON.stringify(errors),
        );
      }));

  for (const poison of FORBIDDEN)
    it(`is a failure of the toolpack, with its line, where the pack says ${poison}`, () =>
      withPack(`${poison} return {};`, async (pack) => {
        const { errors } = await (await pack.runtime()).call({ tool: 'word', args: {} });
        assert.equal(errors[0]?.reason, 'toolpack.failed', JSON.stringify(errors));
        assert.match(errors[0]?.message ?? '', /Cannot .*toolpack\.ts:\d+/);
      }));

  it('is a failure of the toolpack where it throws what has no text', () =>
    withPack('throw Object.create(null);', async (pack) => {
      const { errors } = await (await pack.runtime()).call({ tool: 'word', args: {} });
      assert.equal(errors[0]?.reason, 'toolpack.failed', JSON.stringify(errors));
      assert.match(errors[0]?.message ?? '', /it threw something that cannot be shown as text/);
    }));

  it('is a failure of the toolpack where it writes something else in place of an answer', () =>
    withPack("(await import('node:fs')).writeSync(1, '{}\\n'); return {};", async (pack) => {
      const { errors } = await (await pack.runtime()).call({ tool: 'word', args: {} });
      assert.equal(errors[0]?.reason, 'toolpack.failed', JSON.stringify(errors));
    }));

  it('is refused by toolpack check, too', () =>
    withPack(LIES['the time'] as string, async ({ root }) => {
      const { status, stdout, stderr } = await cli(root, 'toolpack', 'check', join(root, 'word'));
      assert.notEqual(status, 0);
      assert.match(stdout + stderr, /two different results; at \\?"\/words/);
    }));

  it('is refused by toolpack check where it depends on earlier calls', () =>
    withPack(MEMORIES['a global'] as string, async ({ root }) => {
      const { status, stdout, stderr } = await cli(root, 'toolpack', 'check', join(root, 'word'));
      assert.notEqual(status, 0);
      assert.match(stdout + stderr, /two different results; at \\?"\/v/);
    }));

  it('is none where an output was linked in another environment only', () =>
    withPack("if (process.platform !== 'linux') await run.linkOutput('more'); return {};", async (pack) => {
      const { errors } = await (await pack.runtime()).call({ tool: 'word', args: {} });
      assert.equal(errors[0]?.reason, 'toolpack.unstable');
      assert.match(errors[0]?.message ?? '', /asked for .*run\.link.*more/);
    }));

  it('is one text, whatever the order of its fields, executed or replayed, in this process or the next', () =>
    withPack('return { b: 1, a: { d: [1, 2], c: linked.artifactId }, 10: 0, 9: 0 };', async (pack) => {
      const args = { tool: 'word', args: {} };
      const first = await (await pack.runtime()).call(args);
      assert.ok(first.ok, JSON.stringify(first.errors));
      const text = JSON.stringify(first.data);
      assert.deepEqual(Object.keys((first.data as RunData).result as object), ['9', '10', 'a', 'b']);
      for (const restart of [false, true]) {
        if (restart) await pack.close();
        const again = await (await pack.runtime()).call(args);
        assert.deepEqual([again.replayed, JSON.stringify(again.data)], [true, text]);
      }
    }));

  it('may be what its outputs, its arguments and its run say', () =>
    withPack(
      "return { ...linked, text: await run.readOutput('word'), id: run.runId, args: run.args };",
      async (pack) => {
        const runtime = await pack.runtime();
        const { ok, errors, runId } = await runtime.call({ tool: 'word', args: {} });
        assert.ok(ok, JSON.stringify(errors));
        const { identical, result } = await runtime.runs.verify(runId as string);
        assert.deepEqual([identical, result.same, result.paths], [true, true, []]);
      },
    ));

  it('is logged and checkpointed once', () =>
    withPack("await run.log('said\\n'); await run.checkpoint({ step: 1 }); return {};", async (pack) => {
      const runtime = await pack.runtime();
      const { ok, errors, data, runId } = await runtime.call({ tool: 'word', args: {} });
      assert.ok(ok, JSON.stringify(errors));
      const log = (data as RunData).outputs.find(({ role }) => role === 'log');
      const { bytes } = await (await runtime.artifacts()).read(log!.artifact_id);
      assert.equal(Buffer.from(bytes).toString(), 'said\n');
      assert.deepEqual((await runtime.runs.attempts(runId as string))[0]?.checkpoint, { step: 1 });
    }));
});

describe('haft runs verify', () => {
  it('fails where the result changed its mind', () =>
    withPack("n += 1; return { lines: 1, words: n < 3 ? 'some' : 'other' };", async (pack) => {
      const runtime = await pack.runtime();
      const { ok, errors, runId } = await runtime.call({ tool: 'word', args: {} });
      assert.ok(ok, JSON.stringify(errors));
      assert.equal((await runtime.runs.verify(runId as string)).identical, true);
      await assert.rejects(runtime.runs.verify(runId as string), {
        reason: 'toolpack.unstable',
        message: /two different results; at "\/words"/,
      });
    }));

  it('fails where the kept result was changed in the store, and such a run is not exported', () =>
    withPack('return { words: 1 };', async (pack) => {
      const runtime = await pack.runtime();
      const { runId } = await runtime.call({ tool: 'word', args: {} });
      const drain = async () => {
        const env = { HAFT_KEY: Buffer.alloc(32, 5).toString('base64') };
        const runtimeNow = await pack.runtime();
        for await (const _ of exportRun(runtimeNow, runId as string, env));
      };
      await drain();
      await pack.close();
      const store = new DatabaseSync(join(pack.root, '.haft/haft.db'));
      store.exec(`UPDATE runs SET result_json = replace(result_json, '"words":1', '"words":2')`);
      store.close();
      await assert.rejects(drain(), { reason: 'audit.broken', message: /its result is kept as/ });
      await pack.close();
      const { status, stdout, stderr } = await cli(pack.root, 'runs', 'verify', runId as string);
      assert.equal(status, 1);
      assert.match(stdout, /^word +identical .*\n\(result\) +differs/);
      assert.match(stderr, /made another result \(at "\/words"\)/);
    }));
});

/** The processes of this one's packs; the first of the two environments has the seed 1. */
function packProcesses(): readonly string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return words.includes(`haft-toolpack-${process.pid}-`) && words.includes('--random-seed=1')
        ? [words]
        : [];
    } catch {
      return [];
    }
  });
}

/** Ways not to come to an end. */
const ENDLESS: Readonly<Record<string, string>> = {
  'a busy loop': 'for (;;);',
  'an await that never ends': 'await new Promise(() => {});',
  timers: 'setInterval(() => {}, 1); await new Promise(() => setTimeout(() => {}, 2 ** 30));',
  microtasks: 'for (;;) await null;',
  'a log': "for (;;) await run.log('');",
  'a look at its output': "for (;;) await run.readOutput('word');",
  'a link': "for (;;) await run.linkOutput('word');",
  'its program, again and again': 'for (;;) await run.execute();',
};

describe('run() that does not end', { skip: process.platform !== 'linux' }, () => {
  for (const [what, answer] of Object.entries(ENDLESS))
    it(`with ${what} ends within the plan's time, as E_TIMEOUT, and leaves no process`, () =>
      withPack(
        answer,
        async (pack) => {
          const runtime = await pack.runtime();
          const { errors, runId } = await runtime.call({ tool: 'word', args: {} });
          const [error] = errors;
          assert.deepEqual(
            [error?.code, error?.reason],
            ['E_TIMEOUT', 'time.deadline'],
            JSON.stringify(error),
          );
          assert.match(error?.message ?? '', /its run\(\) took longer than 1500 ms/);
          const attempts = await runtime.runs.attempts(runId as string);
          assert.deepEqual(
            attempts.map(({ state, failure, cause }) => [state, failure, cause]),
            [['failed', 'limit', 'limit.run_time']],
          );
          await eventually(() => packProcesses().length === 0, 'the process of the pack to be gone');
        },
        { wallMs: 1_500 },
      ));

  it("ends within the tool's own limit where that is smaller", () =>
    withPack(
      ENDLESS['a busy loop'] as string,
      async (pack) => {
        const runtime = await pack.runtime();
        const { errors } = await runtime.call({ tool: 'word', args: {} });
        assert.deepEqual([errors[0]?.code, errors[0]?.reason], ['E_TIMEOUT', 'time.deadline']);
        await eventually(() => packProcesses().length === 0, 'the process of the pack to be gone');
      },
      { limits: 'limits: { timeoutMs: 1_500 },' },
    ));

  it('does not take other calls with it', () =>
    withPack(
      'if (run.args.loop) for (;;); await new Promise((resolve) => setTimeout(resolve, 10)); return { fine: true };',
      async (pack) => {
        const runtime = await pack.runtime();
        const call = (args: object) => runtime.call({ tool: 'word', args: { ...args } });
        const [stuck, ...others] = await Promise.all([call({ loop: true }), call({ n: 1 }), call({ n: 2 })]);
        assert.equal(stuck?.errors[0]?.reason, 'time.deadline');
        for (const { ok, errors } of others) assert.ok(ok, JSON.stringify(errors));
      },
      { wallMs: 1_500 },
    ));
});
