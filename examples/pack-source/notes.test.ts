import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { PackFollow, PackParts } from '../../src/preset/packs/pack-source.ts';
import { notes } from './notes.ts';

describe('notes', () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-notes-'));
  after(() => rmSync(root, { recursive: true }));
  const open = async (file: string) => {
    const entry = { kind: 'notes', name: 'guide', config: { file }, enabled: true };
    return (await notes.open({ root } as PackParts))(entry, {} as PackFollow);
  };

  it('makes a tool of each heading', async () => {
    writeFileSync(join(root, 'GUIDE.md'), '# Guide\n\n## Set up\n\nnpm ci\n\n## Go Live!\nAsk first.\n');
    const [pack] = await open('GUIDE.md');
    const ids = pack!.tools.map(({ contract }) => contract.id);
    assert.deepEqual(ids, ['guide.set_up', 'guide.go_live_']);
    const connection = await pack!.adapter.open(pack!.installation, pack!.tools);
    const { signal } = new AbortController();
    const call = { tool: 'guide.set_up', args: {}, callId: 'c', signal, progress() {} };
    assert.deepEqual(await connection.invoke(call), { ok: true, data: { text: 'npm ci' } });
  });

  it('refuses a file without headings, and one that is not there', async () => {
    writeFileSync(join(root, 'plain.md'), 'words\n');
    for (const [file, message] of [
      ['plain.md', /no ## heading/],
      ['gone.md', /names no file of the workspace/],
      ['../out.md', /names no file of the workspace/],
    ] as const)
      await assert.rejects(open(file), { reason: 'pack.invalid', message });
  });
});
