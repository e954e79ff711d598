// Owns: for tests, what fs_copy and fs_move refuse alike: bad places, other versions, and what policy denies.
// Refuses: what only one of them refuses; its own test has that.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { Effect } from '../../contract/effect.ts';
import type { Tool } from '../../contract/tool.ts';
import type { ToolHarness } from '../../testing/tool-harness-for-tests.ts';

type Refusal = readonly [what: string, args: Record<string, string | boolean>, reason: string];

/** A test for each, and for each of the tool's own; the places that they name are made first. */
export function describeRefusals(
  tool: Tool<never, unknown>,
  harness: ToolHarness,
  own: readonly Refusal[] = [],
): void {
  describe('refuses', () => {
    before(() => {
      harness.put('r/file', 'content');
      harness.put('r/full/x', 'x');
      mkdirSync(join(harness.root, 'r/dir'));
      symlinkSync('/etc', join(harness.root, 'r/outside'));
    });

    for (const [what, args, reason] of [...REFUSALS, ...own]) {
      for (const dry_run of [false, true]) {
        it(`${what}${dry_run ? ', in a dry run as well' : ''}`, async () => {
          const failure = await harness.refuse(tool, { ...args, dry_run });
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(!failure.message.includes(harness.root), failure.message);
        });
      }
    }

    it('to bring a file that may not be read to where it may be', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.read' && effect.path === 'r/full/x';
      for (const src of ['r/full/x', 'r/full']) {
        const failure = await harness.refuse(tool, { src, dst: 'r/public' }, { denies });
        assert.equal(failure.reason, 'policy.denied');
      }
    });

    it('a place that may not be written', async () => {
      const denies = (effect: Effect) => effect.kind === 'fs.write' && effect.path === 'r/kept/x';
      const failure = await harness.refuse(tool, { src: 'r/full', dst: 'r/kept' }, { denies });
      assert.equal(failure.reason, 'policy.denied');
    });
  });
}

const REFUSALS: readonly Refusal[] = [
  ['nothing', { src: 'r/none', dst: 'r/new' }, 'path.not_found'],
  ['what is there', { src: 'r/file', dst: 'r/full/x' }, 'path.exists'],
  ['an empty folder that is there', { src: 'r/file', dst: 'r/dir' }, 'path.exists'],
  ['a file onto a folder', { src: 'r/file', dst: 'r/full', overwrite: true }, 'path.is_directory'],
  ['a folder onto a file', { src: 'r/full', dst: 'r/file', overwrite: true }, 'path.not_directory'],
  ['a folder into itself', { src: 'r/full', dst: 'r/full/in/it' }, 'path.invalid'],
  ['something onto itself', { src: 'r/file', dst: 'r/./file', overwrite: true }, 'path.invalid'],
  [
    'a missing folder, without create_dirs',
    { src: 'r/file', dst: 'r/no/x', create_dirs: false },
    'path.not_found',
  ],
  ['below a file', { src: 'r/full/x', dst: 'r/file/x' }, 'path.not_directory'],
  ['another version', { src: 'r/file', dst: 'r/new', expected_sha256: sha256Hex('other') }, 'file.conflict'],
  ['a version of a folder', { src: 'r/full', dst: 'r/new', expected_sha256: sha256Hex('') }, 'file.conflict'],
  ['climbing from', { src: '../x', dst: 'r/new' }, 'path.outside_workspace'],
  ['climbing to', { src: 'r/file', dst: '../x' }, 'path.outside_workspace'],
  ['through a link that leaves, from', { src: 'r/outside/passwd', dst: 'r/new' }, 'path.outside_workspace'],
  ['through a link that leaves, to', { src: 'r/file', dst: 'r/outside/x' }, 'path.outside_workspace'],
  ['no destination', { src: 'r/file' }, 'input.schema'],
  ['an argument that there is not', { src: 'r/file', dst: 'r/new', force: true }, 'input.schema'],
];
