// Owns: the proof that tricks by which a command slips past an allowlist do not, and that everyday lines do.
// Refuses: to run anything; soundness.test.ts does.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadPatternCompiler } from '../../contract/policy-match.ts';
import { analyzeShell } from './analyze-shell.ts';
import EVERYDAY from './fixtures/everyday.json' with { type: 'json' };
import TRICKS from './fixtures/tricks.json' with { type: 'json' };

const PROGRAMS =
  'cargo npm rg ls cat git find sed tar sort rsync grep head date cp fd zip wget curl diff test mkdir tee wc split cpio install diff3 sdiff ag bat';
const compile = await loadPatternCompiler();
const ALLOW = PROGRAMS.split(' ').map((program) => compile(`^${program}(\\s|$)`));

async function admitted(line: string): Promise<boolean> {
  const analysis = await analyzeShell(line);
  if (!analysis.ok) return false;
  return analysis.commands.every(
    ({ inert, canonical }) => inert || ALLOW.some((matches) => matches(canonical, 'allow')),
  );
}

describe('a trick is not let through', () => {
  for (const [kind, lines] of Object.entries(TRICKS)) {
    it(`${kind}: ${lines.length} lines`, async () => {
      const through: string[] = [];
      for (const line of lines) if (await admitted(line)) through.push(line);
      assert.deepEqual(through, []);
    });
  }

  it('there are over 150 of them, each its own', () => {
    const lines = Object.values(TRICKS).flat();
    assert.equal(new Set(lines).size, lines.length);
    assert.ok(lines.length > 150, String(lines.length));
  });
});

describe('an everyday line is let through', () => {
  for (const line of EVERYDAY) {
    it(JSON.stringify(line), async () => {
      const analysis = await analyzeShell(line);
      assert.ok(analysis.ok, analysis.ok ? '' : `${analysis.message} at ${JSON.stringify(analysis.at)}`);
      assert.ok(await admitted(line), JSON.stringify(analysis.commands.map(({ canonical }) => canonical)));
    });
  }
});
