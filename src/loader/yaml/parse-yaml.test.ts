// Owns: aliases and hostile texts in the reader with places.
// Refuses: what each mistake is called; the diagnostics of haft.yaml and of manifests show that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toPlain } from './located.ts';
import { parseYaml } from './parse-yaml.ts';
import { createReport } from './report.ts';

async function read(text: string) {
  const report = createReport('x.yaml');
  const located = await parseYaml(text, report);
  return { value: located && toPlain(located), codes: report.diagnostics().map(({ code }) => code) };
}

describe('parseYaml', () => {
  it('takes an alias for the anchor that was written last before it', async () => {
    const { value, codes } = await read('a: &x {b: &y 1}\nc: &y 2\nd: *x\ne: *y\n');
    assert.deepEqual(codes, []);
    assert.deepEqual(value, { a: { b: 1 }, c: 2, d: { b: 1 }, e: 2 });
  });

  it('tells an alias that comes before its anchor, and one that holds itself', async () => {
    assert.deepEqual((await read('a: *x\nb: &x 1\n')).codes, ['yaml.alias']);
    assert.deepEqual((await read('a: &x [*x]\n')).codes, ['yaml.too_much']);
  });

  it('follows tens of thousands of aliases in the time that it takes to read them', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `k${i}: *a`);
    assert.deepEqual((await read(`a: &a 1\n${lines.join('\n')}\n`)).codes, []);
  });

  for (const [what, text] of Object.entries({
    'aliases that multiply': [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...Array.from('bcdefgh', (key, at) => `${key}: &${key} [${Array(9).fill(`*${'abcdefg'[at]}`)}]`),
    ].join('\n'),
    'two hundred thousand brackets': '['.repeat(200_000),
    'a hundred thousand dashes': `${'- '.repeat(100_000)}a`,
    'three hundred nested maps': Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  })) {
    it(`gives up on ${what} with a word`, async () => {
      const { value, codes } = await read(text);
      assert.equal(value, undefined);
      assert.ok(codes.length > 0);
    });
  }
});
