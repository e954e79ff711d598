import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { followLinks, leadsOut } from './follow-links.ts';

const LINKS: Readonly<Record<string, string>> = {
  '/home/me/ws/in': 'deep/folder',
  '/home/me/ws/absolute': '/home/me/ws/deep',
  '/home/me/ws/up': '..',
  '/home/me/ws/around': '../ws/deep',
  '/home/me/ws/by-alias': '/home/me/alias/deep',
  '/home/me/alias': 'ws',
  '/home/me/ws/out': '/etc/passwd',
  '/home/me/ws/and-back': '/etc/../home/me/ws/deep',
  '/home/me/ws/by-a-link-out-there': '/srv/back/deep',
  '/srv/back': '/home/me/ws',
  '/home/me/ws/circle': 'circle',
  '/home/me/ws/beside': '../other/f',
};
const led = (rel: string, roots: readonly string[] = ['/home/me/ws']) =>
  followLinks(`/home/me/ws/${rel}`, roots, (path) => LINKS[path]);

describe('followLinks', () => {
  for (const [rel, to] of [
    ['plain/new', '/home/me/ws/plain/new'],
    ['in/x', '/home/me/ws/deep/folder/x'],
    ['absolute/x', '/home/me/ws/deep/x'],
    ['around', '/home/me/ws/deep'],
    ['by-alias', '/home/me/ws/deep'],
    ['up', '/home/me'],
    ['circle', undefined],
  ] as const)
    it(`leads ${rel} to ${to}`, () => assert.equal(led(rel), to));

  for (const [rel, at] of [
    ['out', '/etc'],
    ['out/x', '/etc'],
    ['and-back', '/etc'],
    ['by-a-link-out-there', '/srv'],
    ['beside', '/home/me/other'],
    ['up/other/../ws', '/home/me/other'],
  ] as const)
    it(`ends ${rel} where it leaves`, () => assert.equal(led(rel), at));

  it('takes several roots, and the root of all', () => {
    assert.equal(led('beside', ['/home/me/ws', '/home/me/other']), '/home/me/other/f');
    assert.equal(led('out/x', ['/home/me/ws', '/']), '/etc/passwd/x');
  });
});

describe('leadsOut', () => {
  it('says so of what leaves, also of what would come back, and not of a circle', () => {
    const out = (rel: string) => leadsOut(`/home/me/ws/${rel}`, ['/home/me/ws'], (path) => LINKS[path]);
    assert.deepEqual(['in', 'by-alias', 'circle', 'none'].filter(out), []);
    assert.deepEqual(
      ['out', 'up', 'and-back', 'beside'].filter((rel) => !out(rel)),
      [],
    );
  });
});
