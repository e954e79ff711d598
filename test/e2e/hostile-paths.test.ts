// Owns: the proof that no path, however it is spelled or linked, leads a tool to where it may not go.
// Refuses: answers that come late, say too much or leave no trace in the audit.
import assert from 'node:assert/strict';
import { linkSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, normalize } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type CallResponse, createRuntime, type DefaultRuntime, type JsonObject } from '../../src/index.ts';
import { DOORS } from './support/doors.ts';
import {
  type HostilePath,
  type HostileWorkspace,
  makeHostileWorkspace,
  SENTINEL,
} from './support/hostile-workspace.ts';
import { inTime } from './support/in-time.ts';
import { PATH_ARGUMENTS, type PathArgument, PLAIN } from './support/path-arguments.ts';
import { snapshot, snapshotOf } from './support/snapshot.ts';
import { makeWorkspace } from './support/workspace.ts';

const GUARDED = [
  ...['haft.yaml', 'haft.lock', '.haft/.gitignore', 'nested/.git', 'nested/.git/config', 'nested/file.txt'],
  ...['.git', '.git/config', '.git/HEAD', '.git/hooks', '.git/hooks/pre-commit'],
];

let hostile: HostileWorkspace;
let runtime: DefaultRuntime;
let outsideBefore: readonly string[];
let guardedBefore: readonly string[];

before(async () => {
  hostile = await makeHostileWorkspace();
  runtime = await createRuntime({ workspace: hostile.workspace.root });
  outsideBefore = snapshot(hostile.outside.root);
  guardedBefore = snapshotOf(hostile.workspace.root, GUARDED);
});

after(async () => {
  await runtime.close();
  await hostile.close();
});

describe('hostile paths', () => {
  for (const form of PATH_ARGUMENTS) {
    it(`${form.title} is refused at every hostile path`, async () => {
      const { count: afterSeq } = await runtime.audit.head();
      const responses: CallResponse[] = [];
      const problems: string[] = [];
      for (const one of hostile.paths) {
        const title = `${form.title} ${JSON.stringify(one.path.slice(0, 80))}`;
        const args = form.args(one.path);
        const response = await inTime(runtime.call({ tool: form.tool, args }), title);
        const problem = problemOf(form, one, response) ?? leakOf(response, args);
        if (problem) problems.push(`${title}: ${problem}`);
        responses.push(response);
        if (response.ok) hostile.arm();
      }
      assert.equal(problems.length, 0, problems.join('\n'));
      assertUntouched(form.title);
      await assertAudited(responses, afterSeq);
    });
  }

  it('every argument of a tool that is a path is tried', () => {
    const names = /^(path|src|dst|glob|unified_diff|.*_path|file|files|root|folder|dir)$/;
    // Their path is a key of an artifact's own list: no file is opened by it.
    const inArtifacts = ['artifact_get', 'artifact_preview'];
    for (const { contract } of runtime.tools()) {
      if (inArtifacts.includes(contract.id)) continue;
      const { properties = {} } = contract.input as { properties?: JsonObject };
      for (const argument of Object.keys(properties).filter((name) => names.test(name))) {
        const tried = PATH_ARGUMENTS.some((form) => form.tool === contract.id && form.argument === argument);
        assert.ok(tried, `${contract.id} takes ${argument}, and no hostile path is tried there`);
      }
    }
  });
});

describe('what is protected', () => {
  const CASES: readonly { readonly title: string; readonly tool: string; readonly args: JsonObject }[] = [
    { title: 'deleting the root', tool: 'fs_delete', args: { path: '.', recursive: true, force: true } },
    { title: 'deleting the root by a detour', tool: 'fs_delete', args: { path: 'in/..', recursive: true } },
    { title: 'deleting .git', tool: 'fs_delete', args: { path: '.git', recursive: true, force: true } },
    {
      title: 'deleting a folder that holds a .git',
      tool: 'fs_delete',
      args: { path: 'nested', recursive: true },
    },
    {
      title: 'moving a folder that holds a .git',
      tool: 'fs_move',
      args: { src: 'nested', dst: 'elsewhere' },
    },
    { title: 'moving the root', tool: 'fs_move', args: { src: '.', dst: 'elsewhere' } },
    { title: 'copying a folder with a .git', tool: 'fs_copy', args: { src: 'nested', dst: 'elsewhere' } },
    { title: 'copying the root into itself', tool: 'fs_copy', args: { src: '.', dst: 'elsewhere' } },
    { title: 'moving .haft out', tool: 'fs_move', args: { src: '.haft', dst: 'elsewhere' } },
    { title: 'copying .haft out', tool: 'fs_copy', args: { src: '.haft', dst: 'elsewhere' } },
    { title: 'moving a file into .haft', tool: 'fs_move', args: { src: PLAIN.file, dst: '.haft/x' } },
    { title: 'a folder becoming .git', tool: 'fs_move', args: { src: PLAIN.folder, dst: 'in/.git' } },
    {
      title: 'a folder becoming haft.yaml',
      tool: 'fs_copy',
      args: { src: PLAIN.folder, dst: 'haft.yaml', overwrite: true },
    },
    {
      title: 'a patch with one bad file among good ones',
      tool: 'file_patch',
      args: {
        path: '.',
        unified_diff:
          '--- /dev/null\n+++ b/good.txt\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/.git/hooks/evil\n@@ -0,0 +1 @@\n+x\n',
      },
    },
    { title: 'reading a leftover of a call', tool: 'file_read', args: { path: '.haft-tmp-1-2-3-4-5' } },
  ];

  for (const { title, tool, args } of CASES) {
    it(`refuses ${title}`, async () => {
      const response = await inTime(runtime.call({ tool, args }), title);
      assert.equal(response.ok, false, JSON.stringify(response));
      assert.match(response.errors[0]!.code, /^E_(POLICY|FILE_IO)$/);
      assertUntouched(title);
      const free = snapshotOf(hostile.workspace.root, ['elsewhere', 'good.txt', 'in/.git']);
      assert.deepEqual(free, ['elsewhere nothing', 'good.txt nothing', 'in/.git nothing']);
    });
  }

  it('writing a hard link of haft.yaml leaves haft.yaml as it is', async () => {
    for (const [name, tool, args] of [
      ['hard-1', 'file_write', { path: 'hard-1', content: 'version: 2\n' }],
      ['hard-2', 'file_patch', { path: 'hard-2', unified_diff: '@@ -1 +1 @@\n-version: 1\n+version: 2\n' }],
      ['hard-3', 'fs_copy', { src: PLAIN.file, dst: 'hard-3', overwrite: true }],
      ['hard-4', 'fs_move', { src: 'hard-4', dst: 'hard-5' }],
      ['hard-6', 'fs_delete', { path: 'hard-6' }],
    ] as const) {
      linkSync(hostile.workspace.path('haft.yaml'), hostile.workspace.path(name));
      const response = await runtime.call({ tool, args });
      assert.equal(response.ok, true, JSON.stringify(response));
      assertUntouched(`${tool} of a hard link`);
    }
  });
});

describe('a root beside the workspace', () => {
  it('is granted itself, and nothing that is protected gets there or leads on from there', async () => {
    const extra = makeWorkspace({ 'f.txt': 'extra\n', '.git/config': '[core]\n' });
    const workspace = makeWorkspace({
      'haft.yaml': `version: 1\npaths: { extra_roots: ["${extra.root}"] }\n`,
      'a.txt': 'a\n',
    });
    symlinkSync(hostile.outside.root, extra.path('leaves'));
    const opened = await createRuntime({ workspace: workspace.root });
    try {
      const call = async (tool: string, args: JsonObject) => {
        const response = await inTime(opened.call({ tool, args }), tool);
        assert.equal(leakOf(response, args), undefined);
        return response.errors[0]?.reason ?? 'ok';
      };
      assert.equal(await call('file_read', { path: extra.path('f.txt') }), 'ok');
      assert.equal(await call('fs_copy', { src: 'a.txt', dst: extra.path('a.txt') }), 'ok');
      for (const [tool, args, reason] of [
        ['file_read', { path: extra.path('leaves/secret.txt') }, 'path.outside_workspace'],
        ['file_write', { path: extra.path('leaves/new.txt'), content: '' }, 'path.outside_workspace'],
        [
          'file_read',
          { path: `${extra.root}/../${basename(hostile.outside.root)}/secret.txt` },
          'path.outside_workspace',
        ],
        ['file_read', { path: `${extra.root}x/f.txt` }, 'path.outside_workspace'],
        ['file_write', { path: extra.path('.git/config'), content: '' }, 'path.protected'],
        ['fs_delete', { path: extra.path('.git'), recursive: true }, 'path.protected'],
        ['fs_copy', { src: '.', dst: extra.path('all') }, 'path.protected'],
        ['fs_copy', { src: '.haft', dst: extra.path('state') }, 'path.protected'],
        ['fs_move', { src: 'haft.yaml', dst: extra.path('haft.yaml') }, 'path.protected'],
        ['fs_move', { src: extra.path('f.txt'), dst: '.haft/f.txt' }, 'path.protected'],
      ] as const) {
        assert.equal(await call(tool, args), reason, `${tool} ${JSON.stringify(args)}`);
      }
      assert.deepEqual(readdirSync(extra.root).sort(), ['.git', 'a.txt', 'f.txt', 'leaves']);
      assertUntouched('a call beside the workspace');
    } finally {
      await opened.close();
      workspace.remove();
      extra.remove();
    }
  });
});

describe('hostile paths through every door', () => {
  const calls = ({ outside }: HostileWorkspace): readonly (readonly [string, JsonObject, RegExp])[] => [
    ['file_read', { path: `../${basename(outside.root)}/secret.txt` }, /^path\.outside_workspace$/],
    ['file_read', { path: `/proc/self/root${outside.root}/secret.txt` }, /^path\.outside_workspace$/],
    ['file_read', { path: 'link-file' }, /^path\.outside_workspace$/],
    ['file_read', { path: 'fifo' }, /^path\.not_regular$/],
    ['file_read', { path: `${PLAIN.file}\0` }, /^path\.invalid$/],
    ['file_write', { path: 'link-dir/new.txt', content: 'x' }, /^path\.outside_workspace$/],
    ['file_write', { path: '.git/hooks/pre-commit', content: 'x' }, /^path\.protected$/],
    ['fs_list', { glob: 'state/**' }, /^path\.protected$/],
  ];

  for (const door of DOORS.filter(({ name }) => name !== 'SDK')) {
    it(`${door.name} refuses them`, async () => {
      const open = await door.open(hostile.workspace.root);
      try {
        for (const [tool, args, reason] of calls(hostile)) {
          const title = `${tool} ${JSON.stringify(args)}`;
          const response = await inTime(open.call(tool, args), title);
          assert.equal(response.ok, false, title);
          assert.match(response.errors[0]!.reason, reason, title);
          assert.equal(leakOf(response, args), undefined, title);
        }
      } finally {
        await open.close();
      }
      assertUntouched(door.name);
    });
  }
});

function problemOf(form: PathArgument, path: HostilePath, response: CallResponse): string | undefined {
  const [error] = response.errors;
  if (response.ok) return mayPass(form, path, response) ? undefined : 'went through';
  if (error!.code === 'E_POLICY' || error!.code === 'E_FILE_IO') return undefined;
  // A diff and a glob have grammars of their own, which may refuse first.
  if (form.tool === 'file_patch' && error!.reason.startsWith('patch.')) return undefined;
  if (form.access === 'list' && error!.code === 'E_VALIDATION_FAIL') return undefined;
  return `${error!.code} ${error!.reason}: ${error!.message}`;
}

/** What is lawful although the path looks bad. */
function mayPass(
  form: PathArgument,
  { kind, isLink, landsInside }: HostilePath,
  response: CallResponse,
): boolean {
  if (form.access === 'list' && (kind === 'policy' || kind === 'special' || listsNothing(response)))
    return true;
  if (form.access === 'read' && kind === 'policy') return true;
  // Listing, moving or deleting a link touches the link.
  if (form.keepsLink && isLink) return true;
  return landsInside === true;
}

function listsNothing({ data }: CallResponse): boolean {
  return (data as { count: number }).count === 0;
}

/** Neither content nor names of the outside that the caller did not name itself. */
function leakOf(response: object, args: JsonObject): string | undefined {
  const text = JSON.stringify(response);
  const known = Object.values(args)
    .map((value) => normalize(String(value)))
    .join('\n');
  const told = [SENTINEL, hostile.outside.root, 'root:x:0:0'].find(
    (secret) => text.includes(secret) && !known.includes(secret),
  );
  return told && `tells ${told}: ${text}`;
}

function assertUntouched(title: string): void {
  assert.deepEqual(snapshot(hostile.outside.root), outsideBefore, `${title} changed the outside`);
  const guarded = snapshotOf(hostile.workspace.root, GUARDED);
  assert.deepEqual(guarded, guardedBefore, `${title} changed what is protected`);
}

/** Every answer has its row, with the same outcome. */
async function assertAudited(responses: readonly CallResponse[], afterSeq: number): Promise<void> {
  const rows = await runtime.audit.rows({ afterSeq, limit: 3 * responses.length });
  const outcomes = new Map(rows.filter((row) => row.phase === 'outcome').map((row) => [row.callId, row]));
  for (const { callId, tool, errors } of responses) {
    const [error] = errors;
    const row = outcomes.get(callId);
    assert.ok(row, `${tool} ${callId} has no outcome in the audit`);
    assert.equal(row.outcome, !error ? 'ok' : error.code === 'E_POLICY' ? 'denied' : 'failed');
    assert.deepEqual(row.errors, error ? [{ code: error.code, reason: error.reason }] : []);
  }
}
