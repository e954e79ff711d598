// Owns: the check that the generated pages say what the code does.
// Refuses: to write them; `npm run docs` does.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
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
