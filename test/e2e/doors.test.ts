// Owns: the proof that the four doors give the same answer for the same call.
// Refuses: a door of its own: what differs is only what is named here.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, ToolResponse } from '../../src/index.ts';
import { DOORS } from './support/doors.ts';
import { makeWorkspace } from './support/workspace.ts';

const FILES = {
  'README.md': '# Title\n\nSome text.\n',
  'src/a b.txt': 'spaces in a name\r\nand CRLF\r\n',
  'src/ünïcode.txt': 'grüße\n',
  'bin.dat': Uint8Array.of(0, 255, 254, 1),
  'haft.yaml':
    'version: 1\npaths:\n  rules:\n    - { path: "secret/**", read: deny, write: deny }\n    - { path: "locked.txt", write: ask }\n',
  'secret/key.txt': 'hidden',
};

/** What is called, and what is expected of every door. */
const CALLS: readonly {
  readonly title: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly reason?: string;
}[] = [
  { title: 'reads a file', tool: 'file_read', args: { path: 'README.md' } },
  { title: 'reads a file with spaces and CRLF', tool: 'file_read', args: { path: 'src/a b.txt' } },
  { title: 'reads a file with a Unicode name', tool: 'file_read', args: { path: 'src/ünïcode.txt' } },
  { title: 'reads a binary file', tool: 'file_read', args: { path: 'bin.dat' } },
  { title: 'lists files', tool: 'fs_list', args: { glob: '**' } },
  { title: 'writes a file', tool: 'file_write', args: { path: 'new/file.txt', content: 'hello\n' } },
  {
    title: 'patches a file',
    tool: 'file_patch',
    args: { path: 'README.md', unified_diff: '@@ -1,3 +1,3 @@\n-# Title\n+# Name\n \n Some text.\n' },
  },
  { title: 'copies a file', tool: 'fs_copy', args: { src: 'README.md', dst: 'COPY.md' } },
  { title: 'moves a file', tool: 'fs_move', args: { src: 'COPY.md', dst: 'MOVED.md' } },
  { title: 'deletes a file', tool: 'fs_delete', args: { path: 'MOVED.md' } },
  { title: 'refuses an unknown tool', tool: 'file_raed', args: {}, reason: 'tool.unknown' },
  { title: 'refuses a missing argument', tool: 'file_read', args: {}, reason: 'input.schema' },
  {
    title: 'refuses an unknown argument',
    tool: 'file_read',
    args: { path: 'README.md', max_byte: 3 },
    reason: 'input.schema',
  },
  { title: 'refuses a wrong type', tool: 'file_read', args: { path: 7 }, reason: 'input.schema' },
  {
    title: 'refuses a path outside',
    tool: 'file_read',
    args: { path: '../etc/passwd' },
    reason: 'path.outside_workspace',
  },
  {
    title: 'refuses an absolute path',
    tool: 'file_read',
    args: { path: '/etc/passwd' },
    reason: 'path.outside_workspace',
  },
  {
    title: 'refuses its own state',
    tool: 'file_read',
    args: { path: '.haft/haft.db' },
    reason: 'path.protected',
  },
  {
    title: 'refuses to write the policy',
    tool: 'file_write',
    args: { path: 'haft.yaml', content: '' },
    reason: 'path.protected',
  },
  {
    title: 'refuses what a rule denies',
    tool: 'file_read',
    args: { path: 'secret/key.txt' },
    reason: 'policy.denied',
  },
  {
    title: 'asks where a rule asks',
    tool: 'file_write',
    args: { path: 'locked.txt', content: 'x' },
    reason: 'approval.pending',
  },
  {
    title: 'says that a file is missing',
    tool: 'file_read',
    args: { path: 'nope.txt' },
    reason: 'path.not_found',
  },
  {
    title: 'says that a folder is no file',
    tool: 'file_read',
    args: { path: 'src' },
    reason: 'path.is_directory',
  },
];

describe('the four doors', async () => {
  const answers = new Map<string, ToolResponse[]>();
  for (const door of DOORS) {
    it(`${door.name} answers every call of the table`, async () => {
      const workspace = makeWorkspace(FILES);
      const open = await door.open(workspace.root);
      try {
        const given: ToolResponse[] = [];
        for (const { title, tool, args, reason } of CALLS) {
          const response = await open.call(tool, args);
          assert.equal(response.errors[0]?.reason, reason, `${title}: ${JSON.stringify(response)}`);
          assert.equal(response.ok, reason === undefined, title);
          given.push(response);
        }
        answers.set(door.name, given);
      } finally {
        await open.close();
        workspace.remove();
      }
    });
  }

  for (const [i, { title }] of CALLS.entries()) {
    it(`${title}: the same through every door`, () => {
      const [first, ...others] = DOORS.map((door) => comparable(answers.get(door.name)![i]!));
      for (const other of others) assert.deepEqual(other, first);
    });
  }
});

/** Everything but what names this one call. An unknown tool is a protocol error in MCP: only its reason and words travel. */
function comparable({ ok, tool, data, errors, warnings }: ToolResponse): unknown {
  const shown = errors.map(({ reason, message, ...rest }) =>
    reason === 'tool.unknown'
      ? { reason }
      : { ...rest, reason, message: withoutIds(message), details: withoutIds(JSON.stringify(rest.details)) },
  );
  return { ok, tool, data, errors: shown, warnings };
}

const withoutIds = (text: string | undefined) =>
  text?.replaceAll(/appr_[0-9a-v]{20}/g, 'appr_').replaceAll(/"expires_ts":\d+/g, '');
