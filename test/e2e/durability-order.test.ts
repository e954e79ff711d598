// Owns: the proof, by system-call trace, of the order that durability rests on.
// Refuses: trust in `kill -9` alone, which cannot see a missing sync.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runTraced, strace } from './support/strace.ts';
import { makeWorkspace } from './support/workspace.ts';

const SCRIPT = join(import.meta.dirname, 'support/one-call.ts');

/** Each mutating tool: the calls before, the call that is traced, and the folders whose entries it changes. */
const CASES: readonly {
  readonly title: string;
  readonly calls: readonly [string, object][];
  readonly folders: readonly string[];
  /** What it replaces is too large for the database, and is kept as a file. */
  readonly keepsFile?: true;
}[] = [
  {
    title: 'file_write of a new file',
    calls: [['file_write', { path: 'd/new.txt', content: 'x' }]],
    folders: ['d'],
  },
  {
    title: 'file_write over a file',
    calls: [['file_write', { path: 'd/a.txt', content: 'x' }]],
    folders: ['d'],
  },
  {
    title: 'file_write over a large file',
    calls: [['file_write', { path: 'd/large.txt', content: 'x' }]],
    folders: ['d'],
    keepsFile: true,
  },
  {
    title: 'file_patch',
    calls: [['file_patch', { path: 'd/a.txt', unified_diff: '@@ -1 +1 @@\n-one\n+two\n' }]],
    folders: ['d'],
  },
  { title: 'fs_copy', calls: [['fs_copy', { src: 'd/a.txt', dst: 'e/a.txt' }]], folders: ['e'] },
  { title: 'fs_move', calls: [['fs_move', { src: 'd/a.txt', dst: 'e/a.txt' }]], folders: ['d', 'e'] },
  { title: 'fs_delete', calls: [['fs_delete', { path: 'd/a.txt' }]], folders: ['d'] },
  { title: 'fs_delete of a tree', calls: [['fs_delete', { path: 'd', recursive: true }]], folders: ['.'] },
  {
    title: 'undo',
    calls: [
      ['file_write', { path: 'd/a.txt', content: 'x' }],
      ['undo', {}],
    ],
    folders: ['d'],
  },
];

describe('every mutating tool', { skip: strace.missing }, () => {
  for (const { title, calls, folders, keepsFile } of CASES) {
    it(`${title}: intent sync < change < directory sync < outcome sync < answer`, async () => {
      const workspace = makeWorkspace({
        'd/a.txt': 'one\n',
        'd/large.txt': 'large\n'.repeat(20_000),
        'e/b.txt': 'two\n',
      });
      const log = workspace.path('trace.log');
      try {
        const args = [workspace.root, ...calls.flatMap(([tool, value]) => [tool, JSON.stringify(value)])];
        const trace =
          '-e trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,write,pwrite64'.split(
            ' ',
          );
        const ran = await runTraced(['-y', '-o', log, ...trace], SCRIPT, args);
        assert.equal(ran.status, 0, ran.stderr);
        assert.match(ran.stdout, /MARK answer ok/);
        const events = eventsBetweenMarks(readFileSync(log, 'utf8'), workspace.root);
        checkOrder(events, folders);
        if (keepsFile) checkKept(events);
      } finally {
        workspace.remove();
      }
    });
  }
});

type Event =
  | { readonly kind: 'wal-write' | 'wal-sync' | 'object-place' | 'object-sync' }
  | { readonly kind: 'file-sync' | 'folder-sync'; readonly path: string }
  | { readonly kind: 'change'; readonly line: string };

function checkOrder(events: readonly Event[], folders: readonly string[]): void {
  const kinds = events.map((event) => event.kind);
  const shown = JSON.stringify(events, null, 1);
  const firstChange = kinds.indexOf('change');
  const lastChange = kinds.lastIndexOf('change');
  assert.ok(firstChange >= 0, `nothing changed: ${shown}`);

  const intentWrite = kinds.lastIndexOf('wal-write', firstChange);
  const intentSync = kinds.lastIndexOf('wal-sync', firstChange);
  assert.ok(
    intentWrite >= 0 && intentSync > intentWrite,
    `the intent is not synced before the change: ${shown}`,
  );
  for (const folder of folders) {
    const synced = events.findIndex(
      (event, i) => i > firstChange && event.kind === 'folder-sync' && event.path === folder,
    );
    assert.ok(synced > 0, `the folder ${folder} is not synced after the change: ${shown}`);
    const outcomeWrite = kinds.indexOf('wal-write', lastChange);
    assert.ok(outcomeWrite > synced, `the outcome is written before ${folder} is synced: ${shown}`);
    assert.ok(
      kinds.indexOf('wal-sync', outcomeWrite) > outcomeWrite,
      `the outcome is not synced before the answer: ${shown}`,
    );
  }
}

/** The bytes synced, then their name, then that synced, all before the change. */
function checkKept(events: readonly Event[]): void {
  const kinds = events.map((event) => event.kind);
  const shown = JSON.stringify(events, null, 1);
  const placed = kinds.lastIndexOf('object-place');
  assert.ok(placed >= 0, `nothing is kept: ${shown}`);
  const synced = kinds.indexOf('object-sync');
  assert.ok(synced >= 0 && synced < placed, `what is kept has a name before it is synced: ${shown}`);
  const named = kinds.indexOf('object-sync', placed);
  assert.ok(
    named > placed && named < kinds.indexOf('change'),
    `its name is not synced before the change: ${shown}`,
  );
}

/** What happened between the marks, in the order in which the calls returned. */
function eventsBetweenMarks(log: string, root: string): Event[] {
  const lines = log.split('\n');
  const begin = lines.findIndex((line) => line.includes('MARK begin'));
  const answer = lines.findIndex((line) => line.includes('MARK answer'));
  const events: Event[] = [];
  const unfinished = new Map<string, string>();
  for (const line of lines.slice(begin + 1, answer)) {
    const [pid = ''] = line.split(/\s+/, 1);
    if (line.includes('<unfinished')) {
      unfinished.set(pid, line);
      continue;
    }
    const whole = line.includes('resumed>') ? `${unfinished.get(pid)}${line}` : line;
    if (!/= \d+/.test(line)) continue;
    const event = eventOf(whole, root);
    if (event) events.push(event);
  }
  return events;
}

function eventOf(line: string, root: string): Event | undefined {
  const path = /<([^>]*)>/.exec(line)?.[1] ?? '';
  const inside = path === root ? '.' : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
  if (/\bpwrite64\(/.test(line) && path.endsWith('-wal')) return { kind: 'wal-write' };
  if (/\bf(data)?sync\(/.test(line)) {
    if (path.endsWith('-wal')) return { kind: 'wal-sync' };
    if (inside?.startsWith('.haft/objects')) return { kind: 'object-sync' };
    if (inside === undefined || inside.startsWith('.haft/')) return undefined;
    return inside.includes('.haft-tmp-')
      ? { kind: 'file-sync', path: inside }
      : { kind: 'folder-sync', path: inside };
  }
  if (/\b(rename|link)[at2]*\(.*\/\.haft\/objects\//.test(line)) return { kind: 'object-place' };
  // What is renamed away from or to a temporary name is the change; removing a temporary is tidying up.
  if (
    /\b(rename|renameat|renameat2|link|linkat|unlink|unlinkat|rmdir)\(/.test(line) &&
    !/unlink[at]*\(.*\.haft-tmp-|rmdir\(.*\.haft-tmp-/.test(line)
  ) {
    return { kind: 'change', line };
  }
  return undefined;
}
