// Owns: every way in which a tool takes a path, so that one hostile path is tried in all of them.
// Refuses: to judge the answers.
import type { JsonObject } from '../../../src/index.ts';

export interface PathArgument {
  readonly title: string;
  readonly tool: string;
  /** The argument that carries the path. */
  readonly argument: string;
  /** What the call would do at the path. */
  readonly access: 'read' | 'write' | 'list';
  /** It is about a link itself, not about what the link leads to. */
  readonly keepsLink?: true;
  args(path: string): JsonObject;
}

/** Files that the calls may use as their harmless other end; see `hostile-workspace.ts`. */
export const PLAIN = { file: 'plain.txt', folder: 'plain-folder', free: 'free.txt' } as const;

const STALE = '@@ -1,2 +1,2 @@\n nothing like this\n-is in the file\n+at all\n';
const CREATE = '@@ -0,0 +1 @@\n+created\n';
const DELETE = '@@ -1 +0,0 @@\n-gone\n';

const moved = (change: string, from: string, to: string) =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\n${change} from ${from}\n${change} to ${to}\n`;

const FORMS: readonly PathArgument[] = [
  { title: 'file_read', tool: 'file_read', argument: 'path', access: 'read', args: (path) => ({ path }) },
  {
    title: 'file_read of lines',
    tool: 'file_read',
    argument: 'path',
    access: 'read',
    args: (path) => ({ path, start_line: 1, end_line: 1 }),
  },
  {
    title: 'artifact_import',
    tool: 'artifact_import',
    argument: 'path',
    access: 'read',
    args: (path) => ({ path }),
  },
  {
    title: 'file_write',
    tool: 'file_write',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, content: 'written\n' }),
  },
  {
    title: 'file_write of a new file',
    tool: 'file_write',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, content: 'written\n', must_create: true }),
  },
  {
    title: 'file_edit',
    tool: 'file_edit',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, old: 'nothing like this', new: 'is in the file' }),
  },
  {
    title: 'file_patch',
    tool: 'file_patch',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, unified_diff: STALE }),
  },
  {
    title: 'file_patch that creates',
    tool: 'file_patch',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, unified_diff: `--- /dev/null\n+++ b/${nameOf(path)}\n${CREATE}` }),
  },
  {
    title: 'file_patch that deletes',
    tool: 'file_patch',
    argument: 'path',
    access: 'write',
    args: (path) => ({ path, unified_diff: `--- a/${nameOf(path)}\n+++ /dev/null\n${DELETE}` }),
  },
  {
    title: 'file_patch whose header creates',
    tool: 'file_patch',
    argument: 'unified_diff',
    access: 'write',
    args: (path) => ({ path: '.', unified_diff: `--- /dev/null\n+++ b/${path}\n${CREATE}` }),
  },
  {
    title: 'file_patch whose header renames to it',
    tool: 'file_patch',
    argument: 'unified_diff',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ path: '.', unified_diff: moved('rename', PLAIN.file, path) }),
  },
  {
    title: 'file_patch whose header renames it',
    tool: 'file_patch',
    argument: 'unified_diff',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ path: '.', unified_diff: moved('rename', path, PLAIN.free) }),
  },
  {
    title: 'file_patch whose header copies it',
    tool: 'file_patch',
    argument: 'unified_diff',
    access: 'read',
    args: (path) => ({ path: '.', unified_diff: moved('copy', path, PLAIN.free) }),
  },
  ...(
    [
      ['adds', (path) => `*** Add File: ${path}\n+created\n`],
      ['updates', (path) => `*** Update File: ${path}\n-nothing like this\n+is in the file\n`],
      ['moves to', (path) => `*** Update File: ${PLAIN.file}\n*** Move to: ${path}\n`, true],
      ['moves', (path) => `*** Update File: ${path}\n*** Move to: ${PLAIN.free}\n`, true],
      ['deletes', (path) => `*** Delete File: ${path}\n`, true],
    ] as [string, (path: string) => string, true?][]
  ).map(
    ([verb, body, keepsLink]): PathArgument => ({
      title: `file_patch whose "*** Begin Patch" ${verb} it`,
      tool: 'file_patch',
      argument: 'unified_diff',
      access: 'write',
      ...(keepsLink ? { keepsLink } : {}),
      args: (path) => ({ path: '.', unified_diff: `*** Begin Patch\n${body(path)}*** End Patch\n` }),
    }),
  ),
  {
    title: 'fs_list',
    tool: 'fs_list',
    argument: 'glob',
    access: 'list',
    keepsLink: true,
    args: (path) => ({ glob: path }),
  },
  {
    title: 'fs_list below',
    tool: 'fs_list',
    argument: 'glob',
    access: 'list',
    args: (path) => ({ glob: `${path}/**`, include_hidden: true, include_ignored: true, include_dirs: true }),
  },
  {
    title: 'grep',
    tool: 'grep',
    argument: 'glob',
    access: 'list',
    args: (path) => ({
      pattern: 'SENTINEL-|SQLite|.',
      glob: path,
      include_hidden: true,
      include_ignored: true,
    }),
  },
  {
    title: 'grep below',
    tool: 'grep',
    argument: 'glob',
    access: 'list',
    args: (path) => ({ pattern: 'SENTINEL-|SQLite|.', glob: `${path}/**`, include_hidden: true }),
  },
  {
    title: 'fs_move from',
    tool: 'fs_move',
    argument: 'src',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ src: path, dst: PLAIN.free }),
  },
  {
    title: 'fs_move to',
    tool: 'fs_move',
    argument: 'dst',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ src: PLAIN.file, dst: path, overwrite: true }),
  },
  {
    title: 'fs_move of a folder to',
    tool: 'fs_move',
    argument: 'dst',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ src: PLAIN.folder, dst: path, overwrite: true }),
  },
  {
    title: 'fs_copy from',
    tool: 'fs_copy',
    argument: 'src',
    access: 'read',
    args: (path) => ({ src: path, dst: PLAIN.free }),
  },
  {
    title: 'fs_copy to',
    tool: 'fs_copy',
    argument: 'dst',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ src: PLAIN.file, dst: path, overwrite: true }),
  },
  {
    title: 'fs_copy of a folder to',
    tool: 'fs_copy',
    argument: 'dst',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ src: PLAIN.folder, dst: path, overwrite: true }),
  },
  {
    title: 'fs_delete',
    tool: 'fs_delete',
    argument: 'path',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ path }),
  },
  {
    title: 'fs_delete of all below',
    tool: 'fs_delete',
    argument: 'path',
    access: 'write',
    keepsLink: true,
    args: (path) => ({ path, recursive: true }),
  },
];

/** Each also as a dry run, which must refuse what the real call refuses, and shows content. */
export const PATH_ARGUMENTS: readonly PathArgument[] = FORMS.flatMap((form) => {
  if (form.access === 'list' || ['file_read', 'artifact_import'].includes(form.tool)) return [form];
  const dry: PathArgument = {
    ...form,
    title: `${form.title} (dry run)`,
    args: (path) => ({ ...form.args(path), dry_run: true }),
  };
  return [form, dry];
});

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1) || 'x';
