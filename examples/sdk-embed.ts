// Shows: a program that embeds Haft: a call, a denial that says what would admit it, and an undo.
// Run: node examples/sdk-embed.ts (in a program of your own, import from 'haft')
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '../src/index.ts';

const workspace = mkdtempSync(join(tmpdir(), 'haft-example-'));
const notes = join(workspace, 'notes.txt');
writeFileSync(notes, 'first\n');
writeFileSync(join(workspace, '.env'), 'KEY=hidden\n');
const policy = 'version: 1\npaths:\n  rules:\n    - { path: ".env", read: deny, write: deny }\n';
writeFileSync(join(workspace, 'haft.yaml'), policy);

// A policy is used once somebody trusts it: a person with `haft trust`, or a program that knows its hash.
const trust = createHash('sha256').update(policy).digest('hex');
const haft = await createRuntime({ workspace, trust });
try {
  // A call answers an envelope. It never throws for what a tool, a policy or a disk did. Arguments and data are typed.
  const written = await haft.call('file_write', { path: 'notes.txt', content: 'second\n' });
  assert.ok(written.ok);
  assert.equal(written.data.created, false);
  assert.equal(readFileSync(notes, 'utf8'), 'second\n');

  // A denial names the rule, its line, and the lines that would admit the call.
  const denied = await haft.call('file_read', { path: '.env' });
  const [error] = denied.errors;
  assert.equal(error?.reason, 'policy.denied');
  console.log(`${error?.message}\nto admit it:\n${error?.details?.admit}`);

  // What a call changed can be taken back by its id, as long as nothing changed since.
  const undone = await haft.call('undo', { call_id: written.callId });
  assert.equal(undone.ok, true);
  assert.equal(readFileSync(notes, 'utf8'), 'first\n');

  // Every call is in the audit, the denied one too, and the chain verifies.
  const rows = await haft.audit.rows({});
  console.log(rows.map((row) => `${row.seq} ${row.tool} ${row.phase} ${row.outcome}`).join('\n'));
  assert.deepEqual(
    rows.filter((row) => row.phase === 'outcome').map((row) => row.outcome),
    ['ok', 'denied', 'ok'],
  );
  assert.equal((await haft.audit.verify()).ok, true);
} finally {
  await haft.close();
  rmSync(workspace, { recursive: true });
}
