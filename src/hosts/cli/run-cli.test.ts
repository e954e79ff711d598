import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { COMMANDS } from '../../bin/commands.ts';
import { VERSION } from '../../contract/version.ts';
import { removeTrusted, writeTrusted } from '../../preset/trust/trust-for-tests.ts';
import type { Command } from './command.ts';
import { commandsByName } from './commands.ts';
import { runForTests as run } from './run-for-tests.ts';

describe('runCli', () => {
  let workspace = '';
  before(() => {
    workspace = mkdtempSync(join(tmpdir(), 'haft-cli-'));
  });
  after(() => rmSync(workspace, { recursive: true, force: true }));

  const here = () => ['--workspace', workspace];

  describe('finding a command', () => {
    const HELP: readonly (readonly [args: string, begins: string, exit: number])[] = [
      ['help', 'haft: run the tools of an agent', 0],
      ['--help', 'haft: run the tools of an agent', 0],
      ['-h', 'haft: run the tools of an agent', 0],
      ['help call', 'usage: haft call TOOL', 0],
      ['call --help', 'usage: haft call TOOL', 0],
      ['--help call', 'usage: haft call TOOL', 0],
      ['audit', 'Read and verify', 2],
      ['audit --help', 'Read and verify', 0],
      ['audit help', 'Read and verify', 0],
      ['help audit', 'Read and verify', 0],
      ['help audit verify', 'usage: haft audit verify', 0],
      ['audit help verify', 'usage: haft audit verify', 0],
      ['mcp --help', 'usage: haft mcp [', 0],
      ['mcp help', 'usage: haft mcp [', 0],
      ['mcp install --help', 'usage: haft mcp install', 0],
      ['help mcp install', 'usage: haft mcp install', 0],
    ];
    for (const [args, begins, exit] of HELP) {
      it(`"haft ${args}" shows help and exits with ${exit}`, async () => {
        const ran = await run(args.split(' ').filter(Boolean));
        assert.ok(ran.out.startsWith(begins), ran.out);
        assert.equal(ran.exit, exit);
        assert.equal(ran.err, '');
      });
    }

    for (const args of ['--version', '-V', 'version']) {
      it(`"haft ${args}" prints the version`, async () => {
        assert.deepEqual(await run([args]), { exit: 0, out: `haft ${VERSION}\n`, err: '' });
        assert.deepEqual(JSON.parse((await run([args, '--json'])).out), { version: VERSION });
      });
    }

    for (const args of [
      ['--workspace', '', 'tools', 'list'],
      ['tools', '--workspace', '', 'list'],
      ['tools', 'list', '--workspace', ''],
    ]) {
      it(`takes the workspace anywhere: "${args.join(' ')}"`, async () => {
        const ran = await run(args.map((word) => word || workspace));
        assert.equal(ran.exit, 0, ran.err);
        assert.match(ran.out, /^TOOL/);
      });
    }

    it('shows an example and every flag in the help of each command', async () => {
      for (const full of commandsByName(COMMANDS).keys()) {
        const { out, exit } = await run([...full.split(' '), '--help']);
        assert.equal(exit, 0, full);
        assert.match(out, /\nexamples:\n {2}.*haft /, full);
        assert.match(out, / {2}--json /, full);
      }
    });
  });

  describe('refusing a command line', () => {
    const REFUSED: readonly (readonly [args: readonly string[], says: RegExp])[] = [
      [['cal'], /no such command; did you mean "call"\?/],
      [['mcp', 'instal', 'claude'], /no such mcp command; did you mean "install"\?/],
      [['mcp', 'install'], /an argument is missing \(usage: haft mcp install claude/],
      [['mcp', 'install', 'emacs'], /take one of claude, codex, gemini, opencode, cursor, vscode, zed/],
      [['audit', 'verfy'], /no such audit command; did you mean "verify"\?/],
      [['--frob'], /Cannot run haft --frob: a command is missing/],
      [['call'], /an argument is missing \(usage: haft call TOOL/],
      [['tools', 'show', 'a', 'b'], /"b" is one argument too many/],
      [['tools', 'list', '--jsn'], /there is no flag --jsn; did you mean --json\?/],
      [['tools', 'list', '-x'], /there is no flag -x \(usage/],
      [['tools', 'list', '--json=yes'], /--json takes no value/],
      [['tools', 'list', '--help=yes'], /--help takes no value/],
      [['audit', 'list', '--last'], /--last needs a value/],
      [['audit', 'list', '--last', '-5'], /--last needs a value/],
      [['audit', 'list', '--last', '0'], /--last 0: it takes a whole number/],
      [['audit', 'list', '--outcome', 'denid'], /no outcome "denid"; did you mean "denied"\?/],
      [['approvals', 'list', '--status', 'open'], /no status "open"; take one of pending/],
      [['audit', 'verify', '--head', 'abc'], /--head takes COUNT:HASH/],
      [['call', 'file_read', 'README.md'], /as JSON: unexpected token "R"; write them like path=README\.md/],
      [['call', 'file_read', 'pth=x'], /file_read has no such argument; did you mean "path"\?/],
      [['call', 'file_read', 'path=x', 'path=y'], /"path": it is given twice/],
      [['call', 'file_read', 'path=x', 'max_bytes=ten'], /"max_bytes=ten": it takes a whole number/],
      [['call', 'file_read', '[1]'], /they are no JSON object; write them like/],
      [['call', 'file_read', '@no-such-file'], /Cannot read no-such-file: there is no such file/],
      [['runs', 'list', '--backend', 'foo'], /no backend "foo"; take one of local, docker, slurm/],
      [['completion', 'tcsh'], /take one of bash, zsh, fish/],
      [['tools', 'list', '--workspace', '/no/such/folder'], /there is no such folder/],
    ];
    for (const [args, says] of REFUSED) {
      it(`"haft ${args.join(' ')}" exits with 2 and says why on standard error`, async () => {
        const ran = await run(args.includes('--workspace') ? args : [...args, ...here()]);
        assert.match(ran.err, says);
        assert.equal(ran.out, '');
        assert.equal(ran.exit, 2);
      });
    }

    it('prints one JSON document and nothing else with --json', async () => {
      for (const args of [['cal'], ['tools'], ['call'], ['tools', 'list', '--frob']]) {
        const ran = await run([...args, '--json']);
        const { ok, errors } = JSON.parse(ran.out);
        assert.deepEqual([ok, errors[0].reason, ran.err, ran.exit], [false, 'usage', '', 2]);
      }
    });
  });

  describe('telling a person what is the matter', () => {
    it('shows a denial with the lines that would admit the call', async () => {
      writeTrusted(
        join(workspace, 'haft.yaml'),
        'version: 1\npaths:\n  rules:\n    - { path: ".env", write: deny }\n',
      );
      const ran = await run(['call', 'file_write', '{"path":".env","content":""}', ...here()]);
      removeTrusted(join(workspace, 'haft.yaml'));
      assert.equal(ran.exit, 3);
      assert.match(
        ran.err,
        /\[E_POLICY policy\.denied\]\n {2}To allow this, add to haft\.yaml.*:\n {4}paths:\n/,
      );
    });

    it('keeps names with control characters and line breaks in one line of a table', async () => {
      await run(['call', 'a\u001b[2K\nb', ...here()]);
      const { out } = await run(['audit', 'list', '--last', '1', ...here()]);
      assert.equal(out.split('\n').length, 3);
      assert.ok(out.includes('a\\u001b[2K\\u000ab'), out);
    });

    it('tells an empty audit from a filter that matches nothing', async () => {
      const empty = mkdtempSync(join(tmpdir(), 'haft-cli-'));
      assert.equal((await run(['audit', 'list', '--workspace', empty])).out, 'No calls yet.\n');
      rmSync(empty, { recursive: true });
      assert.equal((await run(['audit', 'list', '--outcome', 'lost', ...here()])).out, 'No row matches.\n');
    });

    it('says each problem of a bad policy once in haft doctor', async () => {
      writeTrusted(join(workspace, 'haft.yaml'), 'version: 1\nnope: 1\n');
      const ran = await run(['doctor', ...here()]);
      removeTrusted(join(workspace, 'haft.yaml'));
      assert.equal(ran.exit, 1);
      assert.equal(ran.out.split('key.unknown').length, 2, ran.out);
    });

    it("writes a bug's own words to standard error, and not into the answer", async () => {
      const buggy: Command = {
        summary: 'Fail',
        usage: '',
        examples: [],
        positionals: [0, 0],
        async run({ runtime, io }) {
          const opened = await runtime();
          // What no caller can bring about: a text is taken apart by something that throws.
          const split = mock.method(String.prototype, 'split', () => {
            throw new Error('the words of the bug');
          });
          try {
            io.out(JSON.stringify(await opened.call({ tool: 'file_read_range', args: { path: 'a.txt' } })));
          } finally {
            split.mock.restore();
          }
          return 0;
        },
      };
      const ran = await run(['fail', ...here()], { fail: { summary: 'Fail', load: async () => buggy } });
      assert.match(ran.err, /the words of the bug/);
      assert.match(ran.out, /"internal\.unexpected"/);
      assert.doesNotMatch(ran.out, /the words of the bug/);
    });
  });
});
