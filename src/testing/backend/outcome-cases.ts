// Owns: how a backend must class the ends of attempts: each cause its own, none of them a success, and of an output that is a folder all or nothing.
// Refuses: causes that only one engine knows; its own tests show those.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { encodeTree, type TreeEntry } from '../../base/tree-manifest.ts';
import type { AttemptCause, FailureClass } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, STDERR_TAIL } from '../../contract/attempt-words.ts';
import type { BackendCase, BackendEnvironment, Wanted } from './environment.ts';
import { assertSucceeded, endOf, logOf, makeAttempt, outputOf } from './environment.ts';

const MIB = 1024 * 1024;
/** Keeps all that it reads, as one line: 256 MiB. */
const GREEDY = 'head -c 268435456 /dev/zero | tail > /dev/null';

export const OUTCOME_CASES: readonly BackendCase[] = [
  fails('a program that ends with a code', 'tool', 'tool.exit', 'echo why; exit 3', {}, 3),
  fails('a program that a signal ends', 'tool', 'tool.signal', 'kill -SEGV $$; exit 0', {}, 139),
  fails('a program that kills itself', 'tool', 'tool.signal', 'kill -KILL $$; exit 0', {}, 137),
  fails('a program that is not there', 'tool', 'tool.not_started', '', { argv: ['/no/such/program', 'x'] }),
  fails('a program that cannot be executed', 'tool', 'tool.not_started', '', { argv: ['in/greeting'] }),
  fails('a program that runs too long', 'limit', 'limit.time', 'echo began; sleep 60', {
    resources: { wallMs: 1500 },
  }),
  fails(
    'a program that ignores SIGTERM for too long',
    'limit',
    'limit.time',
    'trap "" TERM INT; while :; do sleep 1; done',
    { resources: { wallMs: 1500 } },
  ),
  fails('a program that uses up its memory', 'limit', 'limit.memory', GREEDY, {
    resources: { memoryBytes: 32 * MIB },
  }),
  fails(
    'a child that uses up the memory while its parent leaves with 0',
    'limit',
    'limit.memory',
    `${GREEDY}; exit 0`,
    { resources: { memoryBytes: 32 * MIB } },
  ),
  fails(
    'a program that writes too much and would go on for ever',
    'limit',
    'limit.output_bytes',
    'while :; do head -c 1048576 /dev/zero >> out/big; sleep 0.02; done',
    { outputs: ['big'], resources: { outputBytes: 4 * MIB } },
  ),
  fails(
    'a program that writes too much in many files and is done',
    'limit',
    'limit.output_bytes',
    'mkdir out/d; for n in 1 2 3 4 5 6; do head -c 1048576 /dev/zero > out/d/$n; done',
    { outputs: ['d/1', 'd/2', 'd/3', 'd/4', 'd/5', 'd/6'], resources: { outputBytes: 4 * MIB } },
  ),
  fails('an output that is missing', 'tool', 'tool.outputs', 'exit 0', { outputs: ['there'] }),
  fails('a file that was not declared', 'tool', 'tool.outputs', 'echo > out/a; echo > out/b', {
    outputs: ['a'],
  }),
  fails('a folder that was not declared', 'tool', 'tool.outputs', 'mkdir out/a'),
  fails('a link in place of an output', 'tool', 'tool.outputs', 'ln -s ../in/greeting out/a', {
    outputs: ['a'],
  }),
  fails('a link that was not declared', 'tool', 'tool.outputs', 'ln -s /etc/passwd out/b; echo > out/a', {
    outputs: ['a'],
  }),
  fails('a link on the way to an output', 'tool', 'tool.outputs', 'ln -s ../in out/d', {
    outputs: ['d/greeting'],
  }),
  fails('a pipe in place of an output', 'tool', 'tool.outputs', 'mkfifo out/a', { outputs: ['a'] }),
  {
    name: 'wait says that a program failed, not that its outputs are missing, when both are so',
    async run(env) {
      const attempt = await makeAttempt(env, 'exit 4', { outputs: ['there'] });
      const end = await endOf(await env.backend.start(attempt), env);
      assert.deepEqual([end.cause, end.exitCode], ['tool.exit', 4]);
    },
  },
  {
    name: 'wait holds no moment against a program that left as much as it may',
    async run(env) {
      const script =
        'head -c 50000000 /dev/zero > out/a; head -c 9000000 /dev/zero > out/b; sleep 1; rm out/b; echo > out/a';
      const attempt = await makeAttempt(env, script, { outputs: ['a'], resources: { outputBytes: MIB } });
      assertSucceeded(await endOf(await env.backend.start(attempt), env));
    },
  },
  {
    name: 'wait says how a program ended in the words of every backend, with the last lines of its standard error',
    async run(env) {
      const ends = async (script: string) => {
        const { message, stderr } = await endOf(await env.backend.start(await makeAttempt(env, script)), env);
        return { message, stderr };
      };
      const colour = String.raw`printf '\033[31mlast\033[0m words\n\n' >&2`;
      assert.deepEqual(await ends(`echo out; echo first >&2; ${colour}; exit 3`), {
        message: `${ATTEMPT_WORDS.exit(3)}: last words`,
        stderr: 'first\nlast words',
      });
      const long = await ends(
        'n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); echo "line $n" >&2; done; exit 4',
      );
      assert.match(long.message, /exit code 4: line 3000$/);
      assert.equal(long.stderr?.split('\n').length, STDERR_TAIL.lines);
      assert.deepEqual(await ends('exit 5'), { message: ATTEMPT_WORDS.exit(5), stderr: undefined });
      assert.deepEqual(await ends('echo why >&2; kill -SEGV $$'), {
        message: `${ATTEMPT_WORDS.signal('SIGSEGV')}: why`,
        stderr: 'why',
      });
      assert.deepEqual(await ends('echo warning >&2'), { message: ATTEMPT_WORDS.exit(0), stderr: undefined });
    },
  },
  {
    name: 'wait takes an output of exactly as many bytes as it may have',
    async run(env) {
      const attempt = await makeAttempt(env, 'head -c 1048576 /dev/zero > out/a', {
        outputs: ['a'],
        resources: { outputBytes: MIB },
      });
      assertSucceeded(await endOf(await env.backend.start(attempt), env));
    },
  },
  {
    name: 'start keeps the inputs read-only and the network away',
    async run(env) {
      if (env.contained === false) return;
      const script =
        '(echo changed > in/greeting) 2>/dev/null; (echo new > in/new) 2>/dev/null; rm -f in/greeting 2>/dev/null; cat in/* > out/in; tail -n +3 /proc/net/dev > out/net';
      const attempt = await makeAttempt(env, script, { outputs: ['in', 'net'] });
      const end = await endOf(await env.backend.start(attempt), env);
      assertSucceeded(end);
      assert.equal(await outputOf(attempt, 'in'), 'hello\n');
      assert.deepEqual((await outputOf(attempt, 'net')).match(/^\s*(\w+):/gm), ['    lo:']);
      assert.deepEqual(end.observed?.interfaces, ['lo']);
    },
  },
];

function fails(
  who: string,
  failure: FailureClass,
  cause: AttemptCause,
  script: string,
  wanted: Wanted = {},
  exitCode?: number,
): BackendCase {
  return {
    name: `wait says ${cause} of ${who}`,
    async run(env: BackendEnvironment) {
      if (env.lacks?.includes(cause)) return;
      const attempt = await makeAttempt(env, script, wanted);
      const end = await endOf(await env.backend.start(attempt), env);
      assert.deepEqual([end.status, end.failure, end.cause], ['failed', failure, cause], end.message);
      assert.ok(end.message.length > 0);
      assert.ok(!end.message.includes(env.root), `the message shows a path of this machine: ${end.message}`);
      if (exitCode !== undefined) assert.equal(end.exitCode, exitCode);
      const found = await (await env.reopen()).find(attempt);
      assert.ok(found);
      assert.deepEqual(await endOf(found, env), end);
      await logOf(attempt);
    },
  };
}

const TREE_SCRIPT = `
mkdir -p out/tree/deep/er out/tree/empty
cat in/greeting > out/tree/deep/er/copy
printf "#!/bin/sh" > out/tree/run; chmod 755 out/tree/run
umask 077; : > "out/tree/- a 'b' \\"ü\\""; : > out/tree/.hidden; : > "out/tree/two
lines"`;

/** What `artifact_import` answers for such a folder. */
const TREE_DIGEST = 'd130a2d13e3abe026ef20537adb4095c4d3c26ce63abe2d8e9ea1a1ffb5881c9';

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
