// Owns: a newcomer's path: an empty folder, `haft init`, `haft toolpack new`, a call, an edit, a call; nothing else is typed.
// Refuses: engines; `toolpacks-page.test.ts` goes on there.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import '../../src/preset/trust/trust-for-tests.ts';
import { makePlace, WHO } from './support/apart.ts';
import { type Shell, shellWithHaft } from './support/haft-on-path.ts';

function inEmptyFolder(use: (shell: Shell, folder: string) => void): void {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-newcomer-')));
  const programs = mkdtempSync(join(tmpdir(), 'haft-programs-'));
  try {
    use(shellWithHaft(programs, folder), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(programs, { recursive: true, force: true });
  }
}

/** What the command itself says to type. */
const callIn = (said: string): string => /^Call it: +(.+)$/m.exec(said)?.[1] ?? assert.fail(said);

function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8');
  assert.ok(text.includes(from));
  writeFileSync(file, text.replace(from, to));
}

describe('a newcomer', () => {
  for (const first of ['haft init', ''])
    it(`${first === '' ? 'without' : 'with'} haft init calls a new toolpack at once, edits it, and calls the edited one`, () =>
      inEmptyFolder((shell, folder) => {
        if (first !== '') shell.paste(first);
        const call = callIn(shell.paste('haft toolpack new my_tool'));
        const made = JSON.parse(shell.paste(call));
        assert.deepEqual([made.ok, made.replayed, made.data.result], [true, false, { bytes: 19, words: 4 }]);
        const again = JSON.parse(shell.paste(call));
        assert.deepEqual([again.replayed, again.run_id], [true, made.run_id]);

        edit(join(folder, 'my_tool/toolpack.ts'), 'words += NF;', 'words += 10 * NF;');
        const edited = JSON.parse(shell.paste(call));
        assert.deepEqual([edited.ok, edited.replayed, edited.data.result.words], [true, false, 40]);
        assert.notEqual(edited.run_id, made.run_id);

        edit(join(folder, 'my_tool/toolpack.ts'), 'words += 10 * NF;', 'words += NF;');
        const back = JSON.parse(shell.paste(call));
        assert.deepEqual([back.replayed, back.run_id], [true, made.run_id]);
      }));

  for (const who of WHO)
    it(`calls a new toolpack as ${who}`, async () => {
      const place = makePlace();
      try {
        const script = join(import.meta.dirname, 'support/newcomer-run.ts');
        const { stdout, stderr } = await place.run(who, script, []);
        const { ok, data } = JSON.parse(stdout || assert.fail(stderr));
        assert.deepEqual([ok, data.result], [true, { bytes: 3, words: 2 }]);
      } finally {
        place.close();
      }
    });
});
