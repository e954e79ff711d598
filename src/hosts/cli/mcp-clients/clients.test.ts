import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MCP_CLIENTS } from './clients.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8');

describe('docs/clients.md', () => {
  // As it is for who has set none of these; each test file is a process of its own.
  for (const name of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME', 'XDG_CONFIG_HOME'])
    delete process.env[name];

  for (const [id, { title, files }] of Object.entries(MCP_CLIENTS)) {
    it(`names ${id} with its files`, () => {
      const first = (names: readonly string[]) => names[0]!.replace('/w/', '').replace(homedir(), '~');
      const cells = [
        `\`${id}\``,
        title,
        `\`${first(files.project('/w'))}\``,
        `\`${first(files.user('/w'))}\``,
      ];
      assert.ok(page.includes(`| ${cells.join(' | ')} |`), cells.join(' | '));
    });
  }
});
