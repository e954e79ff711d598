import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../../test/support/properties.ts';
import { isDoubt } from './config-format.ts';
import { jsonConfig } from './json-config.ts';

const ENTRY = { command: '/n', args: ['/h', 'mcp'] };
const lenient = jsonConfig(false);

/** Texts before, and what of them is right around the new entry. */
const TEXTS: Readonly<Record<string, string>> = {
  nothing: '',
  'an empty object': '{}',
  'an empty object, and a line break': '{}\n',
  'no servers': '{\n  "theme": "dark"\n}\n',
  'an empty list of servers': '{\n  "mcpServers": {}\n}\n',
  'another server': '{\n\t"mcpServers": {\n\t\t"other": { "url": "https://x" }\n\t}\n}\n',
  'one line': '{"a":1,"mcpServers":{"other":{}}}',
  'comments everywhere':
    '// top\n{\n    // servers\n    "mcpServers": {\n        "other": {} // why\n        /* end */\n    } // after\n    // last\n}\n// tail',
  'trailing commas': '{\n  "mcpServers": {\n    "other": {},\n  },\n}\n',
  'trailing commas with comments': '{\n  "mcpServers": {\n    "other": {}, // keep\n  }, // keep\n}\n',
  'Windows line ends': '{\r\n  "mcpServers": {\r\n    "other": {}\r\n  },\r\n  "b": 1\r\n}\r\n',
  'the brace behind the last value': '{\n  "mcpServers": {\n    "other": {}}}',
  'servers that are not last': '{\n  "mcpServers": {\n    "other": {}\n  },\n  "z": [1, 2]\n}\n',
  'a comment alone': '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
  'a comment alone on one line': '{"mcpServers": { /* none */ }}',
  'odd names': '{"$schema":"x","\\u006dcp":1,"mcpServers":{"hafts":{},"":{}}}',
};

describe('jsonConfig', () => {
  for (const [what, text] of Object.entries(TEXTS)) {
    it(`puts a server into ${what}, and takes it out to the same bytes`, () => {
      const put = lenient.put(text, 'mcpServers', 'haft', ENTRY);
      assert.deepEqual({ ...(lenient.find(put, 'mcpServers', 'haft') as object) }, ENTRY);
      assert.equal(lenient.put(put, 'mcpServers', 'haft', ENTRY), put);
      // Everything that was there is there, in its order: the new text is the old one with some added.
      let at = 0;
      for (const char of put) if (char === text[at]) at++;
      assert.equal(at, text.length);
      assert.equal(put.includes('\r\n'), text.includes('\r\n'));
      if (text.includes('\r\n')) assert.doesNotMatch(put, /[^\r]\n/);
      assert.equal(lenient.remove(put, 'mcpServers', 'haft') ?? '', text);
    });
  }

  it('keeps the meaning of any JSON, and gives back its bytes', () => {
    const rest = fc.dictionary(fc.constantFrom('a', 'z', 'servers2'), fc.jsonValue());
    const servers = fc.option(fc.dictionary(fc.constantFrom('b', 'hafts', 'é'), fc.jsonValue()));
    const spaces = fc.constantFrom(0, 1, 4, '\t');
    fc.assert(
      fc.property(rest, servers, spaces, fc.constantFrom('', '\n'), (first, found, space, end) => {
        const data = { ...first, ...(found ? { servers: found } : {}), ...(first.z ? { last: first } : {}) };
        const text = JSON.stringify(data, null, space) + end;
        const put = lenient.put(text, 'servers', 'haft', ENTRY);
        const before = JSON.parse(text);
        assert.deepEqual(JSON.parse(put), { ...before, servers: { ...before.servers, haft: ENTRY } });
        assert.equal(lenient.remove(put, 'servers', 'haft'), text);
      }),
    );
  });

  it('takes out what looks made for the server with it: an empty object over two lines', () => {
    for (const [text, left] of [
      ['{\n}\n', undefined],
      ['{\n  "a": 1,\n  "mcpServers": {\n  }\n}\n', '{\n  "a": 1\n}\n'],
    ] as const)
      assert.equal(
        lenient.remove(lenient.put(text, 'mcpServers', 'haft', ENTRY), 'mcpServers', 'haft'),
        left,
      );
  });

  it('keeps a comment beside the value that it belongs to', () => {
    const put = lenient.put('{\n  "mcpServers": {\n    "a": {} // why\n  }\n}', 'mcpServers', 'haft', ENTRY);
    assert.match(put, /"a": \{\}, \/\/ why\n {4}"haft": \{/);
  });

  it('changes only what differs, and keeps keys that somebody added', () => {
    const text =
      '{"mcpServers": {"haft": {\n  "command": "/old", // node\n  "env": {"A": "1"},\n  "args": ["/h", "mcp"]\n}}}';
    assert.equal(lenient.put(text, 'mcpServers', 'haft', ENTRY), text.replace('/old', '/n'));
  });

  it('takes out a server that others came behind', () => {
    const text = '{\n  "s": {\n    "haft": {}, // ours\n    "b": {}\n  }\n}';
    assert.equal(lenient.remove(text, 's', 'haft'), '{\n  "s": { // ours\n    "b": {}\n  }\n}');
  });

  it('does not let a comment swallow what follows a server that is taken out', () => {
    const text = '{"s": {"a": 1, // x\n"haft": {}, "b": 2}}';
    assert.equal(lenient.remove(text, 's', 'haft'), '{"s": {"a": 1, // x\n "b": 2}}');
    assert.equal(lenient.remove('{"s": {// x\n"haft": {}}, "b": 2}', 's', 'haft'), '{"s": {// x\n}, "b": 2}');
  });

  const REFUSED: Readonly<Record<string, readonly [text: string, line: number, says: RegExp]>> = {
    'half an object': ['{\n  "mcpServers": {', 2, /not valid JSON/],
    'two documents': ['{}\n{}', 2, /not valid JSON/],
    'a list': ['[]', 1, /not an object/],
    'servers that are a list': ['{\n"mcpServers": []}', 2, /not an object/],
    'the same key twice': ['{\n"mcpServers": {},\n"mcpServers": {}}', 3, /"mcpServers" is there twice/],
    'the same server twice': ['{"mcpServers": {\n"haft": {},\n"haft": {}}}', 3, /"haft" is there twice/],
    'an unquoted key': ['{\n\n mcpServers: {}}', 3, /not valid JSON/],
    'what is nested without end': ['['.repeat(200_000), 1, /nested too deeply|not valid JSON/],
  };
  for (const [what, [text, line, says]] of Object.entries(REFUSED)) {
    it(`refuses ${what}, and names the line`, () => {
      assert.throws(
        () => lenient.put(text, 'mcpServers', 'haft', ENTRY),
        (thrown) => isDoubt(thrown) && says.test(thrown.message) && thrown.line === line,
      );
    });
  }

  it('refuses comments and trailing commas where the client takes none', () => {
    for (const text of ['{} // x', '{"a": 1,}'])
      assert.throws(() => jsonConfig(true).put(text, 's', 'haft', ENTRY), isDoubt);
  });
});
