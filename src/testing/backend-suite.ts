// Owns: what every backend must do, as cases that any of them can be run through; those of an attempt's life are here.
// Refuses: what only one engine can promise (containers, jobs, nodes); its own tests show that.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ATTEMPT_WORDS } from '../contract/attempt-words.ts';
import type { BackendCase, BackendEnvironment } from './backend/environment.ts';
import {
  assertSucceeded,
  endOf,
  logOf,
  makeAttempt,
  never,
  outputOf,
  seen,
  within,
} from './backend/environment.ts';
import { FOLDER_CASES, OUTCOME_CASES } from './backend/outcome-cases.ts';
import { registerCases } from './conformance.ts';

export { makeAttempt } from './backend/environment.ts';
export type { BackendEnvironment };

/** Leaves a line for every time that it is executed, then waits for `out/go`. */
const COUNTED = 'echo began >> out/count; echo began; until [ -e out/go ]; do sleep 0.05; done';
const COUNTED_OUTPUTS = { outputs: ['count', 'go'] };
const letFinish = (folder: string) => writeFile(join(folder, 'out/go'), '');

const LIFECYCLE_CASES: readonly BackendCase[] = [
  {
    name: 'start runs the argv with its environment where in/ and out/ are, and keeps the outputs and the log',
    async run(env) {
      const script =
        'cat in/greeting > out/copy; mkdir out/deep; printf %s "$WORD" > out/deep/word; echo said; echo complained >&2';
      const attempt = await makeAttempt(env, script, {
        outputs: ['copy', 'deep/word'],
        env: { WORD: 'grüße "$x"\n' },
      });
      const handle = await env.backend.start(attempt);
      assert.equal(handle.attemptId, attempt.id);
      assertSucceeded(await endOf(handle, env));
      assert.equal(await outputOf(attempt, 'copy'), 'hello\n');
      assert.equal(await outputOf(attempt, 'deep/word'), 'grüße "$x"\n');
      assert.deepEqual((await logOf(attempt)).split('\n').sort(), ['', 'complained', 'said']);
    },
  },
  {
    name: 'start passes arguments as they are, without a shell',
    async run(env) {
      const words = ['$HOME', '*', 'a b', "it's", '"', '\\', '', 'ü\n', '-n', ';ls'];
      const argv = ['/bin/sh', '-c', 'for word; do printf "%s|" "$word"; done > out/words', 'sh', ...words];
      const attempt = await makeAttempt(env, '', { argv, outputs: ['words'] });
      assertSucceeded(await endOf(await env.backend.start(attempt), env));
      assert.equal(await outputOf(attempt, 'words'), words.map((word) => `${word}|`).join(''));
    },
  },
  {
    name: 'start gives the program nothing of the environment of this process',
    async run(env) {
      process.env.HAFT_SUITE_SECRET = 'leaked';
      try {
        const attempt = await makeAttempt(env, 'echo "[$HAFT_SUITE_SECRET]" > out/env', { outputs: ['env'] });
        assertSucceeded(await endOf(await env.backend.start(attempt), env));
        assert.equal(await outputOf(attempt, 'env'), '[]\n');
      } finally {
        delete process.env.HAFT_SUITE_SECRET;
      }
    },
  },
  {
    name: 'start of one attempt by many at once executes it once, and all get its end',
    async run(env) {
      const other = await env.reopen();
      const attempt = await makeAttempt(env, COUNTED, COUNTED_OUTPUTS);
      const handles = await Promise.all(
        [env.backend, other, env.backend, other].map((backend) => backend.start(attempt)),
      );
      await letFinish(attempt.folder);
      const ends = await Promise.all(handles.map((handle) => endOf(handle, env)));
      for (const end of ends) assertSucceeded(end);
      assert.equal(await outputOf(attempt, 'count'), 'began\n');
    },
  },
  {
    name: 'start of an attempt that has ended does not execute it again, here or later',
    async run(env) {
      const attempt = await makeAttempt(env, 'echo began >> out/count; exit 3', { outputs: ['count'] });
      const first = await endOf(await env.backend.start(attempt), env);
      for (const backend of [env.backend, await env.reopen()])
        assert.deepEqual(await endOf(await backend.start(attempt), env), first);
      assert.equal(await outputOf(attempt, 'count'), 'began\n');
    },
  },
  {
    name: 'start keeps two attempts of one run apart',
    async run(env) {
      const attempts = await Promise.all(
        ['1', '2'].map((word) => makeAttempt(env, `echo ${word} > out/word`, { outputs: ['word'] })),
      );
      const handles = await Promise.all(attempts.map((attempt) => env.backend.start(attempt)));
      for (const handle of handles) assertSucceeded(await endOf(handle, env));
      assert.deepEqual(await Promise.all(attempts.map((attempt) => outputOf(attempt, 'word'))), [
        '1\n',
        '2\n',
      ]);
    },
  },
  {
    name: 'find knows nothing of an attempt that never got here',
    async run(env) {
      const attempt = await makeAttempt(env, 'exit 0');
      assert.equal(await env.backend.find(attempt), undefined);
      assert.equal(await (await env.reopen()).find(attempt), undefined);
      assert.equal(existsSync(join(attempt.folder, 'meta/log')), false);
    },
  },
  {
    name: 'find in a later process adopts an attempt under way; it goes on, once',
    async run(env) {
      const attempt = await makeAttempt(env, COUNTED, COUNTED_OUTPUTS);
      await seen(await env.backend.start(attempt), 'stdout', 'began', env);
      const later = await env.reopen();
      const found = await later.find(attempt);
      assert.ok(found);
      assert.equal(found.attemptId, attempt.id);
      await seen(found, 'stdout', 'began', env);
      await letFinish(attempt.folder);
      assertSucceeded(await endOf(found, env));
      assert.equal(await outputOf(attempt, 'count'), 'began\n');
      assert.equal(await logOf(attempt), 'began\n');
    },
  },
  {
    name: 'find in a later process answers how an attempt ended, also when nobody was there',
    async run(env) {
      const attempt = await makeAttempt(env, 'echo gone; exit 5');
      const first = await env.backend.start(attempt);
      const later = await env.reopen();
      const found = await later.find(attempt);
      assert.ok(found);
      const end = await endOf(found, env);
      assert.deepEqual([end.status, end.cause, end.exitCode], ['failed', 'tool.exit', 5]);
      assert.deepEqual(await endOf(first, env), end);
      const again = await (await env.reopen()).find(attempt);
      assert.ok(again);
      assert.deepEqual(await endOf(again, env), end);
      assert.equal(await logOf(attempt), 'gone\n');
    },
  },
  {
    name: 'wait ends with the reason of its signal, and the attempt goes on',
    async run(env) {
      const attempt = await makeAttempt(env, COUNTED, COUNTED_OUTPUTS);
      const handle = await env.backend.start(attempt);
      await seen(handle, 'stdout', 'began', env);
      const controller = new AbortController();
      const waiting = within(handle.wait(controller.signal), env.patienceMs);
      const reason = new Error('no longer');
      controller.abort(reason);
      await assert.rejects(waiting, (thrown) => thrown === reason);
      await assert.rejects(
        within(handle.wait(AbortSignal.abort(reason)), env.patienceMs),
        (thrown) => thrown === reason,
      );
      await letFinish(attempt.folder);
      assertSucceeded(await endOf(handle, env));
    },
  },
  {
    name: 'cancel ends an attempt with everything that it started, also from a later process',
    async run(env) {
      for (const cancelBy of ['the same', 'a later']) {
        const script = '(while :; do echo >> out/beat; sleep 0.02; done) & echo began; wait';
        const attempt = await makeAttempt(env, script, { outputs: ['beat'] });
        const handle = await env.backend.start(attempt);
        await seen(handle, 'stdout', 'began', env);
        const by = cancelBy === 'the same' ? handle : await (await env.reopen()).find(attempt);
        assert.ok(by);
        await within(by.cancel(), env.patienceMs);
        const end = await endOf(by, env);
        assert.deepEqual(
          [end.status, end.failure, end.cause],
          ['failed', 'cancelled', 'cancelled'],
          end.message,
        );
        assert.equal(end.message, ATTEMPT_WORDS.cancelled);
        assert.deepEqual((await endOf(handle, env)).cause, 'cancelled');
        // Whatever still ran would make it again.
        await rm(join(attempt.folder, 'out/beat'), { force: true });
        assertSucceeded(await endOf(await env.backend.start(await makeAttempt(env, 'sleep 0.1')), env));
        assert.equal(existsSync(join(attempt.folder, 'out/beat')), false);
      }
    },
  },
  {
    name: 'cancel leaves an attempt that has ended as it ended',
    async run(env) {
      const attempt = await makeAttempt(env, 'exit 0');
      const handle = await env.backend.start(attempt);
      const end = await endOf(handle, env);
      await within(handle.cancel(), env.patienceMs);
      const found = await (await env.reopen()).find(attempt);
      assert.ok(found);
      await within(found.cancel(), env.patienceMs);
      for (const one of [handle, found]) assert.deepEqual(await endOf(one, env), end);
    },
  },
  {
    name: 'follow gives both streams while the attempt runs, to each follower from the beginning, until it is ended',
    async run(env) {
      const script = 'echo one; echo two >&2; until [ -e out/go ]; do sleep 0.05; done; echo three';
      const attempt = await makeAttempt(env, script, { outputs: ['go'] });
      const handle = await env.backend.start(attempt);
      let ended = '';
      const stop = handle.follow((_, chunk) => {
        ended += Buffer.from(chunk).toString();
      });
      await seen(handle, 'stdout', 'one\n', env);
      await seen(handle, 'stderr', 'two\n', env);
      stop();
      await letFinish(attempt.folder);
      await Promise.all([seen(handle, 'stdout', 'one\nthree\n', env), endOf(handle, env)]);
      assert.ok(!ended.includes('three'));
      assert.deepEqual((await logOf(attempt)).split('\n').sort(), ['', 'one', 'three', 'two']);
    },
  },
  {
    name: 'follow of an attempt that has ended gives what it had said',
    async run(env) {
      const attempt = await makeAttempt(env, 'echo said');
      const handle = await env.backend.start(attempt);
      await endOf(handle, env);
      const found = await (await env.reopen()).find(attempt);
      assert.ok(found);
      for (const one of [handle, found]) await seen(one, 'stdout', 'said\n', env);
    },
  },
  {
    name: 'reap ends what is not open and spares what is',
    async run(env) {
      const [open, orphan] = await Promise.all([
        makeAttempt(env, COUNTED, COUNTED_OUTPUTS),
        makeAttempt(env, 'echo began; while :; do echo >> out/beat; sleep 0.02; done', { outputs: ['beat'] }),
      ]);
      const [kept, reaped] = await Promise.all([env.backend.start(open), env.backend.start(orphan)]);
      await seen(kept, 'stdout', 'began', env);
      await seen(reaped, 'stdout', 'began', env);
      const later = await env.reopen();
      const gone = await within(
        later.reap(async (id) => id !== orphan.id),
        env.patienceMs,
      );
      assert.deepEqual(gone, [orphan.id]);
      await rm(join(orphan.folder, 'out/beat'), { force: true });
      await letFinish(open.folder);
      assertSucceeded(await endOf(kept, env));
      assert.equal(existsSync(join(orphan.folder, 'out/beat')), false);
      assert.notEqual((await reaped.wait(never())).status, 'succeeded');
      assert.deepEqual(await later.reap(async () => true), []);
    },
  },
];

export const BACKEND_CASES: readonly BackendCase[] = [...LIFECYCLE_CASES, ...OUTCOME_CASES, ...FOLDER_CASES];

export function backendSuite(name: string, open: () => Promise<BackendEnvironment>): void {
  registerCases(`${name} conforms to Backend`, BACKEND_CASES, open);
}
