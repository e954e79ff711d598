import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPlace } from './place.ts';

const place = createPlace('/ws', () => ['/data/shared']);

describe('createPlace', () => {
  for (const [given, expected] of [
    ['a', 'a'],
    ['./a//b/../c', 'a/c'],
    ['.', '.'],
    ['/ws', '.'],
    ['/ws/', '.'],
    ['/ws/a/./b', 'a/b'],
    ['/ws/../ws/a', 'a'],
    ['/data/shared', '/data/shared'],
    ['/data/shared/x/../y', '/data/shared/y'],
  ] as const) {
    it(`names ${given} as ${expected}`, () => assert.equal(place(given), expected));
  }
  for (const given of [
    '..',
    '../x',
    'a/../../x',
    '/',
    '/etc/passwd',
    '/ws2/a',
    '/ws/../etc',
    '/data',
    '/data/shared2',
    '//etc',
  ]) {
    it(`refuses ${given} as outside`, () => {
      assert.throws(() => place(given), { reason: 'path.outside_workspace', code: 'E_POLICY' });
    });
  }
  for (const [title, given] of [
    ['an empty path', ''],
    ['a NUL', 'a\0b'],
    ['a lone surrogate', 'a\ud800'],
    ['a name over 255 bytes', 'x'.repeat(256)],
    ['a path over 4096 bytes', 'x/'.repeat(3000)],
  ] as const) {
    it(`refuses ${title}`, () => assert.throws(() => place(given), { reason: 'path.invalid' }));
  }
  for (const [given, line] of [
    ['/etc/passwd', 'paths:\n  extra_roots: ["/etc"]'],
    ['../other/x.txt', 'paths:\n  extra_roots: ["../other"]'],
    ['..', 'paths:\n  extra_roots: [".."]'],
  ] as const) {
    it(`names the line that would admit ${given}`, () => {
      assert.throws(() => place(given), { details: { rule: 'paths.extra_roots', admit: line } });
    });
  }
});
