// Owns: the check that what `tools/list` costs a model stays within its goals, and that the table in the docs is of these tools.
// Refuses: exact numbers of single tools; a word more in one description is nobody's business.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { countListedTokens, GOALS, type TokenCount } from './tokens.ts';

describe('the list of tools', () => {
  let all: TokenCount;
  let usual: TokenCount;
  before(async () => {
    ({ all, default: usual } = await countListedTokens());
  });

  it(`costs a model at most ${GOALS.perTool} tokens a tool on average`, () => {
    const average = all.total / all.tools.size;
    assert.ok(
      average <= GOALS.perTool,
      `${average} tokens; node bench/tokens.ts shows which tools cost most`,
    );
  });

  it(`costs at most ${GOALS.defaultProfile} tokens in the default profile`, () =>
    assert.ok(usual.total <= GOALS.defaultProfile, `${usual.total} tokens`));

  it('has a row for every tool in docs/reference/mcp.md (node bench/tokens.ts --write)', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/reference/mcp.md'), 'utf8');
    const table = page.split('<!-- tokens: by bench/tokens.ts -->')[1]!.split('<!-- /tokens -->')[0]!;
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(rows, [...all.tools.keys()]);
  });
});
