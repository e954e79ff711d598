// Owns: that what a sandbox refused is told by path, from words that real programs say, with a line that grants it.
// Refuses: to run them; the end-to-end tests do.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { explainRefusal } from './explain-refusal.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-refusal-')));
after(() => rmSync(root, { recursive: true }));
const put = (path: string, text = '') => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
put('server/hub.mjs', 'const at = process.env.HUB_DATA_FILE ?? "x";');
put('notes/a.txt');
put('lib/util.mjs');
put('node_modules/ajv/index.js');
put('words.py');
put('.venv/lib/python3.12/site-packages/requests/__init__.py');

const explain = (text: string, config = {}) =>
  explainRefusal(text, { root, kind: 'mcp', config: { command: ['node', 'server/hub.mjs'], ...config } });
/** The line, as a person would copy it. */
const lineOf = (said: string | undefined) =>
  JSON.parse(/to grant it, the pack needs under mcp: (\{.*\})$/.exec(said ?? '')?.[1] ?? 'null');

describe('explainRefusal', () => {
  it('names the folder of a refused write', () => {
    const ROWS: readonly (readonly [text: string, folder: string])[] = [
      [`Error: EROFS: read-only file system, open '${root}/out/x.json'`, 'out'],
      [`OSError: [Errno 30] Read-only file system: '${root}/out/x.json'`, 'out'],
      [`PermissionError: [Errno 13] Permission denied: 'out/x.json'`, 'out'],
      [`sh: 1: cannot create ${root}/out/x: Read-only file system`, 'out'],
      [`EROFS: read-only file system, mkdir '${root}/notes'`, 'notes'],
    ];
    for (const [text, folder] of ROWS)
      assert.deepEqual(lineOf(explain(text)), { caps: { filesystem: { write: [folder] } } }, text);
    const more = explain(`EROFS: open '${root}/out/x'`, {
      caps: { subprocess: true, filesystem: { write: ['a'] } },
    });
    assert.deepEqual(lineOf(more), { caps: { subprocess: true, filesystem: { write: ['a', 'out'] } } });
  });

  it('sends what is written among its code elsewhere, by the variable that it reads', () => {
    const said = explain(
      `EROFS: read-only file system, open '${root}/server/data.jsonl.23ed493c36441cbd.tmp'`,
    );
    assert.match(said ?? '', /among its own code.*it reads HUB_DATA_FILE/);
    assert.deepEqual(lineOf(said), {
      env: { set: { HUB_DATA_FILE: join(root, 'data/data.jsonl') } },
      caps: { filesystem: { write: ['data'] } },
    });
  });

  it('never advises to grant the whole workspace, which no policy does', () => {
    const write = (text: string) => lineOf(explain(text))?.caps.filesystem.write;
    for (const text of [
      `EROFS: read-only file system, open '${root}/new.json'`,
      `EROFS: read-only file system, open '${root}'`,
      `OSError: [Errno 30] Read-only file system: 'new.json'`,
      `EACCES: permission denied, open './new.json'`,
    ]) {
      assert.deepEqual(write(text), ['data'], text);
      assert.match(explain(text) ?? '', /granted to no pack as a whole; name another place/);
    }
    assert.deepEqual(write(`EROFS: read-only file system, mkdir '${root}/out'`), ['out']);
    assert.deepEqual(write(`EROFS: read-only file system, open '${root}/words.py'`), ['words.py']);
  });

  it('names what it could not import, where it is', () => {
    const node = (name: string, by: string) =>
      explain(`Error [ERR_MODULE_NOT_FOUND]: Cannot find ${name} imported from ${by}`);
    assert.deepEqual(lineOf(node(`package 'ajv'`, join(root, 'server/hub.mjs'))), {
      parts: ['node_modules'],
    });
    assert.deepEqual(lineOf(node(`module '${root}/lib/util.mjs'`, join(root, 'server/hub.mjs'))), {
      parts: ['lib'],
    });
    assert.match(
      node(`package 'left-pad'`, join(root, 'server/hub.mjs')) ?? '',
      /left-pad, which is not installed/,
    );
    assert.deepEqual(lineOf(explain(`ModuleNotFoundError: No module named 'words'`)), {
      parts: ['words.py'],
    });
    assert.deepEqual(lineOf(explain(`No module named 'requests.api'`, { command: ['python3', 'x.py'] })), {
      command: ['.venv/bin/python', 'x.py'],
      parts: ['.venv'],
    });
    assert.match(
      explain(`ModuleNotFoundError: No module named 'numpy'`) ?? '',
      /make a venv in the workspace/,
    );
  });

  it('names what it is not shown', () => {
    const said = explain(`Error: ENOENT: no such file or directory, open '${root}/notes/a.txt'`);
    assert.deepEqual(lineOf(said), { caps: { filesystem: { read: ['notes/a.txt'] } } });
    const made = explain(`Error: ENOENT: no such file or directory, open '${root}/notes/new.txt'`);
    assert.deepEqual(lineOf(made), { caps: { filesystem: { write: ['notes'] } } });
  });

  it('grants nothing to who only looked for what is not there', () => {
    for (const text of [
      `Error: ENOENT: no such file or directory, scandir '${root}/notes/none'`,
      `Error: ENOENT: no such file or directory, opendir '${root}/notes/none'`,
      `Error: ENOENT: no such file or directory, stat '${root}/notes/none'`,
      `Error: ENOENT: no such file or directory, lstat '${root}/notes/none'`,
      `Error: ENOENT: no such file or directory, access '${root}/notes/none'`,
      `Error: ENOENT: no such file or directory, unlink '${root}/notes/none'`,
      `Error: EACCES: permission denied, scandir '${root}/notes'`,
      `FileNotFoundError: [Errno 2] No such file or directory: '${root}/notes/none'`,
      `cat: ${root}/notes/none: No such file or directory`,
    ])
      assert.equal(explain(text), undefined, text);
    assert.deepEqual(lineOf(explain(`ENOENT: no such file or directory, scandir '${root}/notes'`)), {
      caps: { filesystem: { read: ['notes'] } },
    });
  });

  it('grants nothing that is granted', () => {
    const caps = (access: string, place: string) => ({ caps: { filesystem: { [access]: [place] } } });
    const missing = `ENOENT: no such file or directory, open '${root}/notes/none'`;
    for (const place of ['notes', 'notes/', './notes', '.'])
      for (const access of ['read', 'write'])
        assert.equal(explain(missing, caps(access, place)), undefined, place);
    const refused = `EACCES: permission denied, open '${root}/notes/a.txt'`;
    assert.equal(explain(refused, caps('write', 'notes')), undefined);
    assert.notEqual(explain(refused, caps('read', 'notes')), undefined);
    assert.notEqual(explain(missing, caps('read', 'note')), undefined);
  });

  it('says nothing about what is none of it', () => {
    for (const text of [
      '',
      'Error: no key',
      'listening on /',
      "ENOENT: open '/nowhere/at/all'",
      'permission denied',
    ])
      assert.equal(explain(text), undefined, text);
    assert.match(explain("EROFS: read-only file system, open '/etc/x'") ?? '', /outside of the workspace/);
  });
});
