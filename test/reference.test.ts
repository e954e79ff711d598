// Owns: the check that the generated pages say what the code does.
// Refuses: to write them; `npm run docs` does.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { manPage } from '../scripts/man-page.ts';
import { referencePages } from '../scripts/reference-pages.ts';
import { VERSION } from '../src/contract/version.ts';

const root = join(import.meta.dirname, '..');

describe('docs/reference', async () => {
  for (const [name, text] of Object.entries(await referencePages())) {
    it(`${name} is what npm run docs would write`, () => {
      const file = join(root, 'docs/reference', name);
      assert.ok(existsSync(file), `${name} is missing: npm run docs`);
      assert.equal(readFileSync(file, 'utf8'), text, `${name} is stale: npm run docs`);
    });
  }
});

describe('man/haft.1', async () => {
  const text = await manPage();

  it('is what npm run docs would write, and in the package', () => {
    assert.equal(readFileSync(join(root, 'man/haft.1'), 'utf8'), text, 'man/haft.1 is stale: npm run docs');
    const { man, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.deepEqual([man, files.includes('man')], [['man/haft.1'], true]);
  });

  it('has no line that begins like a request and is none', () => {
    for (const line of text.split('\n'))
      assert.match(line, /^(?:$|\.\\"|\.(?:TH|SH|SS|TP|PP|B|I|RI|RB|IR|RS|RE|nf|fi)\b|[^.'])/, line);
  });
});

describe('VERSION', () => {
  it('is the version of package.json', () => {
    assert.equal(VERSION, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
  });
});

describe('docs/testing.md', () => {
  it('lists every test that takes an amount, with its numbers', () => {
    const page = readFileSync(join(root, 'docs/testing.md'), 'utf8');
    const shown = new Intl.NumberFormat('en-US');
    for (const file of globSync(['test/e2e/*.test.ts', 'src/**/*.test.ts'], { cwd: root })) {
      const text = readFileSync(join(root, file), 'utf8');
      const amounts = [...text.matchAll(/amount\('(\w+)', ([\d_]+), ([\d_]+)\)/g)];
      if (amounts.length === 0) continue;
      const name = file.slice(0, -'.test.ts'.length).replace(/^(?:test\/e2e|src)\//, '');
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
      const numbers = (at: number) =>
        amounts.map((match) => shown.format(Number(match[at]!.replaceAll('_', '')))).join(', ');
      assert.match(row, new RegExp(`\\| ${numbers(3)} \\| ${numbers(2)} \\|$`), name);
    }
  });
});
