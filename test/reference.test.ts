// Owns: the check that the generated pages say what the code does.
// Refuses: to write them; `npm run docs` does.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
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
