// Owns: the policy lines that are suggested, and that each admits the command it is suggested for.
// Refuses: to test matching itself.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { analyzeShell } from './analyze-shell.ts';
import { matchAllowlist } from './match-allowlist.ts';
import { suggestAllow } from './suggest-allow.ts';

const SUGGESTED: Readonly<Record<string, string>> = {
  'cargo test -q': "- '^cargo test(\\s|$)'",
  'cargo --version': "- '^cargo(\\s|$)'",
  'npm run build:prod -- --x': "- '^npm run build:prod(\\s|$)'",
  'ls -la': "- '^ls(\\s|$)'",
  'g++ x.cc': "- '^g\\+\\+(\\s|$)'",
  './build.sh now': "- '^\\./build\\.sh(\\s|$)'",
  '"my tool" x': "- '^''my tool''(\\s|$)'",
  'cargo "$x"': "- '^cargo(\\s|$)'",
  '"a=b" c': "- '^''a=b''(\\s|$)'",
  '"it\'s"': "- '^''it''\\\\''''s''(\\s|$)'",
};

describe('suggestAllow', () => {
  for (const [line, suggestion] of Object.entries(SUGGESTED)) {
    it(`suggests ${suggestion} for ${line}, which admits it`, async () => {
      const analysis = await analyzeShell(line);
      assert.ok(analysis.ok);
      const command = analysis.commands.at(-1)!;
      assert.equal(suggestAllow(command), suggestion);
      const pattern = suggestion.slice(3, -1).replaceAll("''", "'");
      const [match] = await matchAllowlist([command], [{ pattern }]);
      assert.deepEqual(match?.entries, [0]);
    });
  }
});
