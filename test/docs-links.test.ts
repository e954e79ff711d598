// Owns: the check that what the documentation points at is there: links, and paths of this repository.
// Refuses: to follow links to other sites.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '..');
const PAGES = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })].sort();

const WRITTEN_BY_BENCH = 'bench/RESULTS.md';

/** Folders whose paths are written in full, in backquotes. */
const OURS = /`((?:src|test|scripts|bench|docs|examples)\/[^`\s]*)`/g;

describe('the documentation', () => {
  for (const page of PAGES) {
    const text = withoutCode(readFileSync(join(root, page), 'utf8'));

    it(`${page} links to what is there`, () => {
      const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map((match) => match[1]!);
      assert.deepEqual(
        targets.filter(
          (target) => target !== WRITTEN_BY_BENCH && !existsSync(join(root, dirname(page), target)),
        ),
        [],
      );
    });

    it(`${page} names files that are there`, () => {
      const named = [...text.matchAll(OURS)].map((match) => match[1]!).filter((path) => !isOpen(path));
      assert.deepEqual(
        named.filter((path) => globSync(path, { cwd: root }).length === 0 && !toBeMade(page, path)),
        [],
      );
    });
  }

  it('has an ADR for every number, each with what it is enforced by', () => {
    const records = globSync('docs/adr/*.md', { cwd: root }).sort();
    records.forEach((file, i) => {
      const text = readFileSync(join(root, file), 'utf8');
      const number = String(i + 1).padStart(4, '0');
      assert.match(file, new RegExp(`/${number}-`));
      assert.match(text, new RegExp(`^# ${number}: `), `${file} does not begin with its number`);
      for (const part of ['Status: ', '## Context', '## Decision', '## Consequences', '## Enforced by'])
        assert.ok(text.includes(`\n${part}`), `${file} lacks "${part}"`);
    });
  });
});

/** Blocks of code show what could be; what is around them says what is. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** What is left open stands for no file in particular. */
const isOpen = (path: string) => /NAME|…/.test(path);

/** The walks of CONTRIBUTING.md name the files that they make; the examples hold them. */
function toBeMade(page: string, path: string): boolean {
  if (path === WRITTEN_BY_BENCH) return true;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return page === 'CONTRIBUTING.md' && globSync(`examples/*/${name}`, { cwd: root }).length > 0;
}
