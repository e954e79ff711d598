// Owns: what a backend must do with an output that is a folder: all of it or nothing, and the same tree everywhere.
// Refuses: how trees are kept; what is here is only held against the digest that it would have.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { encodeTree, type TreeEntry } from '../../base/tree-manifest.ts';
import { assertSucceeded, type BackendCase, endOf, makeAttempt } from './environment.ts';
import { fails } from './outcome-cases.ts';

const TREE_SCRIPT = `
mkdir -p out/tree/deep/er out/tree/empty
cat in/greeting > out/tree/deep/er/copy
printf "#!/bin/sh" > out/tree/run; chmod 755 out/tree/run
umask 077; : > "out/tree/- a 'b' \\"ü\\""; : > out/tree/.hidden; : > "out/tree/two
lines"`;

/** What `artifact_import` answers for such a folder. */
const TREE_DIGEST = 'd130a2d13e3abe026ef20537adb4095c4d3c26ce63abe2d8e9ea1a1ffb5881c9';

const MIB = 1024 * 1024;
const FILL = 'mkdir -p out/d/e; for n in 1 2 3 4 5 6; do head -c 1048576 /dev/zero > out/d/e/$n; done';
const refused = (who: string, script: string, outputs: readonly string[] = ['d/']): BackendCase =>
  fails(who, 'tool', 'tool.outputs', script, { outputs });

export const FOLDER_CASES: readonly BackendCase[] = [
  {
    name: 'wait takes a folder that is an output, with all that is in it',
    async run(env) {
      const attempt = await makeAttempt(env, TREE_SCRIPT, { outputs: ['tree/'] });
      assertSucceeded(await endOf(await env.backend.start(attempt), env));
      assert.equal(sha256Hex(encodeTree(entriesOf(join(attempt.folder, 'out/tree')))), TREE_DIGEST);
    },
  },
  {
    name: 'wait takes an empty folder, and one in a folder, as outputs',
    async run(env) {
      const attempt = await makeAttempt(env, 'mkdir -p out/-empty out/a/b; echo > out/a/b/c', {
        outputs: ['-empty/', 'a/b/'],
      });
      assertSucceeded(await endOf(await env.backend.start(attempt), env));
    },
  },
  refused('a folder that is missing', 'exit 0'),
  refused('a file in place of a folder', 'echo > out/d'),
  refused('a folder in place of a file', 'mkdir out/d', ['d']),
  refused('a link in place of a folder', 'ln -s ../in out/d'),
  refused('a link in a folder', 'mkdir out/d; echo > out/d/a; ln -s /etc/passwd out/d/b'),
  refused('a link to a folder in a folder', 'mkdir out/d; ln -s ../../in out/d/b'),
  refused('a pipe in a folder', 'mkdir -p out/d/e; mkfifo out/d/e/p'),
  refused('a file beside a folder', 'mkdir out/d; echo > out/d/a; echo > out/b'),
  fails('a folder with too much in it', 'limit', 'limit.output_bytes', FILL, {
    outputs: ['d/'],
    resources: { outputBytes: 4 * MIB },
  }),
];

function entriesOf(folder: string): readonly TreeEntry[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => {
    const place = join(folder, path);
    const stat = statSync(place);
    if (stat.isDirectory()) return { type: 'dir', path };
    const bytes = readFileSync(place);
    const executable = (stat.mode & 0o100) !== 0;
    return { type: 'file', path, size: bytes.length, sha256: sha256Hex(bytes), executable };
  });
}
