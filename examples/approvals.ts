// Shows: a rule that asks: the call waits, a person grants it, the same call goes through once.
// Run: node examples/approvals.ts (in a program of your own, import from 'haft')
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '../src/index.ts';

const workspace = mkdtempSync(join(tmpdir(), 'haft-example-'));
const policy = 'version: 1\npaths:\n  rules:\n    - { path: "release/**", write: ask }\n';
writeFileSync(join(workspace, 'haft.yaml'), policy);

// A policy is used once somebody trusts it: a person with `haft trust`, or a program that knows its hash.
const trust = createHash('sha256').update(policy).digest('hex');
const haft = await createRuntime({ workspace, trust });
try {
  const release = { tool: 'file_write', args: { path: 'release/notes.md', content: '# 1.0\n' } };

  // The call ends at once, with the id of an approval. Nothing has happened.
  const first = await haft.call(release);
  assert.equal(first.errors[0]?.reason, 'approval.pending');
  assert.equal(existsSync(join(workspace, 'release')), false);

  // A person sees exactly what the call would touch, and answers: here, in a terminal, or over HTTP.
  const [pending] = await haft.approvals.list('pending');
  assert.ok(pending);
  console.log(`${pending.id}: ${pending.tool} would touch ${JSON.stringify(pending.effects)}`);
  await haft.approvals.decide(pending.id, 'granted', 'the release manager');

  // The grant is bound to that very call: another content is another question.
  const other = await haft.call({ ...release, args: { ...release.args, content: '# 2.0\n' } });
  assert.equal(other.errors[0]?.reason, 'approval.pending');

  // The same call consumes the grant, and only once.
  const second = await haft.call(release);
  assert.equal(second.ok, true);
  const third = await haft.call(release);
  assert.equal(third.errors[0]?.reason, 'approval.pending');

  const consumed = await haft.approvals.list('consumed');
  assert.deepEqual(
    consumed.map(({ id, decidedBy }) => [id, decidedBy]),
    [[pending.id, 'the release manager']],
  );
  console.log(`granted by ${consumed[0]?.decidedBy}, used once; to stop asking:\n${pending.admit}`);
} finally {
  await haft.close();
  rmSync(workspace, { recursive: true });
}
