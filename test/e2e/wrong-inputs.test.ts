// Owns: what a person is told for a wrong input: which thing, what happened, what to do next, in a few plain lines.
// Not here: hostile input (bad-input.test.ts), and what is denied (denials-admit.test.ts).
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createRuntime } from '../../src/index.ts';
import { haft, type Ran } from './support/haft.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

interface Wrong {
  readonly exit: number;
  /** Names the thing, and says what happened to it. */
  readonly says: RegExp;
  /** What to do next: a command, a line, or the right name. */
  readonly next: RegExp;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A folder of the workspace to be in, or OUTSIDE. */
  readonly cwd?: string;
  /** Where the answer is a report, it is on standard output. */
  readonly reports?: true;
  readonly skip?: string | false;
}
type Row = readonly [args: string | readonly string[], wrong: Wrong];

const noProc = { skip: existsSync('/proc/self') ? (false as const) : 'this system has no /proc' };
const JSON_FORM = /write them like path=README\.md, or like '\{"path":"README\.md"\}'/;
const read = (json: string) => ['call', 'file_read', json];

/** In place of what is known only when the test runs. */
const FILLED = /^(USED|TAKEN)$/;
const OUTSIDE = '..';

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'a command or a flag that is none': [
    ['cal file_read', { exit: 2, says: /"cal": there is no such command/, next: /did you mean "call"\?/ }],
    ['tool list', { exit: 2, says: /"tool": there is no such command/, next: /did you mean "tools"\?/ }],
    ['approve appr_1', { exit: 2, says: /"approve": there is no such/, next: /did you mean "approvals"\?/ }],
    ['tools lst', { exit: 2, says: /"lst": there is no such tools command/, next: /did you mean "list"\?/ }],
    [
      'policy show',
      { exit: 2, says: /"show": there is no such policy command/, next: /see haft help policy/ },
    ],
    ['help cal', { exit: 2, says: /"cal": there is no such command/, next: /did you mean "call"\?/ }],
    ['--frob', { exit: 2, says: /haft --frob: a command is missing/, next: /see haft help/ }],
    ['tools list --jsn', { exit: 2, says: /there is no flag --jsn/, next: /did you mean --json\?/ }],
    ['tools list --color=blue', { exit: 2, says: /--color takes/, next: /one of auto, always, never/ }],
    ['audit list --last ten', { exit: 2, says: /--last ten/, next: /takes a whole number from 1 on/ }],
    ['audit list --last', { exit: 2, says: /--last needs a value/, next: /usage: haft audit list/ }],
    [
      'tools show',
      { exit: 2, says: /haft tools show: an argument is missing/, next: /usage: haft tools show TOOL/ },
    ],
    [
      'tools show file_read grep',
      { exit: 2, says: /"grep" is one argument too many/, next: /usage: haft tools show/ },
    ],
    [
      'mcp --profile tiny',
      { exit: 2, says: /no profile "tiny"/, next: /take one of default, all, searchable/ },
    ],
    ['mcp install clod', { exit: 2, says: /"clod"/, next: /take one of claude, codex/ }],
    ['completion tcsh', { exit: 2, says: /"tcsh"/, next: /take one of bash, zsh, fish/ }],
    [
      'init --template nope',
      { exit: 2, says: /template "nope": there is none/, next: /did you mean "node"\?/ },
    ],
    ['serve --port abc', { exit: 2, says: /"abc"/, next: /--port takes 0 to 65535/ }],
    [
      'serve --port TAKEN',
      { exit: 2, says: /127\.0\.0\.1:\d+: the port is taken/, next: /choose another with --port/ },
    ],
  ],
  'a tool or an argument that is none': [
    [
      'call file_raed path=a.txt',
      { exit: 2, says: /"file_raed": no such tool/, next: /did you mean "file_read"\?/ },
    ],
    ['call http_request url=x', { exit: 2, says: /"http_request": no such tool/, next: /"haft tools list"/ }],
    [
      'tools show file_raed',
      { exit: 2, says: /"file_raed": no such tool/, next: /did you mean "file_read"\?/ },
    ],
    [
      'policy explain file_raed',
      { exit: 2, says: /"file_raed": no such tool/, next: /did you mean "file_read"\?/ },
    ],
    [
      'call shell_exec command=ls',
      { exit: 125, says: /shell_exec has no such argument/, next: /did you mean "cmd"\?/ },
    ],
    [
      'call file_read file=a.txt',
      { exit: 2, says: /file_read has no such argument/, next: /did you mean "path"\?/ },
    ],
    [read('{"file":"a.txt"}'), { exit: 2, says: /missing argument "path"/, next: /did you mean "path"\?/ }],
    [
      'call file_read path=a.txt max_bytes=ten',
      { exit: 2, says: /"max_bytes=ten"/, next: /takes a whole number/ },
    ],
    [
      read('{"path":"a.txt","max_bytes":"ten"}'),
      { exit: 2, says: /"max_bytes" must be integer/, next: /"haft tools show file_read"/ },
    ],
    [
      'call file_read',
      { exit: 2, says: /"file_read": missing argument "path"/, next: /"haft tools show file_read"/ },
    ],
    [
      'call file_read path=',
      { exit: 2, says: /"path" must not be empty/, next: /"haft tools show file_read"/ },
    ],
    ['call file_read path=a path=b', { exit: 2, says: /"path": it is given twice/, next: /--help/ }],
    [
      'call grep pattern=(',
      { exit: 2, says: /the pattern: unclosed group/, next: /Correct the regular expression/ },
    ],
  ],
  'JSON that a shell or an editor broke': [
    [read(`{'path':'a.txt'}`), { exit: 2, says: /as JSON: it has single quotes \('\)/, next: JSON_FORM }],
    [read('{path:a.txt}'), { exit: 2, says: /as JSON: the keys have no quotes/, next: JSON_FORM }],
    [read('{“path”: “a.txt”}'), { exit: 2, says: /as JSON: it has curly quotes/, next: JSON_FORM }],
    [
      read('{"path":"a.txt",}'),
      { exit: 2, says: /as JSON: it has a comma before a closing/, next: JSON_FORM },
    ],
    [read('{"path":"a.txt"'), { exit: 2, says: /as JSON: the closing "\}" is missing/, next: JSON_FORM }],
    [read('a.txt'), { exit: 2, says: /as JSON: unexpected token "a"/, next: JSON_FORM }],
    [read('-'), { exit: 2, says: /as JSON: there is no text/, next: JSON_FORM }],
    [
      'call file_read @missing.json',
      { exit: 2, says: /missing\.json: there is no such file/, next: /check the path/ },
    ],
    ['call file_read @sub', { exit: 2, says: /sub: it is a directory/, next: /name a file/ }],
  ],
  'a file or folder that does not do': [
    ['call file_read path=no.txt', { exit: 5, says: /"no\.txt": no such file or folder/, next: /fs_list/ }],
    ['call file_read path=sub', { exit: 5, says: /"sub": it is a directory/, next: /Name a file in it/ }],
    ['call file_read path=a.txt/b', { exit: 5, says: /"a\.txt\/b": /, next: /Try: / }],
    ['call file_read path=bin.dat encoding=utf8', { exit: 2, says: /"bin\.dat"/, next: /base64/ }],
    [
      'call file_read path=../x',
      { exit: 3, says: /the path: it leads out of the workspace/, next: /haft\.yaml/ },
    ],
    [
      'call file_read path=.haft/haft.db',
      { exit: 3, says: /\.haft\/haft\.db: it belongs to Haft/, next: /by hand/ },
    ],
    [
      'call file_edit path=a.txt old=zzz new=b',
      { exit: 5, says: /"a\.txt": old is not in/, next: /read the file again/ },
    ],
    [
      'status --workspace nowhere',
      { exit: 2, says: /workspace nowhere: there is no such/, next: /create it first/ },
    ],
    [
      'status --workspace a.txt',
      { exit: 2, says: /workspace a\.txt: it is not a folder/, next: /name the folder/ },
    ],
    [
      'call fs_list --workspace /',
      { exit: 2, says: /workspace \/: it is the whole machine/, next: /name a folder in it/ },
    ],
    [
      'call fs_list --workspace /proc',
      { exit: 5, says: /"\.haft".*cannot be written/, next: /check its/, ...noProc },
    ],
    ['init', { exit: 5, says: /haft\.yaml: there is one already/, next: /--force replaces it/ }],
    [
      'init --workspace /proc',
      { exit: 5, says: /\/proc\/haft\.yaml: /, next: /name another place/, ...noProc },
    ],
    [
      'init --workspace nowhere',
      { exit: 2, says: /workspace nowhere: there is no such/, next: /create it first/ },
    ],
    ['audit list', { exit: 2, says: /no workspace|not a workspace/, next: /haft init/, cwd: OUTSIDE }],
  ],
  'an id that is none': [
    ['undo call_zzzz', { exit: 2, says: /"call_zzzz": no call of this id/, next: /"haft undo --list"/ }],
    ['undo call_', { exit: 2, says: /"call_"/, next: /write more of its id/ }],
    ['undo', { exit: 2, says: /Cannot undo: name one call/, next: /"haft undo --list"/ }],
    [
      'approvals grant appr_x',
      { exit: 2, says: /"appr_x": no open approval/, next: /"haft approvals list"/ },
    ],
    [
      'approvals grant USED',
      { exit: 2, says: /"appr_\w+": no open approval/, next: /"haft approvals list"/ },
    ],
    ['approvals list --status open', { exit: 2, says: /no status "open"/, next: /take one of pending/ }],
    ['sessions show sess_x', { exit: 2, says: /"sess_x"/, next: /"haft sessions list"/ }],
    ['runs show run_x', { exit: 2, says: /"run_x"/, next: /see haft runs list/ }],
    [
      'artifacts show x',
      { exit: 2, says: /"x": an artifact is named by "sha256:"/, next: /see haft artifacts list/ },
    ],
    ['tools enable nobody', { exit: 2, says: /"nobody": no such pack/, next: /"haft tools health"/ }],
    [
      'tools add thing',
      { exit: 2, says: /"thing": say how it is reached/, next: /--url URL, or -- COMMAND/ },
    ],
    ['tools check nopack', { exit: 2, says: /nopack.*no such folder/, next: /check the path/ }],
  ],
  'a haft.yaml with a mistake': [
    [
      'policy check',
      {
        exit: 2,
        says: /no key "shel_allow"/,
        next: /did you mean shell_allow\?/,
        cwd: 'typo',
        reports: true,
      },
    ],
    [
      'policy check',
      { exit: 2, says: /:2:1: .*A tab cannot indent/, next: /use spaces/, cwd: 'tab', reports: true },
    ],
    [
      'policy check',
      { exit: 2, says: /expected 1, found number 2/, next: /hint: version: 1/, cwd: 'two', reports: true },
    ],
    [
      'policy check',
      {
        exit: 2,
        says: /pack "\.\/nope": there is no such folder/,
        next: /check the path/,
        cwd: 'pack',
        reports: true,
      },
    ],
    [
      'call fs_list',
      { exit: 2, says: /haft\.yaml:2:1: .*no key "shel_allow"/, next: /haft policy check/, cwd: 'typo' },
    ],
  ],
  'a Node.js that is too old': [
    [
      'help',
      {
        exit: 69,
        says: /needs Node\.js 22\.19 or newer; this is 18\.0\.0/,
        next: /https:\/\/nodejs\.org/,
        env: { NODE_OPTIONS: '--require ./old.cjs' },
      },
    ],
  ],
};

const POLICIES: Readonly<Record<string, string>> = {
  typo: 'version: 1\nshel_allow:\n  - ls\n',
  tab: 'version: 1\n\tshell_allow: []\n',
  two: 'version: 2\n',
  pack: 'version: 1\npacks: [./nope]\n',
};

describe('a wrong input', () => {
  let workspace: Workspace;
  const elsewhere = makeWorkspace();
  let port: ReturnType<typeof createServer>;
  const filled = new Map<string, string>();
  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml': 'version: 1\ntools:\n  rules:\n    - { tool: fs_delete, decision: ask }\n',
      'a.txt': 'hello\n',
      'bin.dat': new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0xff, 0xfe]),
      'old.cjs':
        'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.0.0" } });\n',
    });
    mkdirSync(workspace.path('sub'));
    for (const [name, text] of Object.entries(POLICIES)) workspace.put(`${name}/haft.yaml`, text);
    const runtime = await createRuntime({ workspace: workspace.root });
    for (const path of ['b.txt', 'c.txt'])
      await runtime.call({ tool: 'file_write', args: { path, content: '' } });
    const ask = () => runtime.call({ tool: 'fs_delete', args: { path: 'b.txt' } });
    const used = String((await ask()).errors[0]?.details?.approval_id);
    await runtime.approvals.decide(used, 'granted', 'a person');
    assert.deepEqual((await ask()).errors, []);
    await runtime.close();
    port = createServer();
    await new Promise<void>((resolve) => port.listen(0, '127.0.0.1', resolve));
    filled.set('USED', used).set('TAKEN', String((port.address() as { port: number }).port));
  });
  after(() => {
    port.close();
    workspace.remove();
    elsewhere.remove();
  });

  const words = (args: Row[0]) =>
    (typeof args === 'string' ? args.split(' ') : args).map((word) =>
      FILLED.test(word) ? filled.get(word)! : word,
    );

  it('is one of more than sixty here', () => assert.ok(Object.values(ROWS).flat().length > 60));

  for (const [title, rows] of Object.entries(ROWS))
    it(`${title} is told plainly`, async () => {
      const tried = rows.filter(([, { skip }]) => !skip);
      const problems: string[] = [];
      for (let at = 0; at < tried.length; at += AT_ONCE)
        await Promise.all(
          tried.slice(at, at + AT_ONCE).map(async ([args, wrong]) => {
            const cwd = wrong.cwd === OUTSIDE ? elsewhere.root : workspace.path(wrong.cwd ?? '.');
            const ran = await haft(words(args), { cwd, stdin: wrong.stdin ?? '', env: wrong.env ?? {} });
            for (const problem of problemsOf(ran, wrong))
              problems.push(`haft ${words(args).join(' ')}\n  ${problem}\n${ran.stdout}${ran.stderr}`);
          }),
        );
      assert.deepEqual(problems, []);
    });

  it('a wrong token over HTTP is told plainly', async () => {
    const server = await startServer(workspace.root);
    try {
      const { status, json } = await server.get('/v1/tools', { authorization: 'Bearer wrong' });
      assert.equal(status, 401);
      assert.match(json.message, /token.*haft serve/);
    } finally {
      await server.close();
    }
  });
});

/** Two cores are enough for four starts. */
const AT_ONCE = 4;
const MOST_LINES = 6;
/** What only somebody who wrote Haft, Node or a library would understand. */
const INTERNAL =
  /\bundefined\b|\[object|\b\w*Error:|\bE(?:NOENT|ISDIR|NOTDIR|ACCES|ROFS|ADDRINUSE)\b|node:|must NOT|instancePath|^\s+at /m;

function problemsOf(ran: Ran, { exit, says, next, reports }: Wrong): string[] {
  const told = reports ? `${ran.stdout}${ran.stderr}` : ran.stderr;
  const problems: string[] = [];
  if (ran.status !== exit) problems.push(`exits with ${ran.status}, not ${exit}`);
  if (!says.test(told)) problems.push(`does not say ${says}`);
  if (!next.test(told)) problems.push(`does not say what to do: ${next}`);
  if (INTERNAL.test(told)) problems.push(`uses an internal word: ${INTERNAL.exec(told)![0]}`);
  if (told.trimEnd().split('\n').length > MOST_LINES) problems.push('is too long');
  if (/^haft: .*(?:did you mean|usage: |\(see ).*\n {2}Try: /m.test(told))
    problems.push('gives advice twice');
  return problems;
}
