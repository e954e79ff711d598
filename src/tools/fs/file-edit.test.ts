import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import type { JsonObject } from '../../contract/json.ts';
import { fileEdit } from './file-edit.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { undo } from './undo.ts';

const harness = await fileHarness();
const TEXT = 'one\ntwo\nthree\n';

describe('file_edit', () => {
  it('replaces exact text, keeps the permission bits, and answers both hashes', async () => {
    harness.put('src/x', TEXT, 0o755);
    const { data, effects } = await harness.call(fileEdit, { path: 'src/x', old: 'two', new: 'TWO' });
    const after = 'one\nTWO\nthree\n';
    assert.deepEqual(data, {
      edited: true,
      replacements: 1,
      lines: [2],
      sha256_before: sha256Hex(TEXT),
      sha256: sha256Hex(after),
    });
    assert.equal(harness.tree()['src/x'], `file 755 ${after}`);
    assert.deepEqual(effects, [
      { kind: 'fs.read', path: 'src/x' },
      { kind: 'fs.write', path: 'src/x' },
    ]);
  });

  it('makes several edits at once, and undo takes back all of them', async () => {
    harness.put('several', TEXT);
    const edits = [
      { old: 'three', new: '3' },
      { old: 'o', new: '0', expected_count: 2 },
    ];
    const { data, callId } = await harness.call(fileEdit, { path: 'several', edits });
    assert.deepEqual([harness.text('several'), data.lines], ['0ne\ntw0\n3\n', [1, 2, 3]]);
    await harness.call(undo, { call_id: callId });
    assert.equal(harness.text('several'), TEXT);
  });

  it('writes the line ends of the file, and says so', async () => {
    harness.put('crlf', 'one\r\ntwo\r\nthree');
    const { data } = await harness.call(fileEdit, { path: 'crlf', old: 'one\ntwo\n', new: '1\n2\n' });
    assert.deepEqual([harness.text('crlf'), data.line_ends_adapted], ['1\r\n2\r\nthree', 'crlf']);
  });

  it('writes through a link inside of the workspace', async () => {
    harness.put('t/target', TEXT);
    symlinkSync('t/target', join(harness.root, 'through'));
    await harness.call(fileEdit, { path: 'through', old: 'two', new: '2' });
    assert.deepEqual(
      [harness.tree().through, harness.text('t/target')],
      ['link t/target', 'one\n2\nthree\n'],
    );
  });

  it('shows what a dry run would change, and changes nothing', async () => {
    harness.put('dry', TEXT);
    const { data } = await harness.call(fileEdit, { path: 'dry', old: 'two\n', new: '', dry_run: true });
    assert.deepEqual([data.edited, data.changes], [false, [{ path: 'dry', change: 'modify', bytes: 10 }]]);
    assert.match(data.diff!, /^-two$/m);
    assert.equal(harness.text('dry'), TEXT);
  });

  it('can make a file empty, and edits one of 8 MiB', async () => {
    harness.put('all', 'x\n');
    await harness.call(fileEdit, { path: 'all', old: 'x\n', new: '' });
    assert.equal(harness.text('all'), '');
    harness.put('big', `${'line\n'.repeat(1_600_000)}last`);
    const { data } = await harness.call(fileEdit, { path: 'big', old: 'last', new: 'end', no_undo: true });
    assert.deepEqual(data.lines, [1_600_001]);
  });

  it('names the places when they are not as many as expected, and the real lines when white space differs', async () => {
    harness.put('r/spaces', 'a {\n\tb();\n}\na {\n\tc();\n}\n');
    const several = await harness.refuse(fileEdit, { path: 'r/spaces', old: 'a {', new: 'x {' });
    assert.deepEqual([several.reason, several.details?.candidates], ['patch.ambiguous', [1, 4]]);
    const other = await harness.refuse(fileEdit, { path: 'r/spaces', old: 'a {\n  c();\n}', new: 'x' });
    assert.deepEqual(other.details?.actual, { from: 4, to: 6, text: 'a {\n\tc();\n}' });
    assert.match(other.message, /^Cannot edit "r\/spaces": old is in the file only with other white space/);
  });

  describe('refuses', () => {
    const one = { old: 'two', new: '2' };
    const refusals: [string, JsonObject, string][] = [
      ['no file', { path: 'r/none', ...one }, 'path.not_found'],
      ['a folder', { path: 'r/dir', ...one }, 'path.is_directory'],
      ['bytes that are not UTF-8', { path: 'r/latin', old: 'a', new: 'b' }, 'input.encoding'],
      ['a NUL', { path: 'r/nul', old: 'a', new: 'b' }, 'input.encoding'],
      ['another version', { path: 'r/x', ...one, expected_sha256: sha256Hex('') }, 'file.conflict'],
      ['text that is not there', { path: 'r/x', old: 'four', new: '4' }, 'patch.stale'],
      ['empty text', { path: 'r/x', old: '', new: '4' }, 'input.schema'],
      ['the same text', { path: 'r/x', old: 'two', new: 'two' }, 'patch.empty'],
      ['nothing to replace', { path: 'r/x' }, 'input.schema'],
      ['nothing to put there', { path: 'r/x', old: 'two' }, 'input.schema'],
      ['both ways at once', { path: 'r/x', ...one, edits: [one] }, 'input.schema'],
      ['a count beside edits', { path: 'r/x', expected_count: 2, edits: [one] }, 'input.schema'],
      ['no edits', { path: 'r/x', edits: [] }, 'input.schema'],
      ['an expected count of none', { path: 'r/x', ...one, expected_count: 0 }, 'input.schema'],
      ['an argument that there is not', { path: 'r/x', ...one, replace_all: true }, 'input.schema'],
      ['edits that touch', { path: 'r/x', edits: [one, { old: 'wo\nt', new: '' }] }, 'patch.overlap'],
      ['one edit of two', { path: 'r/x', edits: [one, { old: 'four', new: '' }] }, 'patch.stale'],
      ['climbing', { path: '../x', ...one }, 'path.outside_workspace'],
      ['through a link that leaves', { path: 'r/outside/passwd', ...one }, 'path.outside_workspace'],
    ];
    before(() => {
      harness.put('r/x', TEXT);
      harness.put('r/latin', Buffer.from('a\xe9\n', 'latin1'));
      harness.put('r/nul', 'a\0\n');
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/etc', join(harness.root, 'r/outside'));
    });
    for (const [what, args, reason] of refusals) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(fileEdit, { ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    for (const kind of ['fs.read', 'fs.write'] as const) {
      it(`a file that policy closes to ${kind}`, async () => {
        const denies = (effect: Effect) => effect.kind === kind;
        const failure = await harness.refuse(fileEdit, { path: 'r/x', ...one }, { denies });
        assert.equal(failure.reason, 'policy.denied');
      });
    }
  });
});
