// Owns: the check that every dependency says why it is there.
// Refuses: to judge the reason.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '..');
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const page = readFileSync(join(root, 'docs/adr/0002-dependencies.md'), 'utf8');

/** Package names in the table below a heading; a line without a reason does not count. */
function linesBelow(heading: string): string[] {
  const section = page.split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \| \S.{10,} \|$/gm)].map((match) => match[1]!);
}

describe('docs/adr/0002-dependencies.md', () => {
  it('has a line for every runtime dependency, and no other', () => {
    assert.deepEqual(linesBelow('At run time'), Object.keys(dependencies).sort());
  });

  it('has a line for every development dependency, and no other', () => {
    assert.deepEqual(linesBelow('For development'), Object.keys(devDependencies).sort());
  });
});
