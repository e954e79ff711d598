// Owns: one row or more for every operation: what is asked of it, in which order, and what of the answer counts.
// Refuses: doors; both are asked the same.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import { hubServer } from './hub-server.ts';
import { stepsPack } from './steps-pack.ts';

const ASKING = 'undo: { keep: { bytes: 0 } }\npaths:\n  rules:\n    - { path: "locked/**", write: ask }\n';

/** Something for every operation: a server to add, a toolpack whose calls are runs, a policy that asks. */
export const FILES: Readonly<Record<string, string>> = {
  ...stepsPack(ASKING),
  'proposed.yaml': 'version: 1\npaths:\n  rules:\n    - { path: "locked/**", write: deny }\n',
  'broken.yaml': 'version: 1\nnope: 1\n',
  'server/hub.mjs': hubServer('Says it.'),
  'notes.txt': 'one\ntwo\n',
};

export const POLICY_SHA256 = createHash('sha256').update(FILES['haft.yaml']!).digest('hex');

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the operation says
type Json = any;

/** Answers so far, by the operation and the words of its row. */
export type Seen = Record<string, Json>;

interface RowDoor {
  readonly seen: Seen;
  call(tool: string, args: object): Promise<Json>;
  /** What another operation answers. */
  get(id: string, args?: object): Promise<Json>;
}

export interface Row {
  readonly id: string;
  /** Tells rows of one operation apart. */
  readonly what?: string;
  readonly args?: object | ((seen: Seen) => object);
  /** What the command line is given on standard input for an argument that is a secret. */
  readonly stdin?: string;
  /** Where the command line says it otherwise. */
  argv?(args: Json): readonly string[];
  /** Of bytes that the command line writes into a file. */
  read?(root: string): string;
  /** Of lines that never end: so many are taken. */
  readonly until?: number;
  /** The reason that both refuse it with. */
  readonly fails?: string;
  before?(door: RowDoor): Promise<unknown>;
  /** What of the answer is compared; all of it by default. */
  shown?(answer: Json): unknown;
  check?(answer: Json): void;
  /** The row that it leaves in the audit, where that is not `haft GROUP WORD`; null: none, since it changed nothing and tried nothing here. */
  readonly leaves?: string | null;
}

const SECRET = 'correct horse battery staple';

const write = (path: string, content: string) => async (door: RowDoor) => {
  const answer = await door.call('file_write', { path, content });
  door.seen.call = answer.call_id;
  door.seen.approval = answer.errors[0]?.details?.approval_id;
};

const steps = (how: string, word: string) => async (door: RowDoor) => {
  door.seen.other = door.seen.run;
  door.seen.run = (await door.call('steps', { how, word })).run_id;
};

const waiting = async (door: RowDoor) => {
  door.call('steps', { how: 'wait', word: 'long' }).catch(() => {});
  await eventually(async () => {
    const [run] = (await door.get('runs.list', { limit: 1 })).runs;
    door.seen.waiting = run.run_id;
    return run.state === 'running';
  }, 'a run that waits');
};

const ofRun = ({ run }: Seen) => ({ run });

export const ROWS: readonly Row[] = [
  { id: 'undo', before: write('a.txt', 'one\n'), args: ({ call }) => ({ call }), leaves: 'undo' },
  { id: 'undo', what: 'of no call', args: { call: 'call_none' }, leaves: 'undo' },
  {
    id: 'status',
    shown: ({ policy, tools, pending_approvals, next }) => ({ policy, tools, pending_approvals, next }),
    check: ({ policy, last_calls }) => {
      assert.equal(policy, 'trusted');
      assert.equal(last_calls.at(-1).tool, 'undo');
    },
  },
  {
    id: 'gc',
    what: 'tried',
    before: write('a.txt', 'two\n'),
    args: { dry_run: true },
    shown: ({ dry_run, undo }) => [dry_run, undo.calls],
    leaves: null,
  },
  {
    id: 'gc',
    before: write('a.txt', 'three\n'),
    shown: ({ undo, objects, archived }) => [undo.calls, objects.objects > 0, archived],
  },
  { id: 'tools.list' },
  { id: 'tools.show', args: { tool: 'file_read' } },
  { id: 'tools.show', what: 'of no tool', args: { tool: 'file_raed' }, fails: 'tool.unknown' },
  { id: 'tools.search', args: { words: ['read', 'a', 'file'], limit: 3 } },
  { id: 'tools.add', args: { name: 'hub', command: ['node', 'server/hub.mjs'] } },
  {
    id: 'tools.add',
    what: 'twice',
    args: { name: 'hub', command: ['node', 'server/hub.mjs'] },
    fails: 'pack.invalid',
  },
  { id: 'tools.config', leaves: null },
  { id: 'tools.config', what: 'of one', args: { pack: 'hub' }, leaves: null },
  {
    id: 'tools.config',
    what: 'changed',
    args: { pack: 'hub', config: { command: ['node', 'server/hub.mjs', 'x'] } },
  },
  { id: 'tools.lock' },
  { id: 'tools.lock', what: 'accepted', args: { accept: true } },
  { id: 'tools.health' },
  { id: 'tools.logs', args: { pack: 'hub' }, shown: ({ pack }) => pack },
  { id: 'tools.disable', args: { pack: 'hub' } },
  { id: 'tools.enable', args: { pack: 'hub' } },
  { id: 'tools.remove', args: { pack: 'hub' } },
  { id: 'approvals.list', before: write('locked/a', 'x') },
  { id: 'approvals.list', what: 'of no such status', args: { status: 'all' } },
  { id: 'approvals.show', args: ({ approval }) => ({ approval }) },
  { id: 'approvals.grant', args: ({ approval }) => ({ approval }) },
  { id: 'approvals.refuse', before: write('locked/a', 'y'), args: ({ approval }) => ({ approval }) },
  { id: 'approvals.show', what: 'of none', args: { approval: 'appr_none' }, fails: 'approval.unknown' },
  { id: 'policy.check' },
  {
    id: 'policy.check',
    what: 'of another file',
    args: { file: 'broken.yaml' },
    shown: ({ ok, diagnostics }) => [ok, diagnostics.map(({ code }: Json) => code)],
  },
  { id: 'policy.explain', args: { tool: 'file_write', args: { path: 'locked/b', content: '' } } },
  { id: 'policy.suggest' },
  { id: 'policy.diff' },
  { id: 'policy.hash', args: { tool: 'file_read' } },
  {
    id: 'policy.replay',
    args: { file: 'proposed.yaml' },
    check: ({ changes }) => assert.ok(changes.length > 0),
  },
  { id: 'credentials.set', args: { provider: 'github', secret: { token: SECRET } }, stdin: `${SECRET}\n` },
  {
    id: 'credentials.set',
    what: 'of no provider',
    args: { provider: 'Git Hub', secret: { token: SECRET } },
    stdin: `${SECRET}\n`,
    fails: 'usage',
    leaves: null,
  },
  { id: 'credentials.list' },
  { id: 'credentials.check' },
  { id: 'credentials.remove', args: { provider: 'github' } },
  { id: 'credentials.remove', what: 'twice', args: { provider: 'github' }, fails: 'credentials.missing' },
  { id: 'sessions.open', args: { id: 'review', calls: 5, for: '12h', attribution: { user: 'ada' } } },
  { id: 'sessions.list', shown: ({ sessions }) => sessions.filter(({ id }: Json) => id === 'review') },
  { id: 'sessions.show', args: { session: 'review' } },
  { id: 'sessions.end', args: { session: 'review' } },
  { id: 'sessions.show', what: 'of none', args: { session: 'nobody' }, fails: 'session.unknown' },
  { id: 'artifacts.import', args: { path: 'notes.txt' }, leaves: 'artifact_import' },
  { id: 'artifacts.list' },
  { id: 'artifacts.show', args: (seen) => ({ artifact: seen['artifacts.import'].artifact }) },
  {
    id: 'artifacts.cat',
    args: (seen) => ({ artifact: seen['artifacts.import'].artifact }),
    argv: ({ artifact }) => ['artifacts', 'cat', artifact],
    check: (text) => assert.equal(text, 'one\ntwo\n'),
  },
  { id: 'artifacts.verify' },
  // What was used within the hour stays: nothing goes, and nothing is recorded.
  { id: 'artifacts.gc', args: { unused_for: '1h' }, shown: ({ removed }) => removed.objects, leaves: null },
  {
    id: 'runs.show',
    before: steps('ok', 'one'),
    args: ofRun,
    shown: ({ tool, state, attempts }) => [tool, state, attempts.length],
  },
  { id: 'runs.watch', args: ofRun, shown: ({ number, state }) => [number, state] },
  { id: 'runs.retry', args: ofRun, shown: ({ replayed, state }) => [replayed, state], leaves: 'steps' },
  {
    id: 'runs.verify',
    args: ofRun,
    shown: ({ identical, outputs }) => [identical, outputs.length],
    leaves: 'steps',
  },
  { id: 'runs.explain', before: steps('ok', 'two'), args: ({ run, other }) => ({ run, other }) },
  {
    id: 'runs.list',
    shown: ({ runs }) => runs.map(({ tool, state, run_id }: Json) => [tool, state, run_id]),
  },
  {
    id: 'runs.export',
    args: ofRun,
    argv: ({ run }) => ['runs', 'export', run, '--to', 'run.tar'],
    read: (root) => readFileSync(join(root, 'run.tar'), 'latin1'),
    shown: (bytes: string) => [bytes.length % 512, bytes.slice(0, bytes.indexOf('\0'))],
  },
  {
    id: 'runs.cancel',
    before: waiting,
    args: ({ waiting: run }) => ({ run }),
    shown: ({ attempts }) => attempts.map(({ state }: Json) => state),
  },
  { id: 'runs.show', what: 'of none', args: { run: 'run_0000' }, fails: 'run.unknown' },
  { id: 'audit.list', args: { tool: 'haft tools add' } },
  { id: 'audit.list', what: 'of one outcome', args: { outcome: 'denied' }, shown: ({ rows }) => rows.length },
  { id: 'audit.head', shown: ({ hash }) => hash.length },
  { id: 'audit.tail', args: { tool: 'haft tools remove' }, until: 1 },
  { id: 'audit.verify', shown: ({ ok, kept }) => [ok, kept.state], leaves: null },
  {
    id: 'audit.verify',
    what: 'and takes it',
    args: { accept: true },
    shown: ({ ok }) => ok,
    leaves: 'haft audit verify --accept',
  },
  { id: 'audit.checkpoint', shown: ({ size, key }) => [size > 0, key.split('+')[0] !== ''] },
  {
    id: 'audit.export',
    shown: (rows) =>
      rows.filter(({ decision }: Json) => decision.rule === 'management').map(({ tool }: Json) => tool),
  },
  { id: 'doctor', shown: ({ findings }) => findings.map(({ name }: Json) => name) },
  { id: 'trust', what: 'listed', args: { list: true }, leaves: null },
  { id: 'trust', what: 'revoked', args: { revoke: true }, leaves: 'haft trust --revoke' },
  {
    id: 'trust',
    what: 'of another file',
    args: { sha256: '0'.repeat(64) },
    fails: 'policy.untrusted',
    leaves: null,
  },
  { id: 'trust', args: { sha256: POLICY_SHA256 } },
];
