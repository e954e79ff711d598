import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RunKey, runId } from '../base/run-id.ts';
import type { ToolContract } from '../contract/tool.ts';
import { createPlace, identifyRun } from './identity.ts';
import { explainRuns } from './runs/create-runs.ts';

describe('identifyRun', () => {
  const tool = { id: 'count', contract: 'v1' } as unknown as ToolContract;
  const { runId: id, preimage } = identifyRun(tool, { n: 1 }, '0'.repeat(64));

  it('has the platform in the key, so that another one is another run', () => {
    assert.equal(preimage.platform, `${process.platform}/${process.arch}`);
    assert.equal(id, runId(preimage as unknown as RunKey));
    const elsewhere = { ...preimage, platform: 'plan9/mips' };
    assert.notEqual(id, runId(elsewhere as unknown as RunKey));
    assert.deepEqual(
      explainRuns(preimage, elsewhere).map(({ field }) => field),
      ['platform'],
    );
  });

  it('is told apart from a run of an earlier version, which had no platform', () => {
    const { platform: _, ...earlier } = preimage;
    assert.deepEqual(explainRuns(earlier, preimage), [
      { field: 'platform', path: '/platform', b: preimage.platform },
    ]);
  });
});

const place = createPlace('/home/ws', () => [
  { written: '/data/shared', real: '/data/shared' },
  { written: '../beside', real: '/home/beside' },
  { written: '/var/link', real: '/mnt/disk' },
]);

describe('createPlace', () => {
  for (const [given, expected] of [
    ['a', 'a'],
    ['./a//b/../c', 'a/c'],
    ['.', '.'],
    ['/home/ws', '.'],
    ['/home/ws/', '.'],
    ['/home/ws/a/./b', 'a/b'],
    ['/home/ws/../ws/a', 'a'],
    ['../ws/a', 'a'],
    ['../beside', '/home/beside'],
    ['../beside/x', '/home/beside/x'],
    ['a/../../beside/./x', '/home/beside/x'],
    ['/home/beside/x', '/home/beside/x'],
    ['/var/link/x', '/mnt/disk/x'],
    ['/mnt/disk/x', '/mnt/disk/x'],
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
    '/home/ws2/a',
    '/home/ws/../etc',
    '../beside2/x',
    '../beside/../x',
    '../../../../../../x',
    '/var/link2/x',
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
  for (const [given, folder] of [
    ['/etc/ssl/x', '/etc/ssl'],
    ['/etc/passwd', '/etc'],
    ['../other/x.txt', '../other'],
    ['../../x/y', '../../x'],
    ['../other/x/', '../other'],
    ['a/../../other/x', '../other'],
    ['./a//../../other/b/../x', '../other'],
  ] as const) {
    it(`names the line that would admit ${given}`, () => {
      const admit = `paths:\n  extra_roots:\n    - ${folder}\n`;
      assert.throws(() => place(given), { details: { rule: 'paths.extra_roots', admit } });
    });
  }
  for (const given of ['..', '../x', '/x', '/', '/home/x', '../../../../x/y', '../..']) {
    it(`names no line for ${given}: the folder that holds it holds the workspace as well`, () => {
      assert.throws(() => place(given), { details: { rule: 'paths.extra_roots' } });
    });
  }
});
