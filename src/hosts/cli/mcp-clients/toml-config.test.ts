import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDoubt } from './config-format.ts';
import { tomlConfig } from './toml-config.ts';
import { tomlStatements } from './toml-statements.ts';

const ENTRY = { command: '/a "b"\\c', args: ['/h', 'mcp', '--workspace', '/w/ü x\x7f'] };
const put = (text: string) => tomlConfig.put(text, 'mcp_servers', 'haft', ENTRY);
const remove = (text: string) => tomlConfig.remove(text, 'mcp_servers', 'haft');
const find = (text: string) => tomlConfig.find(text, 'mcp_servers', 'haft');

const TEXTS: Readonly<Record<string, string>> = {
  nothing: '',
  'a pair': 'model = "x"\n',
  'a pair without a line break': 'model = "x"',
  'an empty line at the end': 'model = "x"\n\n',
  'another server': '[mcp_servers.other]\ncommand = "x"\n[mcp_servers.other.env]\nA = "1"\n',
  'Windows line ends': 'model = "x"\r\n[a]\r\nb = 1\r\n',
  'a comment at the end': '[a]\n# [mcp_servers.haft]\n',
  'strings that look like tables':
    'a = """\n[mcp_servers.haft]\ncommand = "x"\n"""\nb = \'\'\'\n[mcp_servers.haft]\'\'\'\n',
  'every kind of value':
    'a = [1, 2.5e3, [true, "x"], # c\n  { k = 1979-05-27 07:32:00Z, "q r" = \'\\\' },\n]\nb.c = -inf\n"d.e" = 0xff_ff\n[[list]]\nx = 1\n[[list]]\nx = 1\n[ t . "haft" ]\n',
};

describe('tomlConfig', () => {
  for (const [what, text] of Object.entries(TEXTS)) {
    it(`puts a server behind ${what}, and takes it out to the same bytes`, () => {
      const changed = put(text);
      assert.ok(changed.startsWith(text));
      assert.deepEqual(find(changed), ENTRY);
      assert.equal(put(changed), changed);
      assert.equal(remove(changed) ?? '', text);
      // What Codex adds behind it stays.
      assert.equal(
        remove(`${changed}\n[after]\nx = 1\n`)?.replace(/\n?\[after\]\nx = 1\n$/, ''),
        text === '' ? '' : text.replace(/"$/, '"\n'),
      );
    });
  }

  it('changes only what differs, and keeps what somebody added', () => {
    const text = `[mcp_servers.haft] # mine\ncommand = "/old" # node\nenabled = true\n\n[mcp_servers.haft.tools.file_write]\napproval_mode = "approve"\n`;
    const changed = put(text);
    assert.equal(
      changed,
      text
        .replace('# mine', `# mine\nargs = ["/h", "mcp", "--workspace", "/w/ü x\\u007f"]`)
        .replace('"/old"', JSON.stringify(ENTRY.command)),
    );
    assert.equal(remove(`a = 1\n\n${changed}\n[b]\n`), 'a = 1\n\n[b]\n');
  });

  it('takes out tables below it that come before it', () => {
    assert.equal(remove('[mcp_servers.haft.env]\nA = 1\n[x]\n[mcp_servers.haft]\nb = 1\n'), '[x]\n');
  });

  const REFUSED: Readonly<Record<string, readonly [text: string, line: number]>> = {
    'an inline table of servers': ['a = 1\nmcp_servers = { haft = { command = "x" } }\n', 2],
    'a server by dotted keys': ['mcp_servers.haft.command = "x"\n', 1],
    'an inline server': ['[mcp_servers]\nhaft = { command = "x" }\n', 2],
    'a list of servers': ['[[mcp_servers]]\nname = "haft"\n', 1],
    'the table twice': ['[mcp_servers.haft]\n[mcp_servers."haft"]\n', 2],
    'the same key twice': ['a = 1\n\na = 2\n', 3],
    'a string without an end': ['a = 1\nb = "x\n', 2],
    'a long string without an end': ['b = """x\n\n', 1],
    'a pair without a value': ['a =\nb = 1\n', 1],
    'a word that is no value': ['a = yes\n', 1],
    'a header without an end': ['[a\n', 1],
    'two pairs on a line': ['a = 1 b = 2\n', 1],
    JSON: ['{"a": 1}\n', 1],
  };
  for (const [what, [text, line]] of Object.entries(REFUSED)) {
    it(`refuses ${what}, and names the line`, () => {
      for (const work of [put, remove])
        assert.throws(
          () => work(text),
          (thrown) => isDoubt(thrown) && thrown.line === line,
        );
    });
  }
});

describe('tomlStatements', () => {
  it('reads strings as TOML does', () => {
    const values = tomlStatements(
      'a = "\\u00e9\\t\\"" \nb = \'\\n\'\nc = """\nx\\\n   y"""\nd = \'\'\'z\'\'\'\'\n',
    ).map(({ value }) => value);
    assert.deepEqual(values, ['é\t"', '\\n', 'xy', "z'"]);
  });
});
