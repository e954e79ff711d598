import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { filePatch } from './file-patch.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();
const begin = (...lines: string[]) => `*** Begin Patch\n${lines.join('\n')}\n*** End Patch\n`;
const TEXT = 'one\ntwo\nthree\n';

describe('file_patch of a "*** Begin Patch"', () => {
  it('changes, creates, moves and deletes files in one call, which one undo takes back', async () => {
    for (const name of ['m/edit', 'm/move', 'm/gone']) harness.put(name, TEXT, 0o755);
    const tree = harness.tree();
    const { data, effects, callId } = await harness.call(filePatch, {
      path: 'm/',
      unified_diff: begin(
        '*** Update File: edit',
        '@@ one',
        '-two',
        '+2',
        '*** Add File: deep/new',
        '+fresh',
        '*** Update File: move',
        '*** Move to: moved',
        ' two',
        '-three',
        '*** Delete File: gone',
      ),
    });
    assert.deepEqual(
      data.files.map(({ path, change, from }) => [path, change, from]),
      [
        ['m/edit', 'modify', undefined],
        ['m/deep/new', 'create', undefined],
        ['m/moved', 'rename', 'm/move'],
        ['m/gone', 'delete', undefined],
      ],
    );
    assert.deepEqual(harness.tree(), {
      ...Object.fromEntries(Object.entries(tree).filter(([path]) => !/gone|move$/.test(path))),
      'm/edit': 'file 755 one\n2\nthree\n',
      'm/deep': 'dir 755',
      'm/deep/new': 'file 644 fresh\n',
      'm/moved': 'file 755 one\ntwo\n',
    });
    assert.deepEqual(
      effects.filter(({ kind }) => kind === 'fs.write').map((effect) => 'path' in effect && effect.path),
      ['m/edit', 'm/deep/new', 'm/moved', 'm/move', 'm/gone'],
    );
    await harness.call(undo, { call_id: callId });
    assert.deepEqual(harness.tree(), tree);
  });

  it('takes path as the one file, and shows a diff in a dry run', async () => {
    harness.put('src/one', TEXT);
    const unified_diff = begin('*** Update File: one', '-two', '+2');
    const args = { path: 'src/one', unified_diff, expected_sha256: sha256Hex(TEXT) };
    const { data } = await harness.call(filePatch, { ...args, dry_run: true });
    assert.match(data.diff!, /^-two\n\+2$/m);
    await harness.call(filePatch, args);
    assert.equal(harness.text('src/one'), 'one\n2\nthree\n');
  });

  it('matches a file that is not UTF-8, with headers as well', async () => {
    harness.put('latin', Buffer.from('f\xfcr\na\n', 'latin1'));
    await harness.call(filePatch, {
      path: 'latin',
      unified_diff: begin('*** Update File: latin', '@@ für', '-a', '+ä'),
    });
    assert.equal(harness.tree().latin, 'file 644 f\xfcr\n\xe4\n');
  });

  it('deletes a binary file', async () => {
    harness.put('bin', Buffer.of(0, 255, 10, 1));
    await harness.call(filePatch, { path: 'bin', unified_diff: begin('*** Delete File: bin') });
    assert.equal(harness.tree().bin, undefined);
  });

  describe('refuses, and changes nothing:', () => {
    const fine = ['*** Update File: a', '-two', '+2'];
    const refusals: [string, string[], string, RegExp, number?][] = [
      [
        'lines that are not there',
        ['*** Update File: b', '@@', '-four', '+4'],
        'patch.stale',
        /line 6 of the patch/,
        6,
      ],
      ['lines at several places', ['*** Update File: c', '-x', '+y'], 'patch.ambiguous', /lines 1, 3/, 6],
      [
        'other white space',
        ['*** Update File: b', '-  two', '+2'],
        'patch.stale',
        /where the file has:\ntwo$/,
        6,
      ],
      ['a new file that is there', ['*** Add File: b', '+x'], 'path.exists', /./],
      ['a move to what is there', ['*** Update File: b', '*** Move to: c'], 'path.exists', /./],
      ['no file', ['*** Update File: none', '-x', '+y'], 'path.not_found', /./],
      ['nothing to delete', ['*** Delete File: none'], 'path.not_found', /./],
      ['a file named twice', ['*** Update File: a', '-one', '+1'], 'patch.malformed', /twice/],
      ['a path that climbs', ['*** Add File: ../x', '+x'], 'patch.wrong_file', /not a relative path below/],
      [
        'a path from the root',
        ['*** Delete File: /etc/passwd'],
        'patch.wrong_file',
        /not a relative path below/,
      ],
      ['a line without a mark', ['*** Update File: b', 'two'], 'patch.malformed', /line 6/],
    ];
    before(() => {
      for (const [name, text] of [
        ['a', TEXT],
        ['b', TEXT],
        ['c', 'x\n\nx\n'],
      ] as const)
        harness.put(`r/${name}`, text);
    });
    for (const [what, lines, reason, fact, patchLine] of refusals) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const unified_diff = begin(...fine, ...lines);
          const failure = await harness.refuse(filePatch, { path: 'r/', unified_diff, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.match(failure.message, fact);
          if (patchLine !== undefined) assert.equal(failure.details?.patch_line, patchLine);
        });
      }
    }

    it('what policy closes', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.write' && effect.path === 'r/new';
      const unified_diff = begin(...fine, '*** Add File: new', '+x');
      assert.equal(
        (await harness.refuse(filePatch, { path: 'r/', unified_diff }, { denies })).reason,
        'policy.denied',
      );
    });
  });
});
