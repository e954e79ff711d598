// Owns: how patterns meet canonical commands, and what a loader is told of bad ones.
// Refuses: to decide; policy weighs the entries that matched.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { analyzeShell } from './analyze-shell.ts';
import { checkAllowlist, matchAllowlist } from './match-allowlist.ts';

const ALLOW = [
  { pattern: '^cargo(\\s|$)' },
  { pattern: '^cargo test(\\s|$)' },
  { pattern: '^npm (run|test)(\\s|$)' },
];

async function entriesFor(line: string, entries: Parameters<typeof matchAllowlist>[1] = ALLOW) {
  const analysis = await analyzeShell(line);
  assert.ok(analysis.ok);
  return (await matchAllowlist(analysis.commands, entries)).map((match) => match.entries);
}

describe('matchAllowlist', () => {
  it('gives for each command every entry that matches', async () => {
    assert.deepEqual(await entriesFor('cargo test && cargo build | npm test; ls'), [[0, 1], [0], [2], []]);
  });

  it('takes a quoted word for what it is', async () => {
    assert.deepEqual(await entriesFor('"cargo test"'), [[]]);
    assert.deepEqual(await entriesFor('cargo "test x"'), [[0]]);
    assert.deepEqual(await entriesFor('cargo-evil'), [[]]);
    assert.deepEqual(await entriesFor('/usr/bin/cargo'), [[]]);
  });

  it('lets an entry allow only from the start, even without ^', async () => {
    assert.deepEqual(await entriesFor('evil cargo', [{ pattern: 'cargo' }]), [[]]);
    assert.deepEqual(await entriesFor('evil cargo', [{ pattern: '^ls|cargo' }]), [[]]);
    assert.deepEqual(await entriesFor("evil 'a\ncargo'", [{ pattern: '(?m)^cargo' }]), [[]]);
  });

  it('lets an entry deny or ask anywhere', async () => {
    assert.deepEqual(await entriesFor('git push --force', [{ pattern: '--force', decision: 'deny' }]), [[0]]);
    assert.deepEqual(await entriesFor('git push --force', [{ pattern: 'push', decision: 'ask' }]), [[0]]);
  });

  it('fails closed on a pattern that does not compile', async () => {
    assert.deepEqual(await entriesFor('ls', [{ pattern: '(' }, { pattern: '(?=l)' }]), [[]]);
    assert.deepEqual(await entriesFor('ls', [{ pattern: '(', decision: 'deny' }]), [[0]]);
  });

  it('does not backtrack', async () => {
    const command = { canonical: `${'a'.repeat(30_000)}!` };
    const [match] = await matchAllowlist([command], [{ pattern: '^(a+)+$' }]);
    assert.deepEqual(match?.entries, []);
  });
});

describe('checkAllowlist', () => {
  it('is silent about entries that do as they say', async () => {
    const examples = {
      allow: ['cargo test', 'cargo'],
      deny: ['cargo-x', 'cargo test; evil', '"cargo test"'],
    };
    assert.deepEqual(await checkAllowlist([{ pattern: '^cargo(\\s|$)', examples }]), []);
    const denies = {
      pattern: '--force',
      decision: 'deny' as const,
      examples: { deny: ['git push --force'], allow: ['ls'] },
    };
    assert.deepEqual(await checkAllowlist([denies]), []);
  });

  it('names every pattern that does not compile and every example that is decided otherwise', async () => {
    const problems = await checkAllowlist([
      { pattern: '(?=x)' },
      { pattern: '^cargo', examples: { allow: ['npm test'], deny: ['cargo-evil'] } },
    ]);
    assert.deepEqual(
      problems.map(({ entry }) => entry),
      [0, 1, 1],
    );
    assert.match(problems[1]!.message, /npm test/);
    assert.match(problems[2]!.message, /cargo-evil/);
  });
});
