// Owns: the proof that a command that runs out of time is told alike through every door, with what it had printed, and is gone.
// Refuses: to time anything; it waits for what must be so.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createRuntime, type JsonObject } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { DOORS } from './support/doors.ts';
import { marked } from './support/escape/sights.ts';
import { makeWorkspace } from './support/workspace.ts';

const MARK = `600.${process.pid}`;
const CMD = `printf 'one\\ntwo'; printf 'three\\n' >&2; sleep ${MARK}`;
const POLICY = "version: 1\nshell_allow: ['^(printf|sleep|seq)(\\s|$)']\n";

const SO_FAR = { timeout_ms: 3000, stdout: 'one\ntwo', stderr: 'three\n' };
/** What bash says of a child that was ended. */
const withoutBash = (details: JsonObject = {}) => ({
  ...details,
  stderr: String(details.stderr).replace(/Terminated\n$/, ''),
});

async function timed<T>(policy: string, work: (root: string) => Promise<T>): Promise<T> {
  const workspace = makeWorkspace({ 'haft.yaml': policy });
  try {
    return await work(workspace.root);
  } finally {
    workspace.remove();
  }
}

describe('a command that runs out of time', { concurrency: true, skip: process.platform !== 'linux' }, () => {
  after(() => eventually(() => marked(MARK).length === 0, 'all of their processes to be gone'));

  for (const door of DOORS) {
    it(`fails with E_TIMEOUT and what it printed: ${door.name}`, () =>
      timed(POLICY, async (root) => {
        const open = await door.open(root);
        try {
          const { ok, data, errors } = await open.call('shell_exec', { cmd: CMD, timeout_ms: 3000 });
          assert.deepEqual([ok, data ?? null], [false, null]);
          const { message, details, ...error } = errors[0]!;
          assert.deepEqual(error, { code: 'E_TIMEOUT', reason: 'time.deadline', retryable: true });
          assert.deepEqual(withoutBash(details), SO_FAR);
          assert.match(message, /^Cannot finish the command: it ran longer than 3000 ms/);
        } finally {
          await open.close();
        }
      }));
  }

  const called = (policy: string, args: JsonObject) =>
    timed(policy, async (root) => {
      const runtime = await createRuntime({ workspace: root });
      try {
        const { callId, errors } = await runtime.call({ tool: 'shell_exec', args });
        const rows = await runtime.audit.rows({ callId, limit: 5 });
        return { ...errors[0]!, outcome: rows.find(({ phase }) => phase === 'outcome')?.outcome };
      } finally {
        await runtime.close();
      }
    });

  it('has the same shape when limits.timeout_ms of the policy ends it', async () => {
    const { code, details, outcome } = await called(`${POLICY}limits: { timeout_ms: 3000 }\n`, { cmd: CMD });
    assert.deepEqual([code, outcome], ['E_TIMEOUT', 'timeout']);
    assert.deepEqual(withoutBash(details), SO_FAR);
  });

  it('hides the variables that it was given as secrets, and shows both ends of a long output', async () => {
    const { details, outcome } = await called(POLICY, {
      cmd: `printf '%s\\n' "$API_TOKEN"; seq 100000 >&2; sleep ${MARK}`,
      env: { API_TOKEN: 'sesame-open' },
      timeout_ms: 3000,
    });
    const { stdout, stderr } = details as { stdout: string; stderr: string };
    assert.equal(outcome, 'timeout');
    assert.ok(!stdout.includes('sesame'), stdout);
    assert.match(stderr, /^1\n2\n[\s\S]*bytes left out[\s\S]*\n100000\n(?:Terminated\n)?$/);
    assert.ok(stderr.length < 20_000);
  });
});
