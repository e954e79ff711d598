import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { failingCases } from '../testing/conformance.ts';
import { TOOLPACK_CASES } from '../testing/toolpack-suite.ts';
import { openToolpackBench } from './toolpack-bench.ts';

const GOOD = join(import.meta.dirname, '../../examples/toolpacks/text_stats');

/** Ways to get a toolpack wrong, and a case that must notice. */
const BROKEN: readonly {
  readonly fault: string;
  readonly caseName: RegExp;
  readonly file?: string;
  readonly from: string;
  readonly to: string;
}[] = [
  {
    fault: 'is of another ABI',
    caseName: /rules of the ABI/,
    from: "abiVersion: 'v1'",
    to: "abiVersion: 'v2'",
  },
  {
    fault: 'takes the reserved role',
    caseName: /rules of the ABI/,
    from: "role: 'stats', type",
    to: "role: 'log', type",
  },
  { fault: 'asks for a network', caseName: /rules of the ABI/, from: "tags: ['text']", to: 'network: true' },
  { fault: 'has no run', caseName: /rules of the ABI/, from: 'async run(run)', to: 'async ran(run)' },
  {
    fault: 'defines another tool tomorrow',
    caseName: /rules of the ABI/,
    from: "title: 'Text statistics'",
    to: 'title: String(new Date().getFullYear())',
  },
  {
    fault: 'brings a call for no tool of it',
    caseName: /a call for every tool/,
    file: 'calls/first.json',
    from: '"text_stats"',
    to: '"text_count"',
  },
  {
    fault: 'puts the time into its params',
    caseName: /same run however often/,
    from: 'canonicalParams: {}',
    to: 'canonicalParams: { at: Date.now() }',
  },
  {
    fault: 'remembers earlier calls',
    caseName: /same run however often/,
    from: 'canonicalParams: {}',
    to: 'canonicalParams: { n: ++(globalThis as any).n || ((globalThis as any).n = 1) }',
  },
  {
    fault: 'remembers the first arguments',
    caseName: /same run however often/,
    from: 'canonicalParams: {}',
    to: 'canonicalParams: { first: ((globalThis as any).first ??= text) }',
  },
  {
    fault: 'answers by what it heard before',
    caseName: /same bytes/,
    from: "return JSON.parse(await run.readOutput('stats'));",
    to: 'return { lines: 4, longest_line: 19, words: ((globalThis as any).heard ??= new Set()).add(run.runId).size };',
  },
  {
    fault: 'changes its mind after some calls',
    caseName: /same run however often/,
    from: 'canonicalParams: {}',
    to: 'canonicalParams: { late: ((globalThis as any).n = ((globalThis as any).n ?? 0) + 1) > 5 }',
  },
  {
    fault: 'does not link its input',
    caseName: /one byte of a file/,
    from: "inputsToLink: [{ artifactId: text, role: 'text' }]",
    to: 'inputsToLink: []',
  },
  {
    fault: 'pins no image',
    caseName: /same run however often/,
    from: "await ctx.images.pin('haft/busybox:1')",
    to: "'haft/busybox:1'",
  },
  {
    fault: 'leaves its inputs out of the run',
    caseName: /one byte of a file/,
    from: "inputs: [{ role: 'text', artifactId: text, destName: 'text.txt' }]",
    to: 'inputs: []',
  },
  {
    fault: 'has a program that fails',
    caseName: /executes, makes exactly/,
    from: '\'awk "$1" in/text.txt > out/stats.json\'',
    to: "'exit 3'",
  },
  {
    fault: 'writes what it did not declare',
    caseName: /executes, makes exactly/,
    from: '> out/stats.json',
    to: '| tee out/stats.json > out/more',
  },
  {
    fault: 'leaves a link for an output',
    caseName: /executes, makes exactly/,
    from: '> out/stats.json',
    to: '> /tmp/x; ln -s /etc/passwd out/stats.json',
  },
  {
    fault: 'forgets to link its output',
    caseName: /executes, makes exactly/,
    from: "await run.linkOutput('stats');\n    return JSON.parse(await run.readOutput('stats'));",
    to: 'return { lines: 4, longest_line: 19, words: 9 };',
  },
  {
    fault: 'links what it did not declare',
    caseName: /executes, makes exactly/,
    from: "await run.linkOutput('stats');",
    to: "await run.linkOutput('stats'); await run.linkOutput('more');",
  },
  {
    fault: 'does not execute its plan',
    caseName: /executes, makes exactly/,
    from: 'await run.execute();',
    to: '',
  },
  {
    fault: 'answers what its schema does not allow',
    caseName: /executes, makes exactly/,
    from: "return JSON.parse(await run.readOutput('stats'));",
    to: 'return { lines: "four" };',
  },
  {
    fault: 'answers another result than its call says',
    caseName: /executes, makes exactly/,
    file: 'calls/first.json',
    from: '"words": 9',
    to: '"words": 10',
  },
  {
    fault: 'answers the time',
    caseName: /executes, makes exactly/,
    from: "return JSON.parse(await run.readOutput('stats'));",
    to: 'return { lines: 4, longest_line: 19, words: Date.now() };',
  },
  {
    fault: 'makes other bytes each time',
    caseName: /same bytes/,
    from: '> out/stats.json',
    to: "> out/stats.json; head -c 8 /dev/urandom | od -An -tx1 | sed 's/.*/ &/' >> out/stats.json",
  },
];

describe('the toolpack suite', () => {
  it('finds nothing wrong with text_stats', async () => {
    assert.deepEqual(await failingCases(TOOLPACK_CASES, () => openToolpackBench(GOOD)), []);
  });

  for (const { fault, caseName, file = 'toolpack.ts', from, to } of BROKEN) {
    it(`notices a pack that ${fault}`, async () => {
      const cases = TOOLPACK_CASES.filter((one) => caseName.test(one.name));
      assert.equal(cases.length, 1);
      const pack = mkdtempSync(join(tmpdir(), 'haft-broken-'));
      try {
        cpSync(GOOD, pack, { recursive: true });
        const text = readFileSync(join(pack, file), 'utf8');
        assert.ok(text.includes(from), `${file} no longer holds ${from}`);
        writeFileSync(
          join(pack, file),
          text.replace(from, () => to),
        );
        assert.deepEqual(
          await failingCases(cases, () => openToolpackBench(pack)),
          cases.map((one) => one.name),
        );
      } finally {
        rmSync(pack, { recursive: true, force: true });
      }
    });
  }
});
