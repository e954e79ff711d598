// Owns: the proof that the lines which a denial prints admit the very call, once a person has pasted them into haft.yaml.
// Refuses: a denial that is neither here nor in docs/denials.md with the reason why nothing can admit it.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type CallResponse,
  createRuntime,
  type DefaultRuntime,
  defineBuiltin,
  ERRORS,
  type JsonObject,
} from '../../src/index.ts';
import { loadPolicy } from '../../src/preset/load-policy.ts';
import { args, DENIALS, type Denial, get, policy, READ, type Site, shell } from './support/denials.ts';
import { haft } from './support/haft.ts';
import { paste } from './support/paste.ts';
import { makeWorkspace } from './support/workspace.ts';

const pushTool = defineBuiltin<JsonObject, JsonObject>({
  id: 'push',
  version: '1.0.0',
  contract: 'v1',
  title: 'Push',
  description: 'Would push.',
  input: { type: 'object' },
  output: { type: 'object' },
  effects: () => [{ kind: 'git', operation: 'push' }],
  run: () => ({}),
});

/** Why no line admits them. Each is told to users in docs/denials.md, in these words. */
const NEVER: Readonly<Record<string, string>> = {
  'approval.refused': 'A person has said no to this very call; `approval.pending` had the line.',
  'auth.origin': 'The request did not come by a door of this server.',
  'auth.required': 'Who has no token has no policy.',
  'credentials.missing': 'A credential is given to the tool, not granted by policy.',
  'http.downgrade': 'What was asked for in secret is not sent in the open.',
  'http.redirect_body': 'A body goes to the origin that it was meant for, and to no other.',
  'lockfile.drift':
    'Nothing may differ from haft.lock; `haft tools lock --accept` takes the difference over.',
  'path.protected': "Haft's own state and policy, and git's machinery, belong to no tool.",
  'policy.differs': 'No call was denied: `haft policy replay` found a difference.',
  'policy.quarantined':
    'The program has run, and what it made lies in .haft/quarantine; where a line would let it stay, the answer has it.',
  'policy.undeclared': 'The tool did what it had not said that it would; the tool has to be mended.',
  'policy.untrusted': 'Nobody on this machine trusts the policy yet; `haft trust` says what it grants.',
  'policy.widens': 'A session may only narrow; what it asks for has to be granted first.',
  'sandbox.fence_fell': 'The program has run; look at what was replaced meanwhile, and call again.',
  'sandbox.unfenceable':
    'A rule for a folder, or smaller roots, would let it run; which, only people can say.',
  'session.expired': 'The session has ended; open another.',
  'shell.dynamic': 'What would run is not known before it runs; write it out.',
  'shell.unparsable': 'The line cannot be read.',
  'shell.wrapper': 'The command would start another one that cannot be seen; run that one itself.',
  'tool.changed': 'The tool is another one than was accepted; `haft tools lock --accept` accepts it.',
  'tool.disabled': 'Its pack is disabled; the message says by what, and how a person enables it.',
};

interface Stage extends Site {
  readonly runtime: DefaultRuntime;
  call(one: Pick<Denial, 'tool' | 'args'>, sessionId?: string): Promise<CallResponse>;
  /** Pastes the lines into haft.yaml, which must then be one that loads, and has the runtime use it. */
  admit(lines: string): Promise<void>;
}

const servers: Server[] = [];
const ports = { port: 0, redirecting: 0 };
before(async () => {
  const listen = async (answer: Parameters<typeof createServer>[1]): Promise<number> => {
    const server = createServer({ keepAlive: false } as object, answer as never);
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  ports.port = await listen((_, response) => void response.end('hello'));
  ports.redirecting = await listen(
    (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${ports.port}/` }).end(),
  );
});
after(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))));

async function staged(
  haftYaml: ((site: Site) => string) | undefined,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const workspace = makeWorkspace({ 'secrets/key': 'k\n', 'src/x': 'x\n' });
  const beside = makeWorkspace({ f: 'f\n', 'd/f': 'f\n', 'other/f': 'f\n' });
  symlinkSync('secrets/key', workspace.path('link'));
  symlinkSync(beside.root, workspace.path('way-out'));
  symlinkSync('d', beside.path('link'));
  const site: Site = { workspace, beside, ...ports };
  workspace.put('haft.yaml', `version: 1\n${haftYaml?.(site) ?? ''}`);
  const runtime = await createRuntime({ workspace: workspace.root, tools: [pushTool] });
  try {
    await work({
      ...site,
      runtime,
      call: ({ tool, args = () => ({}) }, sessionId) => runtime.call({ tool, args: args(site), sessionId }),
      async admit(lines) {
        const text = paste(readFileSync(workspace.path('haft.yaml'), 'utf8'), lines);
        workspace.put('haft.yaml', text);
        const { value, diagnostics } = await loadPolicy(workspace.root);
        assert.ok(value, `${text}\n${JSON.stringify(diagnostics)}`);
        await runtime.policy.replace(value);
      },
    });
  } finally {
    await runtime.close();
    workspace.remove();
    beside.remove();
  }
}

const admitOf = ({ errors }: CallResponse): string | undefined =>
  errors[0]?.details?.admit as string | undefined;

describe('the lines that a denial prints admit the call', () => {
  for (const [name, denial] of Object.entries(DENIALS)) {
    it(`${denial.reason}: ${name}`, () =>
      staged(denial.policy, async ({ call, admit, workspace }) => {
        const denied = await call(denial);
        assert.equal(denied.errors[0]?.reason, denial.reason, JSON.stringify(denied));
        const lines = admitOf(denied);
        assert.ok(lines, denied.errors[0]?.message);
        await admit(lines);
        const allowed = await call(denial);
        assert.ok(
          allowed.ok,
          `${JSON.stringify(allowed.errors)}\n${readFileSync(workspace.path('haft.yaml'))}`,
        );
      }));
  }

  it('of a connection that a program tried', () => {
    const fetch = `exec 3<>/dev/tcp/127.0.0.1/3128
printf 'GET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3; cat <&3`;
    const text = "shell_allow:\n  - '^bash fetch\\.sh '\nnetwork:\n  allowed_domains:\n    - example.org\n";
    return staged(policy(text), async ({ call, admit, workspace, port }) => {
      workspace.put('fetch.sh', fetch);
      const one = { tool: 'shell_exec', args: args({ cmd: `bash fetch.sh ${port}`, allow_network: true }) };
      type Data = { readonly stdout: string; readonly connections: { outcome: string; admit?: string }[] };
      const denied = (await call(one)).data as Data;
      assert.equal(denied.connections[0]?.outcome, 'denied');
      const lines = denied.connections[0]?.admit;
      assert.ok(lines && denied.stdout.includes(lines), denied.stdout);
      await admit(lines);
      const allowed = (await call(one)).data as Data;
      assert.deepEqual([allowed.connections[0]?.outcome, allowed.connections[0]?.admit], ['done', undefined]);
      assert.match(allowed.stdout, /hello$/);
    });
  });

  it('of a tool that is listed as disabled', () =>
    staged(policy('tools:\n  default: deny\n'), async ({ runtime, admit }) => {
      const find = () => runtime.tools().find(({ contract }) => contract.id === 'grep');
      assert.equal(find()?.enabled, false);
      await admit(find()?.admit ?? '');
      assert.equal(find()?.enabled, true);
    }));

  it('as the command line prints them', () =>
    staged(DENIALS['a rule for reading']!.policy, async ({ workspace }) => {
      const read = () => haft(['call', 'file_read', '{"path":"secrets/key"}'], { cwd: workspace.root });
      const denied = await read();
      assert.equal(denied.status, ERRORS['policy.denied'].exit);
      const printed = /change the entry that is there:\n((?: {4}.*\n?)+)/.exec(denied.stderr)?.[1];
      assert.ok(printed, denied.stderr);
      const lines = printed.replaceAll(/^ {4}/gm, '');
      workspace.put('haft.yaml', paste(readFileSync(workspace.path('haft.yaml'), 'utf8'), lines));
      assert.equal((await read()).status, 0);
    }));
});

describe('a denial prints no line where none would help', () => {
  const REGISTRY = {
    version: 1,
    tools: { rules: [{ tool: 'fs_*', decision: 'deny' }] },
    limits: { max_input_bytes: 200 },
    budgets: { calls: 1 },
  };
  const CASES: Readonly<Record<string, Denial & { readonly session?: true }>> = {
    "Haft's state": { reason: 'path.protected', tool: 'file_read', args: args({ path: '.haft/haft.db' }) },
    'the policy itself': {
      reason: 'path.protected',
      tool: 'file_write',
      args: args({ path: 'haft.yaml', content: '' }),
    },
    'a repository': {
      reason: 'path.protected',
      tool: 'file_write',
      args: args({ path: '.git/x', content: '' }),
    },
    'what is protected, beside what is not': {
      reason: 'policy.denied',
      policy: policy('paths:\n  rules:\n    - path: src\n      read: deny\n'),
      tool: 'fs_copy',
      args: args({ src: 'src/x', dst: '.git/x' }),
    },
    'a folder that holds the workspace': {
      reason: 'path.outside_workspace',
      tool: 'file_read',
      args: args({ path: '../x' }),
    },
    'a link that leads out': {
      reason: 'path.outside_workspace',
      tool: 'file_read',
      args: args({ path: 'way-out/f' }),
    },
    'a program that would start beside the workspace': {
      reason: 'path.outside_workspace',
      policy: ({ beside }) => `shell_allow:\n  - '^ls'\npaths:\n  extra_roots:\n    - ${beside.root}\n`,
      tool: 'shell_exec',
      args: ({ beside }) => ({ cmd: 'ls', cwd: beside.root }),
    },
    'a redirection that leads out': {
      reason: 'path.outside_workspace',
      policy: policy("shell_allow:\n  - '^cat'\n"),
      tool: 'shell_exec',
      args: ({ beside }) => ({ cmd: `cat < ../${basename(beside.root)}/f` }),
    },
    'what is not known before it runs': { reason: 'shell.dynamic', ...shell('$x y') },
    'what cannot be read': { reason: 'shell.unparsable', ...shell('echo "open') },
    'what would start something unseen': { reason: 'shell.wrapper', ...shell('sudo ls') },
    'an address that nobody connects to': {
      reason: 'http.not_allowed',
      ...get(() => 'http://0.0.0.0/'),
    },
    'a rule of the session': { reason: 'policy.denied', tool: 'fs_list', session: true },
    'a limit of the session': {
      reason: 'input.too_large',
      policy: policy('limits:\n  max_input_bytes: 10000\n'),
      tool: 'file_write',
      args: args({ path: 'a', content: 'x'.repeat(300) }),
      session: true,
    },
  };
  for (const [name, one] of Object.entries(CASES)) {
    it(`${one.reason}: ${name}`, () =>
      staged(one.policy, async ({ call, runtime }) => {
        if (one.session) await runtime.sessions.open({ id: 'narrow', registry: REGISTRY });
        const denied = await call(one, one.session ? 'narrow' : undefined);
        assert.equal(denied.errors[0]?.reason, one.reason, JSON.stringify(denied));
        assert.equal(admitOf(denied), undefined);
      }));
  }

  it('budget.exhausted: the budget of the session', () =>
    staged(undefined, async ({ call, runtime }) => {
      await runtime.sessions.open({ id: 'narrow', registry: REGISTRY });
      assert.ok((await call(READ, 'narrow')).ok);
      const denied = await call(READ, 'narrow');
      assert.deepEqual([denied.errors[0]?.reason, admitOf(denied)], ['budget.exhausted', undefined]);
    }));
});

describe('every reason of a denial', () => {
  const reasons = Object.entries(ERRORS).filter(([, { code }]) => code === 'E_POLICY');
  // Tried where there are toolpacks: toolpack-commands.test.ts looks for the lines of an image.
  const lifted = new Set([...Object.values(DENIALS).map(({ reason }) => reason), 'image.unpinned']);

  it('has a line, or a reason why none would help', () => {
    for (const [reason] of reasons) assert.equal(lifted.has(reason), !Object.hasOwn(NEVER, reason), reason);
  });

  it('is in docs/denials.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/denials.md'), 'utf8');
    for (const [reason, why] of Object.entries(NEVER))
      assert.ok(page.includes(`| \`${reason}\` | ${why} |`), reason);
    const [withLine = ''] = page.split('## Without a line');
    for (const reason of lifted) assert.ok(withLine.includes(`\`${reason}\``), reason);
  });
});
