// Owns: that a registry given as an object is held to the same table as haft.yaml.
// Refuses: each diagnostic; diagnostics.test.ts has them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReport } from '../yaml/report.ts';
import { checkPolicyObject, checkPolicyText } from './check-policy.ts';

describe('checkPolicyObject', () => {
  it('answers the policy where nothing is wrong', async () => {
    const registry = {
      version: 1,
      tools: { default: 'deny', rules: [] },
      shell_allow: ['^a'],
      ast: undefined,
    };
    const { value, diagnostics } = await checkPolicyObject(registry);
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(value, { version: 1, tools: { default: 'deny', rules: [] }, shell_allow: ['^a'] });
  });

  it('tells everything that is wrong, by its path', async () => {
    const registry = {
      version: 1,
      tols: {},
      limits: { timeout_ms: -1 },
      shell_allow: ['('],
      validators: [{ rule: 'x', enforcement: 'blocking' }],
      git: { allow_push: () => true },
    };
    const { value, diagnostics } = await checkPolicyObject(registry, 'session');
    assert.equal(value, undefined);
    assert.deepEqual(
      diagnostics.map(({ file, code, message }) => `${file} ${code} ${message.split(/[: ]/)[0]}`).sort(),
      [
        'session key.unknown haft.yaml',
        'session pattern.invalid shell_allow[0]',
        'session rule.unknown validators[0]',
        'session value.range limits.timeout_ms',
        'session value.type git.allow_push',
      ],
    );
  });

  it('refuses what is no object, and what never ends', async () => {
    const endless: { version: number; packs: unknown[] } = { version: 1, packs: [] };
    endless.packs.push(endless, endless);
    for (const bad of [null, 1, [], 'x', new Date(), endless]) {
      assert.equal((await checkPolicyObject(bad)).value, undefined);
    }
  });
});

/** The messages about the examples of these entries, each written as JSON, which is YAML. */
async function problemsOf(...entries: readonly object[]): Promise<readonly string[]> {
  const report = createReport('haft.yaml');
  await checkPolicyText(`version: 1\nshell_allow: ${JSON.stringify(entries)}\n`, report);
  const found = report.diagnostics().filter(({ severity }) => severity === 'error');
  for (const { code } of found) assert.equal(code, 'example.fails');
  return found.map(({ message }) => message);
}

const CARGO = '^cargo(\\s|$)';

describe('an example of shell_allow', () => {
  it('is one call: every command in it must be let through, and one that is not denies it', async () => {
    const good = {
      allow: [
        'cargo build',
        'cargo',
        'cargo build && cargo test | cargo x',
        'timeout 5 cargo test',
        'A=1 cargo b',
      ],
      deny: [
        'cargo build && rm -rf /',
        'cargo build; evil',
        'cargo $(evil)',
        'cargo `evil`',
        'cargo <(evil)',
        'cargo\nevil',
        'timeout 5 evil',
        '"cargo build"',
        'cargo-evil',
        'evil cargo',
      ],
    };
    assert.deepEqual(await problemsOf({ pattern: CARGO, examples: good }), []);
    const swapped = { allow: good.deny, deny: good.allow };
    const found = await problemsOf({ pattern: CARGO, examples: swapped });
    assert.equal(found.length, good.deny.length + good.allow.length);
    assert.ok(
      found.includes(
        'shell_allow[0].examples.allow[0]: "rm -rf /" of "cargo build && rm -rf /" must be let through, and the default says deny',
      ),
      found.join('\n'),
    );
  });

  it('may take commands that other entries let through, if one is its own', async () => {
    const examples = { allow: ['cd sub && cargo test'] };
    assert.deepEqual(await problemsOf({ pattern: CARGO, examples }, { pattern: '^cd ' }), []);
    const [problem] = await problemsOf(
      { pattern: CARGO, examples: { allow: ['cd sub'] } },
      { pattern: '^cd ' },
    );
    assert.match(problem ?? '', /is not matched by this rule, but by shell_allow\[1\]/);
  });

  it('of an entry that denies or asks is stopped by it, wherever in the line it matches', async () => {
    const examples = { deny: ['git push --force', 'git status; git push --force'], allow: ['git push'] };
    for (const decision of ['deny', 'ask'])
      assert.deepEqual(
        await problemsOf({ pattern: '^git ' }, { pattern: '--force', decision, examples }),
        [],
      );
    const other = { pattern: '--force', decision: 'deny', examples: { deny: ['evil'] } };
    assert.match((await problemsOf(other))[0] ?? '', /is not matched by this rule, but by the default/);
  });

  it('that is refused whatever the policy says is denied, and shows nothing of a rule', async () => {
    const odd = ['$x y', 'eval ls', 'echo "open', 'sh -c "$x"'];
    assert.deepEqual(await problemsOf({ pattern: '^', examples: { deny: odd } }), []);
    for (const message of await problemsOf({ pattern: '^', examples: { allow: odd } }))
      assert.match(message, /must be let through, and no policy would: Cannot/);
    const [shown] = await problemsOf({ pattern: 'x', decision: 'deny', examples: { deny: ['$x y'] } });
    assert.match(shown ?? '', /is not matched by this rule, but refused before: Cannot/);
  });

  it('that runs nothing cannot be denied', async () => {
    assert.deepEqual(await problemsOf({ pattern: '^', examples: { allow: ['x=1'] } }), []);
    assert.match((await problemsOf({ pattern: '^', examples: { deny: ['x=1'] } }))[0] ?? '', /runs nothing/);
  });
});

describe('a pattern that allows', () => {
  const warned = async (entry: unknown) => {
    const report = createReport('haft.yaml');
    await checkPolicyText(`version: 1\nshell_allow: ${JSON.stringify([entry])}\n`, report);
    return report.diagnostics().map(({ code }) => code);
  };

  it('is pointed out where it does not begin with the start; one that asks or denies is not', async () => {
    for (const pattern of ['cargo', 'a|^b', '.*test$']) {
      assert.deepEqual(await warned(pattern), ['pattern.unanchored']);
      assert.deepEqual(await warned({ pattern }), ['pattern.unanchored']);
      assert.deepEqual(await warned({ pattern, decision: 'deny' }), []);
      assert.deepEqual(await warned({ pattern, decision: 'ask' }), []);
    }
    assert.deepEqual(await warned('(?i)^cargo'), []);
  });
});
