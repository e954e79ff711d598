// Owns: for tests of haft.yaml, a workspace whose policy is any text, and cases that say what is told of it, and where.
// Refuses: wording beyond the words that help.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { loadHaftYaml } from './load-haft-yaml.ts';

export interface DiagnosticCase {
  readonly code: string;
  readonly at: readonly [line: number, column: number];
  /** The lines after `version: 1`, or the whole file where that is what is wrong. */
  readonly lines?: readonly string[];
  readonly file?: string | Uint8Array;
  readonly says?: string;
  readonly hint?: string;
  readonly severity?: 'warning';
  /** Other codes that the same mistake brings with it. */
  readonly also?: readonly string[];
}

type Load = (file: string | Uint8Array) => Promise<readonly Diagnostic[]>;

/** Call it while a test file loads: it adds a hook that removes the workspace. */
export function policyTexts(): Load {
  const folder = mkdtempSync(join(tmpdir(), 'haft-diagnostics-'));
  const workspace = join(folder, 'workspace');
  mkdirSync(join(workspace, 'src'), { recursive: true });
  writeFileSync(join(folder, 'beside.txt'), '');
  after(() => rmSync(folder, { recursive: true }));
  return async (file) => {
    writeFileSync(join(workspace, 'haft.yaml'), file);
    const availableRules = ['code.ast.parsed', 'secrets.scan'];
    const { value, diagnostics } = await loadHaftYaml({ workspace, availableRules });
    const failed = diagnostics.some(({ severity }) => severity === 'error');
    assert.equal(value === undefined, failed, 'a policy with errors has no value');
    return diagnostics;
  };
}

/** A test for each. */
export function itTells(cases: readonly DiagnosticCase[], load: Load): void {
  for (const { code, at, lines, file, says, hint, severity = 'error', also = [] } of cases) {
    const text = file ?? `version: 1\n${(lines ?? []).join('\n')}\n`;
    it(`tells ${code} of ${JSON.stringify(Buffer.from(text).toString().slice(0, 70))}`, async () => {
      const found = await load(text);
      const [line, column] = at;
      const one = found.find((d) => d.code === code && d.line === line && d.column === column);
      assert.ok(one, show(found));
      assert.equal(one.file, 'haft.yaml');
      assert.equal(one.severity, severity);
      if (says) assert.ok(one.message.includes(says), show(found));
      if (hint) assert.ok(one.hint?.includes(hint), show(found));
      const others = found.filter((d) => d.code !== code && !also.includes(d.code));
      assert.deepEqual(others, [], show(found));
    });
  }
}

const show = (found: readonly Diagnostic[]) =>
  found
    .map(({ code, line, column, message, hint }) => `${line}:${column} ${code} ${message} [${hint}]`)
    .join('\n');
