// Owns: the proof that several processes that write the same files lose nothing, tear nothing and agree with the audit.
// Refuses: one process: the lock that matters is the one between processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createRuntime } from '../../src/index.ts';
import { amount } from './support/amount.ts';
import type { ContenderReport } from './support/contender.ts';
import { makeWorkspace } from './support/workspace.ts';

const CONTENDER = join(import.meta.dirname, 'support/contender.ts');
const SECONDS = amount('HAFT_CONTEND_SECONDS', 60, 4);
const PROCESSES = 4;
const FILES = 50;

describe(`${PROCESSES} processes writing the same ${FILES} files for ${SECONDS} s`, () => {
  it('every content is whole, and the audit tells which was last', { timeout: 600_000 }, async (t) => {
    const workspace = makeWorkspace({ 'counter.txt': '0' });
    try {
      const reports = await Promise.all(
        Array.from({ length: PROCESSES }, (_, i) => contend(workspace.root, `p${i}`)),
      );
      const calls = reports.reduce((sum, report) => sum + report.calls, 0);
      t.diagnostic(`${calls} writes, ${reports.map((report) => report.calls).join(' + ')}`);
      for (const { failures } of reports) assert.deepEqual(failures, {});
      assert.ok(calls > FILES, `only ${calls} writes: nothing contended`);

      const rows = await auditRows(workspace.root);
      const lastOf = new Map<string, string>();
      for (const row of rows) {
        if (row.phase !== 'outcome' || row.outcome !== 'ok') continue;
        for (const { path, after } of row.changes) if (after?.type === 'file') lastOf.set(path, after.object);
      }
      const written = (path: string) => reports.flatMap((report) => report.written[path] ?? []);
      for (const name of readdirSync(workspace.path('shared'))) {
        const path = `shared/${name}`;
        const sha256 = createHash('sha256')
          .update(readFileSync(workspace.path(path)))
          .digest('hex');
        assert.ok(written(path).includes(sha256), `no call wrote what ${path} holds`);
        assert.equal(lastOf.get(path), `sha256:${sha256}`, `the audit says that ${path} ended otherwise`);
      }

      const oks = rows.filter(
        (row) => row.phase === 'outcome' && row.tool === 'file_write' && row.outcome === 'ok',
      );
      const raised = reports.reduce((sum, report) => sum + report.raised, 0);
      assert.equal(oks.length, calls + raised, 'the audit has every write that was answered, once');
      assert.equal(readFileSync(workspace.path('counter.txt'), 'utf8'), `${raised}`);
      assert.ok(raised > 0, 'nobody raised the counter');
    } finally {
      workspace.remove();
    }
  });
});

describe('calls at once that would make a repository of one folder', () => {
  for (const names of [
    ['HEAD', 'commondir'],
    ['HEAD', 'objects/x', 'refs/x'],
  ])
    it(`one of ${names.join(', ')} is refused`, async () => {
      const workspace = makeWorkspace({});
      const runtime = await createRuntime({ workspace: workspace.root });
      try {
        for (let round = 0; round < 10; round++) {
          const results = await Promise.all(
            names.map((name) =>
              runtime.call({
                tool: 'file_write',
                args: { path: `sub-${round}/${name}`, content: 'x', create_dirs: true },
              }),
            ),
          );
          const refused = results.flatMap(({ errors }) => errors.map(({ reason }) => reason));
          assert.deepEqual(refused, ['path.protected']);
        }
      } finally {
        await runtime.close();
        workspace.remove();
      }
    });
});

/** All rows, of a chain that verifies. */
async function auditRows(root: string) {
  const runtime = await createRuntime({ workspace: root });
  try {
    const verdict = await runtime.audit.verify();
    assert.ok(verdict.ok, JSON.stringify(verdict));
    assert.deepEqual(runtime.startup.inFlight, []);
    return await runtime.audit.rows({ last: verdict.head.count });
  } finally {
    await runtime.close();
  }
}

function contend(root: string, name: string): Promise<ContenderReport> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', CONTENDER, root, name, `${SECONDS}`, `${FILES}`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const out: Buffer[] = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('close', (status) => {
      if (status === 0) resolve(JSON.parse(Buffer.concat(out).toString()));
      else reject(new Error(`${name} ended with ${status}`));
    });
  });
}
