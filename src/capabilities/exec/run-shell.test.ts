// Owns: what is kept of a line's output, and what is told where a fence stood in its way.
// Refuses: to fake an object store's behaviour; it is handed chunks as a program would write them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Warning } from '../../contract/envelope.ts';
import type { Fence } from '../../contract/policy.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createCapture, tellFences } from './run-shell.ts';

const folder = mkdtempSync(join(tmpdir(), 'haft-capture-'));
after(() => rmSync(folder, { recursive: true }));
const objects = openObjectStore({ folder, process: 'test' });

describe('createCapture', () => {
  it('keeps what fits, without an artifact', async () => {
    const capture = createCapture(10, objects);
    assert.equal(capture.push(Buffer.from('hello')), undefined);
    assert.deepEqual(await capture.finish(), { bytes: new Uint8Array(Buffer.from('hello')), total: 5 });
  });

  it('keeps all of what is longer as an artifact', async () => {
    const capture = createCapture(3, objects);
    for (const piece of ['hello', ' ', 'world']) await capture.push(Buffer.from(piece));
    const { bytes, total, artifact } = await capture.finish();
    assert.deepEqual([Buffer.from(bytes).toString(), total], ['hel', 11]);
    assert.equal(Buffer.from(await objects.get(artifact!)).toString(), 'hello world');
  });

  it('ends also when nobody waited for the last pieces to be taken', { timeout: 30_000 }, async () => {
    for (let round = 0; round < 50; round++) {
      const capture = createCapture(1, objects);
      const pieces = Array.from({ length: round % 5 }, (_, i) => `piece ${round} ${i} ${'x'.repeat(50_000)}`);
      await capture.push(Buffer.from('first'));
      for (const piece of pieces) void capture.push(Buffer.from(piece));
      const { artifact } = await capture.finish();
      assert.equal(Buffer.from(await objects.get(artifact!)).toString(), `first${pieces.join('')}`);
    }
  });

  it('fails where the artifact cannot be kept', async () => {
    const full = { ...objects, putStream: () => Promise.reject(new Error('no space')) };
    const capture = createCapture(1, full);
    await assert.rejects(Promise.resolve(capture.push(Buffer.from('longer'))), /no space/);
    await assert.rejects(capture.finish(), /no space/);
  });
});

const FENCES: readonly Fence[] = [
  {
    glob: '**/.npmrc',
    read: false,
    write: true,
    except: ['**/node_modules'],
    where: 'rule 1',
    admit: 'LINE\n',
  },
  { glob: '**/.env', read: true, write: true, where: 'rule 2' },
  { glob: 'docs', read: false, write: true },
];

function told(cmd: string, stderr: string, cwd = '.'): string[] {
  const warnings: Warning[] = [];
  const policy = { fences: FENCES, programs: [], packs: [], sandboxOptional: false };
  tellFences({ root: '/ws', policy, warn: (one) => void warnings.push(one) }, cmd, cwd, Buffer.from(stderr));
  return warnings.map(({ message }) => message);
}

describe('tellFences', () => {
  const LINE = '. To let programs at it, haft.yaml needs:\nLINE';
  const NAMED: readonly (readonly [what: string, stderr: string, cwd?: string])[] = [
    ['touch', "touch: cannot touch 'app/.npmrc': Read-only file system"],
    ['bash', 'bash: line 1: app/.npmrc: Read-only file system'],
    ['Node.js', "Error: EROFS: read-only file system, open '/ws/app/.npmrc'"],
    ['Python', "OSError: [Errno 30] Read-only file system: 'app/.npmrc'"],
    ['rm', "rm: cannot remove 'app/.npmrc': Device or resource busy"],
    ['a program in another folder', "rm: cannot remove './.npmrc': Device or resource busy", 'app'],
  ];
  for (const [what, stderr, cwd] of NAMED) {
    it(`says what closes the path that ${what} complains of, and what opens it`, () => {
      assert.deepEqual(told('x', stderr, cwd), [`app/.npmrc is read-only to programs by rule 1${LINE}`]);
    });
  }

  it('looks at the command where the complaint names nothing', () => {
    assert.deepEqual(told('npm config set -L project x=1 --prefix docs/.npmrc', 'npm error code EROFS'), [
      `docs/.npmrc is read-only to programs by rule 1${LINE}`,
    ]);
  });

  it('says of what is hidden that it is', () => {
    assert.deepEqual(told('cat .env', 'cat: .env: Permission denied'), [
      '.env is hidden from programs by rule 2',
    ]);
  });

  it('is silent about failures of another kind, other paths, and what a rule does not hold for', () => {
    assert.deepEqual(told('cat .npmrc', 'cat: .npmrc: no such option'), []);
    assert.deepEqual(told('touch /etc/x', "touch: cannot touch '/etc/x': Read-only file system"), []);
    assert.deepEqual(told('x', "EROFS: open '/ws/node_modules/a/.npmrc'"), []);
  });
});
