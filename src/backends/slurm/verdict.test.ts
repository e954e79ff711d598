import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { attemptFiles } from './attempt-files.ts';
import type { JobResult } from './job-script.ts';
import { verdictOf } from './verdict.ts';

/** Of `a` and a line feed. */
const SHA = '87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7';
const HASH_BANG = sha256Hex('#!');
const GOOD: JobResult = {
  job: '7',
  restart: 0,
  node: 'n',
  ended: 'exit',
  code: 0,
  started: true,
  oom: false,
  full: false,
  outputs: [{ src: 'a', bytes: 2, sha256: SHA }],
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'haft-verdict-'));
});
afterEach(() => rmSync(root, { recursive: true }));

async function judge(content: string, given: Partial<JobResult> = {}) {
  const attempt = await makeAttempt({ root }, '', { outputs: ['a'] });
  writeFileSync(join(attempt.folder, 'out/a'), content);
  return verdictOf(attempt, attemptFiles(attempt.folder), { ...GOOD, ...given }, [1]);
}

const CAUSES: Readonly<Record<string, readonly [content: string, given: Partial<JobResult>, cause: string]>> =
  {
    'outputs that are not what was hashed': ['b\n', {}, 'infrastructure.outputs'],
    'outputs that are longer than what was hashed': ['a\nb', {}, 'infrastructure.outputs'],
    'outputs that nobody hashed': ['a\n', { outputs: [] }, 'infrastructure.outputs'],
    'a child that ran out of memory': ['a\n', { oom: true }, 'limit.memory'],
    'a full disk': ['a\n', { code: 1, full: true }, 'infrastructure.disk_full'],
    'an exit code': ['a\n', { code: 1 }, 'tool.exit'],
    'a signal': ['a\n', { code: 139 }, 'tool.signal'],
    'a program that is not there': ['a\n', { code: 1, started: false }, 'tool.not_started'],
    'a node that cannot do it': ['a\n', { ended: 'setup', code: -1 }, 'infrastructure.engine'],
    'a sandbox that is not one': ['a\n', { ended: 'containment', code: -1 }, 'infrastructure.containment'],
  };

describe('verdictOf', () => {
  it('calls a result with matching outputs a success', async () => {
    const end = await judge('a\n');
    assert.deepEqual([end.status, end.cause, end.exitCode], ['succeeded', undefined, 0]);
  });
  it('takes a folder for what was hashed only as long as all of it is', async () => {
    const attempt = await makeAttempt({ root }, '', { outputs: ['d/'] });
    const change = (script: string) =>
      execFileSync('sh', ['-c', script], { cwd: join(attempt.folder, 'out') });
    change("mkdir -p d/e; echo a > d/f; printf '#!' > d/e/g; chmod 700 d/e/g");
    const records = [`${SHA}  ./f`, `${HASH_BANG}  ./e/g`, 'folder e', 'runs e/g'].sort();
    const outputs = [{ src: 'd/', bytes: 4, sha256: sha256Hex(records.map((one) => `${one}\0`).join('')) }];
    const look = () => verdictOf(attempt, attemptFiles(attempt.folder), { ...GOOD, outputs }, [1]);
    assert.equal((await look()).status, 'succeeded');
    const changes = [
      'chmod 600 d/e/g',
      'chmod 700 d/e/g d/f',
      'chmod 600 d/f; mkdir d/h',
      'rmdir d/h; echo b > d/f',
    ];
    for (const script of changes) {
      change(script);
      const end = await look();
      assert.deepEqual(
        [end.cause, end.message.includes('"out/d/"')],
        ['infrastructure.outputs', true],
        script,
      );
    }
    change('echo a > d/f');
    assert.equal((await look()).status, 'succeeded');
  });
  for (const [what, [content, given, cause]] of Object.entries(CAUSES)) {
    it(`does not take ${what} for one`, async () => {
      const end = await judge(content, given);
      assert.deepEqual([end.status, end.cause], ['failed', cause], end.message);
    });
  }
});
