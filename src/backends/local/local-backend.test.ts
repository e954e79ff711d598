import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createSandbox } from '../../capabilities/exec/sandbox/create-sandbox.ts';
import type { Backend } from '../../contract/backend.ts';
import { isAlive, processIdentity } from '../../stores/process-identity.ts';
import { backendSuite, makeAttempt } from '../../testing/backend-suite.ts';
import { createLocalBackend } from './local-backend.ts';

backendSuite('the local backend', openLocal);

async function openLocal() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-local-')));
  const opened: Backend[] = [];
  const open = () => {
    const backend = createLocalBackend({
      root,
      sandbox: () => createSandbox({ workspace: root }),
      process: processIdentity(),
      isAlive,
    });
    opened.push(backend);
    return backend;
  };
  return {
    backend: open(),
    reopen: async () => open(),
    root,
    async close() {
      for (const backend of opened) await backend.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

describe('the local backend', () => {
  it('says that an attempt is lost when the process that executed it was killed, and does not execute it again', async () => {
    const env = await openLocal();
    try {
      const attempt = await makeAttempt(env, 'echo began >> out/count; while :; do sleep 0.05; done', {
        outputs: ['count'],
      });
      const child = spawn(
        process.execPath,
        ['--input-type=module', '-e', STARTER, JSON.stringify([env.root, attempt])],
        {
          cwd: import.meta.dirname,
          stdio: 'ignore',
        },
      );
      await eventually(() => existsSync(join(attempt.folder, 'out/count')), 'what the program writes');
      child.kill('SIGKILL');
      await once(child, 'exit');
      const found = await env.backend.find(attempt);
      const end = await found?.wait(AbortSignal.timeout(20_000));
      assert.deepEqual([end?.status, end?.failure, end?.cause], ['lost', 'infrastructure', 'lost']);
      const again = await (await env.backend.start(attempt)).wait(AbortSignal.timeout(20_000));
      assert.deepEqual(again, end);
      assert.equal(readFileSync(join(attempt.folder, 'out/count'), 'utf8'), 'began\n');
    } finally {
      await env.close();
    }
  });

  it('keeps nobody waiting for an attempt that was removed', async () => {
    const env = await openLocal();
    try {
      const attempt = await makeAttempt(env, 'while :; do sleep 0.05; done', { outputs: [] });
      const handle = await env.backend.start(attempt);
      const waiting = handle.wait(AbortSignal.timeout(20_000));
      rmSync(attempt.folder, { recursive: true, force: true });
      assert.equal((await waiting).status, 'lost');
      await handle.cancel();
    } finally {
      await env.close();
    }
  });

  it('shows a program the same place and environment whatever the machine', async () => {
    const env = await openLocal();
    try {
      const attempt = await makeAttempt(env, 'pwd > out/env; env | sort >> out/env', {
        outputs: ['env'],
        env: { A: '1' },
      });
      const end = await (await env.backend.start(attempt)).wait(AbortSignal.timeout(20_000));
      assert.equal(end.status, 'succeeded', end.message);
      assert.deepEqual(readFileSync(join(attempt.folder, 'out/env'), 'utf8').trim().split('\n'), [
        '/work',
        'A=1',
        'HOME=/tmp',
        'HOSTNAME=haft',
        'LANG=C.UTF-8',
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'PWD=/work',
        'TMPDIR=/tmp',
        'TZ=UTC',
      ]);
    } finally {
      await env.close();
    }
  });
});

/** Starts the attempt in a process of its own and stays. */
const STARTER = `
import { createSandbox } from '../../capabilities/exec/sandbox/create-sandbox.ts';
import { isAlive, processIdentity } from '../../stores/process-identity.ts';
import { createLocalBackend } from './local-backend.ts';
const [root, attempt] = JSON.parse(process.argv[1]);
const backend = createLocalBackend({ root, sandbox: () => createSandbox({ workspace: root }), process: processIdentity(), isAlive });
await (await backend.start(attempt)).wait(new AbortController().signal);
`;
