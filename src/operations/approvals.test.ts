import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Approval, ApprovalDetails } from '../contract/store.ts';
import { describeApproval } from './approvals.ts';

const approval = (details: ApprovalDetails | null, fields: Partial<Approval> = {}): Approval => ({
  id: 'appr_1',
  tool: 'file_write',
  contract: 'v1',
  policyHash: '',
  paramsHash: '',
  session: 'sess_1',
  status: 'pending',
  createdTs: 0,
  expiresTs: 900_000,
  decidedTs: null,
  decidedBy: null,
  rule: 'paths.rules[0]',
  effects: [{ kind: 'fs.write', path: 'a.txt' }],
  admit: null,
  details,
  ...fields,
});

describe('describeApproval', () => {
  it('shows arguments, the diff, notes and who answered', () => {
    const details = {
      args: { path: 'a.txt', content: 'one\ntwo\n', create_dirs: true },
      changes: [{ path: 'a.txt' }],
      diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+one\n',
      notes: ['the diff is cut'],
    };
    const answered = { status: 'granted', decidedTs: 1000, decidedBy: 'cli:ann' } as const;
    assert.equal(
      describeApproval(approval(details, answered)),
      [
        'appr_1  granted  file_write  would write a.txt',
        '  asked    1970-01-01T00:00:00.000Z by session sess_1, because of paths.rules[0]',
        '  expires  1970-01-01T00:15:00.000Z',
        '  decided  1970-01-01T00:00:01.000Z by cli:ann',
        '  argument path: "a.txt"',
        '  argument content',
        '  | one',
        '  | two',
        '  argument create_dirs: true',
        '  diff',
        '  | --- a/a.txt',
        '  | +++ b/a.txt',
        '  | @@ -1 +1 @@',
        '  | -x',
        '  | +one',
        '  note     the diff is cut',
        '',
      ].join('\n'),
    );
  });

  it('says where nothing is kept any more', () => {
    assert.match(describeApproval(approval(null)), /\n {2}What it held is no longer kept\.\n$/);
  });

  it('shows a carriage return, also at the end of a line', () => {
    const args = { content: 'one\r\ntwo\rthree\n' };
    const shown = describeApproval(approval({ args, changes: [], notes: [], diff: '+one\r\n' }));
    assert.match(shown, /^ {2}\| one\\u000d$/m);
    assert.match(shown, /^ {2}\| two\\u000dthree$/m);
    assert.match(shown, /^ {2}\| \+one\\u000d$/m);
    assert.ok(!shown.includes('\r'));
  });

  const PAINT = '\u001b[2K\u001b[1A\u009b31m\rfalse\u202eeslaf\u0007\u0000\u2028x';
  it('escapes what would paint over it, wherever a caller wrote it', () => {
    const details = {
      args: { [`a${PAINT}`]: PAINT, b: { [PAINT]: PAINT }, c: `${PAINT}\n  decided  never` },
      changes: [{ path: PAINT }],
      notes: [PAINT],
    };
    const effects = [{ kind: 'fs.write', path: PAINT }] as const;
    for (const shown of [
      describeApproval(approval(details, { effects, tool: PAINT, session: PAINT, rule: PAINT })),
      describeApproval(approval({ ...details, diff: PAINT }, { decidedBy: PAINT, decidedTs: 1 })),
    ]) {
      assert.doesNotMatch(shown, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
      assert.match(shown, /\\u001b\[2K/);
    }
    assert.match(describeApproval(approval(details)), /^ {2}\| {3}decided {2}never$/m, 'behind the bar');
  });
});
