import assert from 'node:assert/strict';
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NO_FENCES } from '../../../contract/capability.ts';
import type { Fence } from '../../../contract/policy.ts';
import { createFenceFinder } from './find-fences.ts';
import { findIn as find, withTree } from './trees-for-tests.ts';

describe('fences behind links', () => {
  const both = (glob: string): Fence => ({ glob, read: true, write: true });

  it('hold for what a rule names through a link to a folder', () => {
    const files = { 'releases/42/key.pem': '', 'releases/42/x.pem': '', 'releases/42/y.pem': '' };
    withTree({ ...files, 'releases/42/sub/deep/z': '', 'realconf/c': '', 'a/one': '', free: '' }, (root) => {
      for (const [link, target] of [
        ['current', 'releases/42'],
        ['cur3', 'current'],
        ['conf', 'realconf'],
        ['a/up', '..'],
        ['a/in', '../releases/42/sub'],
        ['releases/42/back', '../../a'],
        ['out', '/usr'],
        ['gone', 'nowhere'],
      ])
        symlinkSync(target!, join(root, link!));
      const hiddenBy = (...globs: string[]) => find(root, globs.map(both)).hidden;
      assert.deepEqual(hiddenBy('current/key.pem'), ['releases/42/key.pem']);
      assert.deepEqual(hiddenBy('cur*/x.pem', '**/cur3/y.pem'), ['releases/42/x.pem', 'releases/42/y.pem']);
      assert.deepEqual(hiddenBy('current/**'), ['releases/42']);
      assert.deepEqual(hiddenBy('current/*/deep'), ['releases/42/sub/deep']);
      assert.deepEqual(hiddenBy('current/back/in/deep/z'), ['releases/42/sub/deep/z']);
      assert.deepEqual(hiddenBy('a/up/a/up/free'), ['free']);
      assert.deepEqual(hiddenBy('a/up/a/up/a/up/**/c'), ['realconf/c']);
      assert.deepEqual(hiddenBy('out/bin', 'gone/x'), []);
      assert.deepEqual(find(root, [{ glob: 'conf', read: false, write: true }]), {
        hidden: [],
        readOnly: ['realconf'],
      });
      const kept = [{ ...both('current/**'), except: ['current/x.pem'] }, both('a/in/**')];
      assert.ok(!find(root, kept).hidden.includes('releases/42/x.pem'));
    });
  });

  it('hold for a name that is not there yet, and see a link that leads elsewhere', () => {
    withTree({ 'releases/1/x': '', 'releases/2/key': '' }, (root) => {
      symlinkSync('releases/1', join(root, 'current'));
      const finder = createFenceFinder();
      const look = () => {
        const scope = { root, policy: { ...NO_FENCES, fences: [both('current/key')] } };
        const { hidden, missing } = finder.find(scope, [{ path: root, writable: [root] }]);
        return [hidden, missing.map(({ path }) => path)];
      };
      assert.deepEqual(look(), [['releases/1/key'], [join(root, 'releases/1/key')]]);
      rmSync(join(root, 'current'));
      symlinkSync('releases/2', join(root, 'current'));
      assert.deepEqual(look(), [['releases/2/key'], []]);
    });
  });

  it('are refused, with the rule, where too much lies behind links', () => {
    withTree({ 'a/1/x': '', 'a/2/x': '', 'a/3/x': '' }, (root) => {
      symlinkSync('a', join(root, 'b'));
      assert.throws(
        () => find(root, [both('b/*/y')], createFenceFinder(3)),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'sandbox.unfenceable' &&
          /more than 3 .*"b".*paths\.rules: b\/\*\/y/.test(thrown.message),
      );
      assert.doesNotThrow(() => find(root, [both('**/y')], createFenceFinder(3)));
    });
  });

  it('are refused, with the rule, where a link leads to everything', () => {
    withTree({ 'a/x': '' }, (root) => {
      symlinkSync('..', join(root, 'a/all'));
      assert.throws(
        () => find(root, [{ glob: 'a/all', read: false, write: true }]),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'sandbox.unfenceable' && /"a\/all".*paths\.rules: a\/all/.test(thrown.message),
      );
    });
  });
});
