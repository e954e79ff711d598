// Owns: what reading and writing a path is decided to, and by which rule, under policies written as people write them.
// Refuses: what admits a denied call; admit.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom, WORKSPACE } from '../../../test/support/policy-from-text.ts';
import { type DecisionCase, itDecides, read, SECRETS, write } from '../decisions-for-tests.ts';

const ROOTS =
  'paths:\n  extra_roots: [../shared, /opt/data]\n  rules:\n    - {path: "/opt/data/**", write: deny}\n    - {path: "**/.env", read: deny}\n    - {path: "opt/**", read: deny}';

const CASES: readonly DecisionCase[] = [
  // Protected
  { when: 'reading the state', effect: read('.haft/haft.db'), is: 'deny protected:.haft path.protected' },
  { when: 'writing the state', effect: write('.haft'), is: 'deny protected:.haft path.protected' },
  { when: 'listing the state', effect: read('.haft', true), is: 'deny protected:.haft path.protected' },
  { when: 'reading what only begins alike', effect: read('.haftrc'), is: 'allow default' },
  { when: 'reading the policy', effect: read('haft.yaml'), is: 'allow default' },
  { when: 'writing the policy', effect: write('haft.yaml'), is: 'deny protected:haft.yaml path.protected' },
  {
    when: 'writing the lock file',
    effect: write('haft.lock'),
    is: 'deny protected:haft.lock path.protected',
  },
  {
    when: 'writing the policy of a workspace below',
    effect: write('sub/haft.yaml'),
    is: 'deny protected:haft.yaml path.protected',
  },
  { when: 'reading the policy of a workspace below', effect: read('sub/haft.yaml'), is: 'allow default' },
  {
    when: 'writing the lock of a workspace below',
    effect: write('a/b/haft.lock'),
    is: 'deny protected:haft.lock path.protected',
  },
  {
    when: 'reading the state of a workspace below',
    effect: read('a/.haft/haft.db'),
    is: 'deny protected:.haft path.protected',
  },
  {
    when: 'reading the state of a workspace in another root',
    policy: ROOTS,
    effect: read('/home/user/shared/other/.haft/haft.db'),
    is: 'deny protected:.haft path.protected',
  },
  {
    when: 'writing the policy of a workspace in another root',
    policy: ROOTS,
    effect: write('/home/user/shared/other/haft.yaml'),
    is: 'deny protected:haft.yaml path.protected',
  },
  { when: 'writing what only ends alike', effect: write('sub/my-haft.yaml'), is: 'allow default' },
  { when: 'reading git', effect: read('.git/HEAD'), is: 'allow default' },
  { when: 'writing git', effect: write('.git/HEAD'), is: 'deny protected:.git path.protected' },
  {
    when: 'writing a hook of a nested repository',
    effect: write('a/b/.git/hooks/pre-commit'),
    is: 'deny protected:.git path.protected',
  },
  { when: 'writing .gitignore', effect: write('.gitignore'), is: 'allow default' },
  {
    when: 'writing a pack',
    policy: 'packs: [./packs/, {mcp: {}}]',
    effect: write('packs/a/b.tool.yaml'),
    is: 'deny protected:./packs/ path.protected',
  },
  {
    when: 'writing a pack that is named with a config',
    policy: 'packs: [{path: own, config: {a: 1}}]',
    effect: write('own/a.tool.yaml'),
    is: 'deny protected:own path.protected',
  },
  { when: 'reading a pack', policy: 'packs: [packs]', effect: read('packs/a'), is: 'allow default' },
  {
    when: 'writing a pack outside',
    policy: 'packs: [../shared/pack]\npaths: {extra_roots: [../shared]}',
    effect: write('/home/user/shared/pack/x'),
    is: 'deny protected:../shared/pack path.protected',
  },
  {
    when: 'a path that is not normal',
    effect: read('src/../.haft/haft.db'),
    is: 'deny protected:.haft path.protected',
  },
  {
    when: 'a path with doubled slashes',
    effect: write('.//haft.yaml'),
    is: 'deny protected:haft.yaml path.protected',
  },
  {
    when: 'an absolute path in the workspace',
    effect: read(`${WORKSPACE}/.haft/x`),
    is: 'deny protected:.haft path.protected',
  },
  { when: 'the workspace itself by its absolute path', effect: read(WORKSPACE, true), is: 'allow default' },

  // Whole trees
  { when: 'deleting everything', effect: write('.', true), is: 'deny protected:.haft path.protected' },
  { when: 'deleting a folder', effect: write('build', true), is: 'allow default' },
  {
    when: 'deleting above a pack',
    policy: 'packs: [tools/packs]',
    effect: write('tools', true),
    is: 'deny protected:tools/packs path.protected',
  },
  {
    when: 'deleting above a denied path',
    policy: 'paths: {rules: [{path: src/keep/x, write: deny}]}',
    effect: write('src', true),
    is: 'deny paths.rules[0]',
  },
  {
    when: 'deleting beside a denied path',
    policy: 'paths: {rules: [{path: src/keep/x, write: deny}]}',
    effect: write('src/other', true),
    is: 'allow default',
  },
  {
    when: 'deleting where a rule could apply anywhere',
    policy: SECRETS,
    effect: write('build', true),
    is: 'allow default',
  },
  {
    when: 'deleting above what must be asked about',
    policy: 'paths: {rules: [{path: "build/*.lock", write: ask}]}',
    effect: write('build', true),
    is: 'ask paths.rules[0]',
  },
  {
    when: 'deleting where a rule that asks could apply anywhere',
    policy: 'paths: {rules: [{path: "**/*.lock", write: ask}]}',
    effect: write('build', true),
    is: 'allow default',
  },
  { when: 'listing above a denied path', policy: SECRETS, effect: read('.', true), is: 'allow default' },
  {
    when: 'listing a denied path',
    policy: SECRETS,
    effect: read('secrets', true),
    is: 'deny paths.rules[0]',
  },

  // Path rules
  {
    when: 'reading below a denied folder',
    policy: SECRETS,
    effect: read('secrets/a/b'),
    is: 'deny paths.rules[0]',
    line: 4,
  },
  {
    when: 'writing what only writing is denied of',
    policy: SECRETS,
    effect: write('a/x.pem'),
    is: 'deny paths.rules[1]',
    line: 5,
  },
  { when: 'reading the same', policy: SECRETS, effect: read('a/x.pem'), is: 'allow default' },
  {
    when: 'writing what must be asked about',
    policy: SECRETS,
    effect: write('docs/a.md'),
    is: 'ask paths.rules[2] approval.pending',
  },
  {
    when: 'writing where deny and ask both match',
    policy: SECRETS,
    effect: write('docs/x.pem'),
    is: 'deny paths.rules[1]',
  },
  {
    when: 'reading where a rule allows',
    policy: SECRETS,
    effect: read('docs/a.md'),
    is: 'allow paths.rules[3]',
    line: 7,
  },

  // Extra roots
  {
    when: 'reading outside',
    effect: read('/etc/passwd'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  { when: 'climbing out', effect: read('../other/x'), is: 'deny paths.extra_roots path.outside_workspace' },
  {
    when: 'reading below an extra root',
    policy: ROOTS,
    effect: read('/home/user/shared/x'),
    is: 'allow paths.extra_roots[0]',
  },
  {
    when: 'reading beside an extra root',
    policy: ROOTS,
    effect: read('/home/user/shared2/x'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  {
    when: 'climbing out of an extra root',
    policy: ROOTS,
    effect: read('/opt/data/../secret'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  {
    when: 'writing below an extra root that a rule denies',
    policy: ROOTS,
    effect: write('/opt/data/x'),
    is: 'deny paths.rules[0]',
  },
  {
    when: 'reading below an extra root what a rule denies everywhere',
    policy: ROOTS,
    effect: read('/opt/data/.env'),
    is: 'deny paths.rules[1]',
  },
  {
    when: 'a rule about the workspace below an extra root',
    policy: ROOTS,
    effect: read('/opt/data/x'),
    is: 'allow paths.extra_roots[1]',
  },
  {
    when: 'writing git below an extra root',
    policy: ROOTS,
    effect: write('/home/user/shared/.git/config'),
    is: 'deny protected:.git path.protected',
  },
];

describe('a path is decided:', () => itDecides(CASES));

describe('the denial of a path', () => {
  it('says what was tried, which rule decided, and where that is written', async () => {
    const engine = await engineFrom(SECRETS);
    const { message, line, effect } = engine.decideEffect('t', read('secrets/key'));
    assert.equal(message, 'Cannot read secrets/key: paths.rules[0] (haft.yaml line 4) says deny');
    assert.equal(line, 4);
    assert.deepEqual(effect, read('secrets/key'));
  });

  it('never shows where the workspace is, nor paths outside of it', async () => {
    const engine = await engineFrom(ROOTS);
    for (const path of [
      '/etc/passwd',
      '../x',
      `${WORKSPACE}/../y`,
      '/home/user/shared/.env',
      `${WORKSPACE}/.haft/x`,
      '/',
    ]) {
      const { message, admit = '' } = engine.decideEffect('t', read(path));
      assert.doesNotMatch(message, /home|etc|opt/, message);
      assert.ok(!admit.includes(WORKSPACE), admit);
    }
    assert.match(engine.decideEffect('t', read('/opt/data/.env')).message, /paths\.extra_roots\[1\]\/\.env/);
  });
});
