// Owns: what must hold in a workspace after its writer was killed or its disk failed.
// Refuses: to forgive: every violation is an assertion.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from '../../../src/index.ts';

export interface Acknowledged {
  readonly ok: boolean;
  readonly call_id: string;
  readonly tool: string;
  readonly path: string;
  readonly content?: string;
}

export interface Aftermath {
  /** Call ids that start-up reported as in flight. */
  readonly inFlight: readonly string[];
  readonly rows: number;
}

/** Opens the workspace as the next process would, and checks everything that the durability promise says. */
export async function checkAftermath(
  root: string,
  acknowledged: readonly Acknowledged[],
): Promise<Aftermath> {
  const runtime = await createRuntime({ workspace: root });
  try {
    const verdict = await runtime.audit.verify();
    assert.ok(verdict.ok, `the audit does not verify: ${JSON.stringify(verdict)}`);
    const rows = await runtime.audit.rows({ last: verdict.head.count || 1 });
    const outcomes = new Map(
      rows.filter((row) => row.phase === 'outcome').map((row) => [row.callId, row.outcome]),
    );
    for (const { call_id, ok, tool } of acknowledged) {
      if (ok)
        assert.equal(
          outcomes.get(call_id),
          'ok',
          `${tool} ${call_id} was acknowledged, but the audit does not have it`,
        );
    }
    // Every intent has an end by now: its own, or `lost`.
    for (const row of rows.filter((one) => one.phase === 'intent')) {
      assert.ok(outcomes.has(row.callId), `${row.callId} has an intent and no outcome`);
    }
    const lost = rows.filter((row) => row.outcome === 'lost').map((row) => row.callId);
    for (const { callId } of runtime.startup.inFlight)
      assert.ok(lost.includes(callId), `${callId} is in flight and not lost`);
    checkFiles(root);
    return { inFlight: runtime.startup.inFlight.map((row) => row.callId), rows: rows.length };
  } finally {
    await runtime.close();
  }
}

/** No torn file: each begins with the digest of its rest. */
function checkFiles(root: string): void {
  for (const folder of ['f', 'c', 'm']) {
    if (!existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder))) {
      if (name.startsWith('.haft-tmp-')) continue;
      const text = readFileSync(join(root, folder, name), 'utf8');
      const [digest, rest] = [text.slice(0, 64), text.slice(65)];
      assert.equal(createHash('sha256').update(rest).digest('hex'), digest, `${folder}/${name} is torn`);
    }
  }
}
