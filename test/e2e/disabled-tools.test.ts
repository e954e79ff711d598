// Owns: the proof that a tool which cannot be used as things are is listed as disabled, with what would let it be used.
// Refuses: to show it to those who could only call it in vain: MCP clients do not see it.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { packFiles } from '../../src/adapters/pack-for-tests.ts';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { eventually } from '../support/eventually.ts';
import { haft, type Ran } from './support/haft.ts';
import { startMcp } from './support/mcp-lines.ts';
import { startServer } from './support/server.ts';
import { makeWorkspace } from './support/workspace.ts';

const TOKEN = 'correct-horse-battery-staple';
const PYTHON = `
import os
def secretive(input): return {"length": len(os.environ["GH_TOKEN"]), "said": os.environ["GH_TOKEN"]}
def plain(input): return {}
`;
const python = (name: string) => ({ kind: 'python', module: `tools:${name}` });
const FILES = packFiles(
  [
    ['p.plain', python('plain')],
    ['p.secretive', python('secretive'), { credentials: { github: { env: { GH_TOKEN: 'token' } } } }],
    ['p.optional', python('plain'), { credentials: { gitlab: { required: false, env: { GL: 'token' } } } }],
    ['p.jq', { kind: 'cli', cmd: ['jq', '--version'] }, { outputSchema: { type: 'string' } }],
    ['p.writes', python('plain'), { caps: { filesystem: { write: ['private'] } } }],
    [
      'p.away',
      { kind: 'http', url: 'https://api.example.org/{{ input.x }}' },
      { templating: { engine: 'jinja2' } },
    ],
    ['p.online', python('plain'), { caps: { network: ['https'] } }],
  ],
  { 'tools.py': PYTHON },
);
const POLICY = `version: 1
packs: [packs/p]
paths:
  rules: [{ path: private/**, write: deny }]
`;
/** What each disabled tool is listed with. */
const WOULD_LET: Readonly<Record<string, RegExp>> = {
  'p.secretive': /haft credentials set github$/m,
  'p.jq': /shell_allow:[\s\S]*jq/,
  'p.writes': /paths:[\s\S]*private/,
  'p.away': /allowed_domains:[\s\S]*api\.example\.org/,
  'p.online': /allowed_domains:/,
};

type Row = {
  readonly id: string;
  readonly enabled: boolean;
  readonly admit?: string;
  readonly lacks?: string[];
};

describe('a tool of an engine', () => {
  const DOCKER = ['docker_job_get'];
  const SLURM = ['slurm_job_cancel', 'slurm_job_collect', 'slurm_job_get', 'slurm_submit'];
  const CASES: readonly (readonly [
    policy: string,
    granted: readonly string[],
    disabled: readonly string[],
  ])[] = [
    ['version: 1\n', [], [...DOCKER, ...SLURM]],
    ['version: 1\nruns: { backends: [slurm] }\n', SLURM, DOCKER],
    ['version: 1\nruns: { rules: [{ tool: sort, backend: docker }] }\n', DOCKER, SLURM],
  ];
  for (const [policy, granted, disabled] of CASES) {
    it(`is shown over MCP only where policy grants its backend: ${policy.split('\n')[1] || 'nothing'}`, async () => {
      const workspace = makeWorkspace({ 'haft.yaml': policy });
      const mcp = startMcp(workspace.root, {}, ['--profile', 'all']);
      try {
        const { stdout } = await haft(['tools', 'list', '--json'], { cwd: workspace.root });
        const rows = (JSON.parse(stdout).tools as Row[]).filter(({ id }) => /^(docker|slurm)_/.test(id));
        assert.deepEqual(
          rows.filter(({ enabled }) => !enabled).map(({ id }) => id),
          disabled,
        );
        for (const { id, enabled, admit = '' } of rows)
          if (!enabled) assert.match(admit, new RegExp(`runs:\\n  backends:[\\s\\S]*${id.split('_')[0]}`));
        const { result } = await mcp.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
        const listed = (result.tools as { name: string }[]).map(({ name }) => name);
        assert.deepEqual(
          listed.filter((name) => /^(docker|slurm)_/.test(name)),
          granted,
        );
        const args = JSON.stringify({ run_id: `run_${'0'.repeat(64)}` });
        const called = await haft(['call', 'docker_job_get', args, '--json'], { cwd: workspace.root });
        const [error] = JSON.parse(called.stdout).errors;
        assert.equal(error.reason, granted === DOCKER ? 'run.unknown' : 'policy.denied');
      } finally {
        await mcp.close();
        workspace.remove();
      }
    });
  }
});

describe('a tool that cannot be used as things are', () => {
  const workspace = makeWorkspace({ ...FILES, 'haft.yaml': POLICY });
  const home = makeWorkspace();
  const env = { HOME: home.root, XDG_CONFIG_HOME: home.path('config') };
  before(() => {
    mkdirSync(workspace.path('private'));
    trustForTests(workspace.root, env);
  });
  after(() => {
    workspace.remove();
    home.remove();
  });
  const run = (args: readonly string[], stdin = ''): Promise<Ran> =>
    haft(args, { cwd: workspace.root, env, stdin });
  const ofPack = (tools: readonly Row[]) => tools.filter(({ id }) => id.startsWith('p.'));
  const disabled = (tools: readonly Row[]) =>
    ofPack(tools)
      .filter(({ enabled }) => !enabled)
      .map(({ id }) => id);
  const checkRows = (tools: readonly Row[]) => {
    assert.deepEqual(disabled(tools), Object.keys(WOULD_LET).sort());
    for (const { id, enabled, admit = '', lacks = [] } of ofPack(tools))
      if (!enabled) assert.match([admit, ...lacks].join('\n'), WOULD_LET[id] ?? /never/, id);
  };
  const call = async (tool: string) => JSON.parse((await run(['call', tool, '{}', '--json'])).stdout);

  it('is listed by the command with the line that would let it be used', async () => {
    checkRows(JSON.parse((await run(['tools', 'list', '--json'])).stdout).tools);
    const { stdout, stderr } = await run(['tools', 'list']);
    assert.match(stdout, /^p\.jq +disabled/m);
    assert.match(stdout, /^p\.plain +reads/m);
    assert.match(stderr, /p\.secretive is disabled: it needs a credential[\s\S]*haft credentials set github/);
    for (const [id, line] of Object.entries(WOULD_LET)) {
      const shown = await run(['tools', 'show', id]);
      assert.match(shown.stdout, /^\S+ \S+ \(pack p, disabled\)/);
      assert.match(shown.stderr, line, id);
    }
  });

  it('is refused with the reason, and with the same line', async () => {
    const reasons = {
      'p.secretive': 'credentials.missing',
      'p.jq': 'shell.not_allowed',
      'p.writes': 'policy.denied',
      'p.away': 'http.not_allowed',
      'p.online': 'http.not_allowed',
    };
    for (const [tool, reason] of Object.entries(reasons)) {
      const { ok, errors } = await call(tool);
      assert.deepEqual([ok, errors[0]?.reason], [false, reason], tool);
      assert.match(`${errors[0].message}\n${errors[0].details?.admit}`, WOULD_LET[tool]!, tool);
    }
    assert.equal((await call('p.optional')).ok, true);
  });

  it('is listed over HTTP, not shown over MCP, and back at both once it can be used', async () => {
    const server = await startServer(workspace.root, env);
    const mcp = startMcp(workspace.root, env);
    const ask = async (method: string, params = {}) =>
      (await mcp.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))).result;
    const overMcp = async () =>
      ((await ask('tools/list')).tools as { name: string }[])
        .map(({ name }) => name)
        .filter((name) => name.startsWith('p-'));
    const overHttp = async (): Promise<Row[]> => (await server.get('/v1/tools')).json.tools;
    try {
      await ask('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 't', version: '1' },
      });
      checkRows(await overHttp());
      assert.deepEqual(await overMcp(), ['p-optional', 'p-plain']);

      assert.equal((await run(['credentials', 'set', 'github'], TOKEN)).status, 0);
      await eventually(
        async () => !disabled(await overHttp()).includes('p.secretive'),
        'the tool to be listed over HTTP',
      );
      // A line may also be the notification that the list is another one; the next one is then the answer.
      const line = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
      await eventually(
        async () => JSON.stringify(await mcp.ask(line)).includes('"p-secretive"'),
        'the tool to be listed over MCP',
      );
      const response = (
        await server.post('/v1/call', '{"type":"ToolRequest","tool":"p.secretive","args":{}}')
      ).json;
      assert.equal(response.ok, true, JSON.stringify(response.errors));
      assert.equal(response.data.length, TOKEN.length);
      assert.ok(!JSON.stringify(response).includes(TOKEN));
    } finally {
      await server.close();
      await mcp.close();
    }
  });
});

describe('a tool that no line of haft.yaml would grant', () => {
  for (const whole of ['.', './', 'packs/..'])
    it(`is listed with the reason where it would write ${JSON.stringify(whole)}`, async () => {
      const files = packFiles([['p.whole', python('plain'), { caps: { filesystem: { write: [whole] } } }]], {
        'tools.py': PYTHON,
      });
      const workspace = makeWorkspace({ ...files, 'haft.yaml': 'version: 1\npacks: [packs/p]\n' });
      try {
        const run = (...args: string[]) => haft(args, { cwd: workspace.root });
        const why = /it holds \.haft: it belongs to Haft's own state; name the folders that are needed/;
        const listed = await run('tools', 'list', '--json');
        const row = (JSON.parse(listed.stdout).tools as (Row & { denied?: string })[]).find(
          ({ id }) => id === 'p.whole',
        );
        assert.equal(row?.enabled, false);
        assert.match(row?.denied ?? '', why);
        const text = await run('tools', 'list');
        assert.match(text.stdout, /^p\.whole +disabled/m);
        assert.match(text.stderr, why);
        assert.match((await run('tools', 'show', 'p.whole')).stderr, why);
        assert.match(JSON.parse((await run('tools', 'show', 'p.whole', '--json')).stdout).denied, why);
        assert.match((await run('call', 'p.whole', '{}')).stderr, why);
        const checked = await run('tools', 'check', 'packs/p');
        assert.equal(checked.status, 0);
        assert.match(
          checked.stderr,
          /packs\/p\/.*:\d+:\d+: warning caps\.whole_workspace: "p\.whole" is disabled/,
        );
      } finally {
        workspace.remove();
      }
    });
});
