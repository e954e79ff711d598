import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import fc from '../../../../test/support/properties.ts';
import { createFsHandle } from '../../fs/handle.ts';
import { type Arena, createArena, enginesHere, QUERY } from '../arena-for-tests.ts';
import { fill } from '../cases-for-tests.ts';
import { createFindings, inByteOrder } from '../findings.ts';
import { selectionOf } from '../selection.ts';
import { createCountsReader, createJsonReader, createLinesReader } from './read-output.ts';
import { type Output, walkArguments } from './search-ripgrep.ts';

/** What ripgrep prints is read in pieces of any size, which may end anywhere. */
describe('readers of ripgrep’s output', async () => {
  const { ripgrep = '' } = await enginesHere();
  let arena: Arena;
  before(() => {
    arena = createArena(createFsHandle);
    fill(arena);
  });
  after(() => arena.close());

  const READERS: { readonly [O in Output]: (output: Buffer, cuts: readonly number[]) => unknown } = {
    lines: (output, cuts) => matches((findings) => createLinesReader(findings, 100), output, cuts),
    json: (output, cuts) =>
      matches((findings) => createJsonReader(findings, { ...QUERY, maxLineBytes: 100 }), output, cuts),
    counts(output, cuts) {
      const reader = createCountsReader(everything());
      for (const piece of pieces(output, cuts)) reader.feed(piece);
      return Object.fromEntries(reader.counts);
    },
  };

  for (const kind of ['lines', 'json', 'counts'] as const) {
    it(`read the same from ${kind} however they are cut`, () => {
      const args = walkArguments(QUERY, selectionOf(QUERY), kind, { rel: '.', rulesAbove: false });
      const output = execFileSync(ripgrep, args, { cwd: arena.root });
      const whole = READERS[kind](output, []);
      assert.ok(JSON.stringify(whole).length > 500);
      const cuts = fc.array(fc.integer({ min: 1, max: output.length - 1 }), { maxLength: 40 });
      fc.assert(
        fc.property(cuts, (at) => assert.deepEqual(READERS[kind](output, at), whole)),
        { numRuns: 100 },
      );
      const bytes = Array.from({ length: Math.min(output.length, 20_000) - 1 }, (_, i) => i + 1);
      assert.deepEqual(READERS[kind](output, bytes), whole);
    });
  }

  it('reads the same lines from both formats', () => {
    const read = (kind: 'lines' | 'json') => {
      const args = walkArguments(QUERY, selectionOf(QUERY), kind, { rel: '.', rulesAbove: false });
      return READERS[kind](execFileSync(ripgrep, args, { cwd: arena.root }), []);
    };
    assert.deepEqual(read('lines'), read('json'));
  });
});

const everything = () => createFindings({ wants: () => true, shown: (rel) => rel });

function matches(
  make: (findings: ReturnType<typeof everything>) => { feed(chunk: Buffer): void },
  output: Buffer,
  cuts: readonly number[],
): unknown {
  const findings = everything();
  const reader = make(findings);
  for (const piece of pieces(output, cuts)) reader.feed(piece);
  return { files: inByteOrder(findings.files.values()), unnamed: findings.unnamed };
}

function pieces(output: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set([0, ...cuts, output.length])].sort((a, b) => a - b);
  return ends.slice(1).map((end, i) => output.subarray(ends[i], end));
}
