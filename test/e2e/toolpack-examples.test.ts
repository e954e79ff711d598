// Owns: that the toolpacks of examples/ are right, held against another way to come to the same answers, and refuse what they should.
// Refuses: engines; `toolpacks-hybrid.test.ts` has those.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { makeReads } from '../../examples/toolpacks/fastq_stats/calls/make-reads.ts';
import type { Json, JsonObject } from '../../src/contract/json.ts';
import type { ObjectId } from '../../src/contract/object-store.ts';
import { type ToolpackWorkspace, withToolpacks } from './support/toolpack-workspace.ts';

const CALLS = join(import.meta.dirname, '../../examples/toolpacks');
const fixture = (path: string) => readFileSync(join(CALLS, path));

/** What a call made, each output by its role. */
async function make(workspace: ToolpackWorkspace, tool: string, args: JsonObject) {
  const answer = await workspace.call(tool, args);
  assert.ok(answer.ok, JSON.stringify(answer.errors));
  const artifacts = await (await workspace.runtime()).artifacts();
  const idOf = (role: string) =>
    answer.data.outputs.find((output) => output.role === role)?.artifact_id as ObjectId;
  const text = async (role: string, path?: string) => {
    const { bytes } = await artifacts.read(idOf(role), path === undefined ? {} : { path });
    return Buffer.from(bytes).toString();
  };
  return { result: answer.data.result, idOf, text, artifacts };
}

/** Why a call failed, and what its program said. */
async function refusal(workspace: ToolpackWorkspace, tool: string, args: JsonObject): Promise<string> {
  const { ok, errors } = await workspace.call(tool, args);
  assert.equal(ok, false);
  const [error] = errors;
  const log = (error?.details as { readonly log?: Json } | undefined)?.log;
  if (typeof log !== 'string') return error?.message ?? '';
  const artifacts = await (await workspace.runtime()).artifacts();
  return Buffer.from((await artifacts.read(log as ObjectId)).bytes).toString();
}

describe('table_sort', () => {
  it('sorts by numbers and texts, keeps the header first and equal rows in their order', () =>
    withToolpacks(['table_sort'], async (workspace) => {
      const table = await workspace.import(fixture('table_sort/calls/genes.tsv').toString());
      const byScore = await make(workspace, 'table_sort', { table, by: [{ column: 'score', as: 'number' }] });
      const genes = (await byScore.text('sorted')).split('\n').map((line) => line.split('\t')[0]);
      assert.deepEqual(genes, ['gene', 'APOE', 'BRCA2', 'TP53', 'BRCA1', 'CFTR', 'MYC', '']);
      const byPlace = await make(workspace, 'table_sort', {
        table,
        by: [{ column: 'chromosome', as: 'number', order: 'descending' }, { column: 'gene' }],
      });
      const places = (await byPlace.text('sorted')).split('\n').map((line) => line.split('\t')[0]);
      assert.deepEqual(places, ['gene', 'APOE', 'BRCA1', 'TP53', 'BRCA2', 'MYC', 'CFTR', '']);
    }));

  it('compares byte by byte, whatever the locale, and gives an unfinished last line its end', () =>
    withToolpacks(['table_sort'], async (workspace) => {
      const table = await workspace.import('name\nb\nB\nä\na b\nab');
      const { text, result } = await make(workspace, 'table_sort', { table, by: [{ column: 'name' }] });
      assert.equal(await text('sorted'), 'name\nB\na b\nab\nb\nä\n');
      assert.deepEqual(result, { columns: 1, rows: 5 });
    }));

  it('refuses columns that are not there, quotes, and rows that are too short', () =>
    withToolpacks(['table_sort'], async (workspace) => {
      const sort = async (content: string, column: string) =>
        refusal(workspace, 'table_sort', {
          table: await workspace.import(content),
          by: [{ column }],
          separator: 'comma',
        });
      assert.match(await sort('a,b\n1,2\n', 'c'), /the table has no column "c"; it has a, b/);
      assert.match(await sort('a,b\n"1,1",2\n', 'a'), /line 2: a quoted field/);
      assert.match(await sort('a,b\n1,2\n3\n', 'a'), /line 3: 1 fields, and the header has 2/);
    }));
});

describe('checksum_tree', () => {
  it('writes what sha256sum -c agrees with, and one file beside each file', () =>
    withToolpacks(['checksum_tree'], async (workspace) => {
      const folder = mkdtempSync(join(tmpdir(), 'haft-tree-'));
      try {
        execFileSync(
          'sh',
          ['-c', "mkdir -p -- -d/e empty; echo a > -d/e/f; echo b > ' two words'; echo c > 'x\ny'"],
          {
            cwd: folder,
          },
        );
        const store = await (await workspace.runtime()).artifacts();
        const { id: tree } = await store.importPath(folder);
        const { result, text, idOf, artifacts } = await make(workspace, 'checksum_tree', { tree });
        assert.deepEqual(result, { bytes: 6, files: 3 });
        const sums = join(workspace.root, 'SHA256SUMS');
        writeFileSync(sums, await text('checksums'));
        execFileSync('sha256sum', ['--strict', '--quiet', '-c', sums], { cwd: folder });
        const paths = (await artifacts.entries(idOf('sidecars'))).map(({ path }) => path);
        assert.deepEqual(paths, [' two words.sha256', '-d', '-d/e', '-d/e/f.sha256', 'empty', 'x\ny.sha256']);
        assert.match(await text('sidecars', '-d/e/f.sha256'), /^[0-9a-f]{64} {2}f\n$/);
      } finally {
        rmSync(folder, { recursive: true });
      }
    }));

  it('takes an empty tree, and refuses a file', () =>
    withToolpacks(['checksum_tree'], async (workspace) => {
      const store = await (await workspace.runtime()).artifacts();
      const { id: tree } = await store.importTree([]);
      assert.deepEqual((await make(workspace, 'checksum_tree', { tree })).result, { bytes: 0, files: 0 });
      const file = await workspace.import('a file\n');
      assert.match(await refusal(workspace, 'checksum_tree', { tree: file }), /is a file, not a tree/);
    }));
});

describe('fastq_stats', () => {
  it('has calls with the reads that its script makes', () => {
    assert.equal(fixture('fastq_stats/calls/reads.fastq').toString(), makeReads());
    assert.equal(gunzipSync(fixture('fastq_stats/calls/reads.fastq.gz')).toString(), makeReads());
  });

  it('counts what another program counts, compressed or not', () =>
    withToolpacks(['fastq_stats'], async (workspace) => {
      const store = await (await workspace.runtime()).artifacts();
      const expected = statsOf(makeReads());
      for (const name of ['reads.fastq', 'reads.fastq.gz']) {
        const { id: reads } = await store.importBytes(fixture(`fastq_stats/calls/${name}`));
        const { result, text } = await make(workspace, 'fastq_stats', { reads });
        assert.deepEqual(result, expected.summary);
        assert.equal(await text('positions'), expected.positions);
      }
    }));

  it('refuses reads that are cut off, of other shapes, or damaged', () =>
    withToolpacks(['fastq_stats'], async (workspace) => {
      const store = await (await workspace.runtime()).artifacts();
      const say = async (content: string | Uint8Array) =>
        refusal(workspace, 'fastq_stats', { reads: (await store.importBytes(Buffer.from(content))).id });
      const one = '@a\nACGT\n+\nIIII\n';
      assert.match(await say(`${one}@b\nACGT\n+\n`), /read 2: it is cut off/);
      assert.match(await say(`${one}>b\nACGT\n`), /read 2: its first line/);
      assert.match(await say('@a\nACGU\n+\nIIII\n'), /read 1: a base that is none/);
      assert.match(await say('@a\nACGT\n+\nIII\n'), /read 1: 3 qualities for 4 bases/);
      assert.match(await say('@a\nACGT\nIIII\nIIII\n'), /read 1: its third line/);
      assert.match(await say('@a\nACGT\n+\nII\u0001I\n'), /read 1: a quality that is none/);
      const compressed = fixture('fastq_stats/calls/reads.fastq.gz');
      assert.match(await say(compressed.subarray(0, compressed.length - 9)), /unexpected end of file/);
    }));
});

/** The same in TypeScript, plainly. */
function statsOf(fastq: string): { readonly summary: JsonObject; readonly positions: string } {
  const lines = fastq.trimEnd().split('\n');
  const reads = lines.flatMap((line, n) => (n % 4 === 1 ? [{ bases: line, quality: lines[n + 2]! }] : []));
  const phred = ({ quality }: (typeof reads)[number]) => [...quality].map((one) => one.charCodeAt(0) - 33);
  const all = reads.flatMap(phred);
  const sizes = reads.map(({ bases }) => bases.length);
  const count = (of: RegExp) => reads.reduce((sum, { bases }) => sum + (bases.match(of)?.length ?? 0), 0);
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const ratio = (part: number, whole: number) => Math.floor((part * 20_000 + whole) / (2 * whole)) / 10_000;
  const summary = {
    bases: sum(sizes),
    gc: ratio(count(/[GC]/g), all.length),
    longest: Math.max(...sizes),
    mean_length: ratio(sum(sizes), reads.length),
    mean_quality: ratio(sum(all), all.length),
    n_bases: count(/N/g),
    q20: ratio(all.filter((q) => q >= 20).length, all.length),
    q30: ratio(all.filter((q) => q >= 30).length, all.length),
    reads: reads.length,
    shortest: Math.min(...sizes),
  };
  const rows = Array.from({ length: summary.longest }, (_, i) => {
    const at = reads.flatMap((read) => phred(read)[i] ?? []);
    return [i + 1, at.length, ratio(sum(at), at.length).toFixed(4), Math.min(...at), Math.max(...at)].join(
      '\t',
    );
  });
  return { summary, positions: `position\treads\tmean\tmin\tmax\n${rows.join('\n')}\n` };
}
