import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admitsImage, digestOf, goesBy, repositoryOf } from './image-reference.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

describe('repositoryOf', () => {
  for (const [reference, repository] of [
    ['busybox', 'busybox'],
    ['busybox:1', 'busybox'],
    ['localhost:5000/haft/busybox', 'localhost:5000/haft/busybox'],
    ['localhost:5000/haft/busybox:1', 'localhost:5000/haft/busybox'],
    [`localhost:5000/haft/busybox@${DIGEST}`, 'localhost:5000/haft/busybox'],
  ] as const)
    it(`of ${reference} is ${repository}`, () => assert.equal(repositoryOf(reference), repository));
});

describe('digestOf', () => {
  it('is there of what is pinned, and only of that', () => {
    assert.equal(digestOf(DIGEST), DIGEST);
    assert.equal(digestOf(`a/b@${DIGEST}`), DIGEST);
    assert.equal(digestOf('a/b:1'), undefined);
    assert.equal(digestOf(`${DIGEST}0`), undefined);
  });
});

describe('goesBy', () => {
  it('holds for a name of the same repository, however it is spelt', () => {
    assert.ok(goesBy(`busybox@${DIGEST}`, ['evil.com/x:1', 'docker.io/library/busybox:2']));
    assert.ok(goesBy(`docker.io/a/b@${DIGEST}`, [`a/b@${DIGEST}`]));
    assert.ok(!goesBy(`busybox@${DIGEST}`, ['evil.com/x:1', `localhost/busybox@${DIGEST}`, '<none>:<none>']));
    assert.ok(!goesBy(`busybox@${DIGEST}`, []));
  });
});

describe('admitsImage', () => {
  for (const [entry, name, admitted] of [
    [DIGEST, DIGEST, true],
    [`a/b@${DIGEST}`, `a/b@${DIGEST}`, true],
    [`a/b@${DIGEST}`, DIGEST, true],
    [DIGEST, `a/b@${DIGEST}`, true],
    ['a/b', `a/b@${DIGEST}`, true],
    ['a/b', 'a/b:1', true],
    ['a/*', `a/b@${DIGEST}`, true],
    ['a/b:1', 'a/b:1', true],
    ['a/b:1', 'a/b:2', false],
    ['a/b:1', `a/b@${DIGEST}`, false],
    ['a', `a/b@${DIGEST}`, false],
    ['a/b', `a/bc@${DIGEST}`, false],
    ['b', DIGEST, false],
    ['sha256', DIGEST, false],
    ['busybox', `docker.io/library/busybox@${DIGEST}`, true],
    ['docker.io/library/busybox', `busybox@${DIGEST}`, true],
    ['docker.io/busybox:1', 'busybox:1', true],
    ['a/b', `docker.io/a/b@${DIGEST}`, true],
    ['a/*', `index.docker.io/a/b@${DIGEST}`, true],
    ['docker.io/*', `busybox@${DIGEST}`, true],
    ['busybox', `quay.io/library/busybox@${DIGEST}`, false],
    ['busybox', `localhost/busybox@${DIGEST}`, false],
    ['library/*', `quay.io/library/busybox@${DIGEST}`, false],
  ] as const)
    it(`${entry} ${admitted ? 'admits' : 'does not admit'} ${name}`, () =>
      assert.equal(admitsImage(entry, name), admitted));
});
