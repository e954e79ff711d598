import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NO_NEEDS, type ProgramNeeds } from '../../contract/program.ts';
import { withPrograms } from './programs-for-tests.ts';
import { startBareProgram } from './run-bare.ts';

const FILES = {
  'packs/p/tool.sh': 'echo folder',
  'packs/p/new.sh': 'echo new',
  'packs/p/.env': 'of the folder',
  'data/x': 'x',
  '.haft/packs/abc/tool.sh': 'echo copy',
  '.haft/packs/abc/.env': 'of the copy',
  '.haft/secret': 'secret',
};

const SCRIPT =
  'sh packs/p/tool.sh; ls packs/p; cat packs/p/.env .haft/secret; echo x > packs/p/tool.sh; true';

describe('copies in the place of folders', () => {
  const sh = (line: string, needs: Partial<ProgramNeeds>) => ({
    argv: ['sh', '-c', line] as const,
    env: {},
    needs: { ...NO_NEEDS, subprocess: true, ...needs },
  });
  const out = ({ stdout }: { readonly stdout: Uint8Array }) => Buffer.from(stdout).toString();

  it('shows the copy and nothing of the folder, whatever else may be read or written', async () => {
    await withPrograms(FILES, async ({ root, call }) => {
      const copies = [{ at: join(root, 'packs/p'), from: join(root, '.haft/packs/abc') }];
      const parts = [join(root, 'packs/p')];
      const fences = [
        { glob: '**/.env', read: true, write: true },
        { glob: '**/*.sh', read: false, write: true },
      ];
      for (const more of [{}, { reads: ['.'] }, { writes: ['.'] }, { reads: ['packs/p/tool.sh'] }]) {
        const result = await call({ policy: { fences } }).run(sh(SCRIPT, { parts, copies, ...more }), {});
        assert.equal(out(result), 'copy\ntool.sh\n', JSON.stringify(more));
        assert.match(Buffer.from(result.stderr).toString(), /tool\.sh: Read-only/);
      }
    });
  });

  it('does so for a folder beside the workspace, and refuses a copy that is not below .haft/packs', async () => {
    const beside = mkdtempSync(join(tmpdir(), 'haft-beside-'));
    writeFileSync(join(beside, 'tool.sh'), 'echo folder');
    try {
      await withPrograms(FILES, async ({ root, call }) => {
        const from = join(root, '.haft/packs/abc');
        const needs = { parts: [beside], copies: [{ at: beside, from }] };
        assert.equal(out(await call().run(sh(`sh ${beside}/tool.sh`, needs), {})), 'copy\n');
        for (const wrong of ['.haft', '.haft/packs', 'data'])
          await assert.rejects(
            call().run(
              sh('true', { parts: [beside], copies: [{ at: beside, from: join(root, wrong) }] }),
              {},
            ),
            { reason: 'path.protected' },
          );
      });
    } finally {
      rmSync(beside, { recursive: true });
    }
  });

  it('names the copy in the command where there is no sandbox', async () => {
    await withPrograms(FILES, async ({ root }) => {
      mkdirSync(join(root, 'sub'));
      const copies = [{ at: join(root, 'packs/p'), from: join(root, '.haft/packs/abc') }];
      for (const [word, cwd] of [
        [join(root, 'packs/p/tool.sh'), '.'],
        ['packs/p/tool.sh', '.'],
        ['../packs/p/tool.sh', 'sub'],
      ] as const) {
        const running = startBareProgram(root, {
          argv: ['sh', word],
          cwd,
          copies,
          env: { PATH: '/usr/bin:/bin' },
        });
        running.stdout.setEncoding('utf8');
        let said = '';
        for await (const chunk of running.stdout) said += chunk;
        assert.equal(said, 'copy\n');
      }
    });
  });
});
