// Owns: the proof that bad input gets a clear refusal from the table, at every door, and changes nothing.
// Refuses: answers that only look like one: codes, reasons, exit codes and statuses are all held to the table.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createRuntime, type DefaultRuntime, ERRORS, type Reason } from '../../src/index.ts';
import { haft, haftInto, startHaft } from './support/haft.ts';
import { inTime } from './support/in-time.ts';
import { startMcp } from './support/mcp-lines.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const MB = 1024 * 1024;
const HUGE = Buffer.from(`{"path":"new.txt","content":"${'a'.repeat(100 * MB)}"}`);
const DEEP = `{"path":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
/** Whole messages and arguments that are no JSON, or no JSON that can be hashed. */
const BROKEN: Readonly<Record<string, Uint8Array>> = {
  'broken JSON': Buffer.from('{"path":'),
  'no JSON at all': Buffer.from('path: a.txt'),
  nothing: Buffer.from(''),
  'invalid UTF-8': Buffer.from([...Buffer.from('{"path":"a'), 0xff, 0xfe, ...Buffer.from('"}')]),
  'half a character': Buffer.from([...Buffer.from('{"path":"a'), 0xc3]),
  'UTF-16': Buffer.from('{"path":"a.txt"}', 'utf16le'),
  'two equal keys': Buffer.from('{"path":"a.txt","path":"b.txt"}'),
  'a depth of 50,000': Buffer.from(DEEP),
  'an array': Buffer.from('["a.txt"]'),
  'a string': Buffer.from('"a.txt"'),
  null: Buffer.from('null'),
  'two documents': Buffer.from('{"path":"a.txt"}{"path":"a.txt"}'),
};

const fullDevice = { missing: existsSync('/dev/full') ? false : 'this system has no /dev/full' };

let workspace: Workspace;
before(() => {
  workspace = makeWorkspace({ 'a.txt': 'a\n' });
});
after(() => workspace.remove());

describe('arguments that do not fit', () => {
  let runtime: DefaultRuntime;
  before(async () => {
    runtime = await createRuntime({ workspace: workspace.root });
  });
  after(() => runtime.close());

  const WRONG: readonly (readonly [title: string, tool: string, args: unknown, reason: Reason])[] = [
    ['a number for a path', 'file_read', { path: 7 }, 'input.schema'],
    ['null for a path', 'file_read', { path: null }, 'input.schema'],
    ['an object for a path', 'file_read', { path: { toString: 'a.txt' } }, 'input.schema'],
    ['a text for a number', 'file_read', { path: 'a.txt', max_bytes: '7' }, 'input.schema'],
    ['a fraction for a count', 'file_read', { path: 'a.txt', max_bytes: 1.5 }, 'input.schema'],
    ['a negative count', 'fs_list', { max_results: -1 }, 'input.schema'],
    ['a text for a flag', 'fs_delete', { path: 'a.txt', recursive: 'yes' }, 'input.schema'],
    ['an unknown choice', 'file_read', { path: 'a.txt', encoding: 'latin1' }, 'input.schema'],
    ['a missing argument', 'file_write', { path: 'new.txt' }, 'input.schema'],
    ['no argument at all', 'fs_move', {}, 'input.schema'],
    ['an empty path', 'file_read', { path: '' }, 'input.schema'],
    ['an argument too many', 'file_write', { path: 'new.txt', content: '', mode: '0777' }, 'input.schema'],
    [
      'an argument called __proto__',
      'file_read',
      JSON.parse('{"path":"a.txt","__proto__":{"x":1}}'),
      'input.schema',
    ],
    ['only __proto__', 'file_read', JSON.parse('{"__proto__":{"path":"a.txt"}}'), 'input.schema'],
    ['an argument called constructor', 'file_read', { path: 'a.txt', constructor: 1 }, 'input.schema'],
    [
      'a mode of other digits',
      'file_write',
      { path: 'new.txt', content: '', mode_octal: '0888' },
      'input.schema',
    ],
    [
      'a hash that is none',
      'file_write',
      { path: 'new.txt', content: '', expected_sha256: 'abc' },
      'input.schema',
    ],
    [
      'content that is no base64',
      'file_write',
      { path: 'new.txt', content: '%%%', encoding: 'base64' },
      'input.encoding',
    ],
    ['a glob that is none', 'fs_list', { glob: 'src/{a,b' }, 'input.glob'],
    ['a diff that is none', 'file_patch', { path: 'a.txt', unified_diff: 'hello' }, 'patch.malformed'],
    ['a lone surrogate', 'file_read', { path: 'a\ud800' }, 'input.not_canonical'],
    [
      'a number beyond all numbers',
      'fs_list',
      { max_results: Number.POSITIVE_INFINITY },
      'input.not_canonical',
    ],
    ['a range before the file', 'file_read', { path: 'a.txt', start_line: 0 }, 'input.schema'],
    ['a range beyond the file', 'file_read', { path: 'a.txt', start_byte: 999 }, 'input.range'],
    ['an unknown tool', 'no_such_tool', {}, 'tool.unknown'],
    ['a tool called __proto__', '__proto__', {}, 'tool.unknown'],
    ['a tool without a name', '', {}, 'tool.unknown'],
    [
      'arguments of 20 MB',
      'file_write',
      { path: 'new.txt', content: 'a'.repeat(20 * MB) },
      'input.too_large',
    ],
  ];
  for (const [title, tool, args, reason] of WRONG) {
    it(`${title} is refused with ${reason}, and recorded`, async () => {
      const response = await runtime.call({ tool, args: args as never });
      assert.equal(response.errors[0]?.reason, reason, JSON.stringify(response.errors));
      assert.equal(response.errors[0].code, ERRORS[reason].code);
      assert.equal(response.data, null);
      const [row] = await runtime.audit.rows({ last: 1 });
      assert.equal(row?.callId, response.callId);
      assert.equal(row.errors[0]?.reason, reason);
      assert.equal(existsSync(workspace.path('new.txt')), false);
    });
  }

  it('nothing that was sent ended up in a prototype', () => {
    assert.equal(({} as { x?: number }).x, undefined);
  });
});

describe('bad input on the command line', () => {
  const refused = async (args: readonly string[], stdin: Uint8Array | string, reason: Reason) => {
    const { status, stdout, stderr } = await haft([...args, '--json'], { cwd: workspace.root, stdin });
    const { ok, errors } = JSON.parse(stdout);
    assert.equal(ok, false);
    assert.equal(errors[0].reason, reason, stdout);
    assert.equal(status, ERRORS[reason].exit);
    assert.equal(stderr, '');
  };

  it('100 MB by @file, by standard input and by a pipe that never ends are refused', async () => {
    workspace.put('huge.json', HUGE);
    await refused(['call', 'file_write', '@huge.json'], '', 'input.too_large');
    rmSync(workspace.path('huge.json'));
    await refused(['call', 'file_write', '-'], HUGE, 'input.too_large');
    const child = startHaft(['call', 'file_write', '-', '--json'], { cwd: workspace.root });
    child.stdin.on('error', () => {});
    const pour = () => {
      while (child.stdin.writable && child.stdin.write(HUGE.subarray(0, MB)));
    };
    child.stdin.on('drain', pour);
    pour();
    child.stdout.resume();
    const status = await inTime(new Promise((resolve) => child.once('close', resolve)), 'an endless pipe');
    assert.equal(status, ERRORS['input.too_large'].exit);
    assert.equal(existsSync(workspace.path('new.txt')), false);
  });

  it('what is no JSON, or none that can be hashed, is refused on standard input and in a file', async () => {
    for (const title of ['broken JSON', 'invalid UTF-8', 'two equal keys', 'a depth of 50,000', 'nothing'])
      await refused(['call', 'file_read', '-'], BROKEN[title]!, 'input.not_json');
    writeFileSync(workspace.path('bad.json'), BROKEN['invalid UTF-8']!);
    await refused(['call', 'file_read', '@bad.json'], '', 'input.not_json');
  });

  it('a file that is missing, a folder, no tool and a flag that is none are refused', async () => {
    await refused(['call', 'file_read', '@missing.json'], '', 'usage');
    await refused(['call', 'file_read', '@.'], '', 'usage');
    await refused(['call'], '', 'usage');
    await refused(['call', 'file_read', '{}', '--no-such-flag'], '', 'usage');
    await refused(['call', 'file_read', '{"path":"a.txt"}', '--workspace', 'missing'], '', 'usage');
    await refused(['call', 'file_read', '{"path":7}'], '', 'input.schema');
  });

  it('a full disk behind standard output is told, not thrown', { skip: fullDevice.missing }, () => {
    for (const flags of [[], ['--json']]) {
      const { status, stderr } = haftInto('/dev/full', ['call', 'file_read', '{"path":"a.txt"}', ...flags], {
        cwd: workspace.root,
      });
      assert.equal(status, ERRORS['file.no_space'].exit);
      assert.match(
        stderr,
        /^haft: Cannot print the answer: the disk is full \[E_FILE_IO file\.no_space\]\n {2}Try: Free some disk space .*\n$/,
      );
    }
  });
});

describe('bad input over HTTP', () => {
  it('is refused with the status of the table, and the server goes on', async () => {
    const server = await startServer(workspace.root);
    try {
      const refused = async (body: Uint8Array | string, reason: Reason, headers = {}) => {
        const { status, json } = await server.post('/v1/call', body, headers);
        const told = json.type === 'ErrorMessage' ? json.reason : json.errors[0].reason;
        assert.equal(told, reason, JSON.stringify(json).slice(0, 300));
        assert.equal(status, ERRORS[reason].http);
      };
      const request = (args: string) => Buffer.from(`{"tool":"file_write","args":${args}}`);
      await refused(request(HUGE.toString()), 'input.too_large');
      await refused(request(HUGE.toString()), 'input.too_large', { 'transfer-encoding': 'chunked' });
      await refused(request(`{"path":"new.txt","content":"${'a'.repeat(20 * MB)}"}`), 'input.too_large');
      for (const [title, bytes] of Object.entries(BROKEN)) {
        const isEnvelope = ['an array', 'a string', 'null', 'nothing'].includes(title);
        await refused(bytes, isEnvelope ? 'input.envelope' : 'input.not_json');
      }
      await refused('{"tool":"file_read","arg":{"path":"a.txt"}}', 'input.envelope');
      await refused('{"tool":"file_read","args":[]}', 'input.envelope');
      await refused('{"tool":7}', 'input.envelope');
      await refused('{"__proto__":{"tool":"file_read"},"args":{}}', 'input.envelope');
      await refused('{"tool":"file_read","args":{"path":"a.txt"},"session_id":"nobody"}', 'session.unknown');
      await refused('{"tool":"file_read","args":{"path":"a.txt","__proto__":1}}', 'input.schema');
      await refused('{"tool":"file_read","args":{"path":"a.txt"}}', 'auth.required', {
        authorization: 'Bearer x',
      });
      await refused('{"tool":"file_read","args":{"path":"a.txt"}}', 'auth.origin', {
        origin: 'http://evil.example',
      });
      const fine = await server.post('/v1/call', '{"tool":"file_read","args":{"path":"a.txt"}}');
      assert.equal(fine.status, 200);
      assert.equal(fine.json.data.content, 'a\n');
    } finally {
      await server.close();
    }
  });
});

describe('bad input over MCP', () => {
  it('is answered line by line, by its id where it has one, and the server goes on', async () => {
    const mcp = startMcp(workspace.root);
    try {
      const call = (args: string) =>
        `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"file_read","arguments":${args}}}`;
      const PARSE = -32700;
      const PARAMS = -32602;
      for (const title of [
        'broken JSON',
        'no JSON at all',
        'invalid UTF-8',
        'half a character',
        'UTF-16',
        'two documents',
      ]) {
        const { id, error } = await mcp.ask(BROKEN[title]!);
        assert.deepEqual([title, id, error.code], [title, null, PARSE]);
      }
      for (const args of ['{"path":"a.txt","path":"b.txt"}', DEEP, '[]', '"a.txt"']) {
        const { id, error } = await mcp.ask(call(args));
        assert.deepEqual([id, error.code], [7, PARAMS], args.slice(0, 50));
      }
      const schema = await mcp.ask(call('{"path":"a.txt","__proto__":1}'));
      assert.equal(schema.result._meta['haft/errors'][0].reason, 'input.schema');
      const huge = await mcp.ask(call(HUGE.toString()));
      assert.equal(huge.result._meta['haft/errors'][0].reason, 'input.too_large');
      const fine = await mcp.ask(call('{"path":"a.txt"}'));
      assert.equal(fine.result.content[0].text, 'a\n');
    } finally {
      await mcp.close();
    }
  });
});
