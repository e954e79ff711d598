// Owns: the proof that the bytes that were hashed are the bytes that run: of scripts, of what lies beside them, at every call.
// Refuses: a fake of the sandbox, and to look only at the file that a manifest names.
import assert from 'node:assert/strict';
import {
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { type LivingHost, startLivingHost } from './support/living-host.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const manifest = (id: string, execution: string, more = '') => `id: ${id}
version: 1.0.0
deterministic: false
timeoutMs: 60000
limits: { maxInputBytes: 100000, maxOutputBytes: 100000 }
inputSchema: { type: object }
outputSchema: {}
execution: ${execution}
${more}`;

const PACK = {
  'packs/p/script.tool.yaml': manifest('p.script', '{ kind: python, script: script.py }'),
  'packs/p/script.py': 'import json, helper\nprint(json.dumps("script " + helper.WORD))\n',
  'packs/p/helper.py': 'WORD = "one"\n',
  'packs/p/warm.tool.yaml': manifest('p.warm', '{ kind: python, module: "lib.warm:run", warm: true }'),
  'packs/p/lib/warm.py': 'import helper\ndef run(_):\n  return "warm " + helper.WORD\n',
  'packs/p/js.tool.yaml': manifest(
    'p.js',
    '{ kind: node, module: ./js/main.mjs }',
    'caps: { filesystem: { read: ["."] } }\n',
  ),
  'packs/p/js/main.mjs': "import { word } from './word.mjs';\nexport default () => `js ${word}`;\n",
  'packs/p/js/word.mjs': "export const word = 'one';\n",
  'packs/p/sh.tool.yaml': manifest('p.sh', '{ kind: cli, cmd: [./run.sh] }', 'caps: { subprocess: true }\n'),
  'packs/p/run.sh': '#!/bin/sh\nprintf \'"%s"\' "sh $(cat "$(dirname "$0")/word.txt")"\n',
  'packs/p/word.txt': 'one',
};
const CHANGED = {
  'packs/p/helper.py': 'WORD = "two"\n',
  'packs/p/js/word.mjs': "export const word = 'two';\n",
  'packs/p/word.txt': 'two',
};
const POLICY = 'version: 1\npacks: [packs/p]\nshell_allow: [".*"]\n';

async function withPack(use: (workspace: Workspace) => Promise<void>, files = {}): Promise<void> {
  const workspace = makeWorkspace({ 'haft.yaml': POLICY, ...PACK, ...files });
  try {
    chmodSync(workspace.path('packs/p/run.sh'), 0o755);
    await use(workspace);
  } finally {
    workspace.remove();
  }
}

const change = (workspace: Workspace) => {
  for (const [path, content] of Object.entries(CHANGED)) workspace.put(path, content);
};
const lock = async ({ root }: Workspace, ...more: readonly string[]) => {
  const ran = await haft(['tools', 'lock', ...more], { cwd: root });
  assert.equal(ran.status, 0, ran.stderr);
};
const call = async ({ root }: Workspace, tool: string) => {
  const { stdout } = await haft(['call', tool], { cwd: root });
  const { ok, data, errors } = JSON.parse(stdout);
  return ok ? data : errors[0].reason;
};
const answers = async (host: LivingHost) =>
  Promise.all(['script', 'warm', 'js', 'sh'].map(async (name) => (await host.call(`p.${name}`)).data));
const words = (word: string) => ['script', 'warm', 'js', 'sh'].map((name) => `${name} ${word}`);

describe('the code of a pack', { timeout: 180_000 }, () => {
  it('is what was accepted at every call of a host that runs, whatever becomes of the folder', () =>
    withPack(async (workspace) => {
      await lock(workspace);
      const host = await startLivingHost(workspace.root, ['--frozen']);
      try {
        const before = await host.call('p.script');
        assert.equal(before.data, 'script one', JSON.stringify(before));
        change(workspace);
        workspace.put('packs/p/script.py', 'print("\\"script two\\"")\n');
        workspace.put('packs/p/json.py', 'raise SystemExit("a module of the folder came first")\n');
        assert.deepEqual(await answers(host), words('one'));
        assert.deepEqual(await answers(host), words('one'));
      } finally {
        await host.close();
      }
      assert.equal(
        await call(workspace, 'p.warm'),
        'tool.changed',
        'the next process sees that it is another',
      );
    }));

  it('is quarantined when a module beside the script changed, and the lock says which', () =>
    withPack(async (workspace) => {
      await lock(workspace);
      assert.equal(await call(workspace, 'p.script'), 'script one');
      workspace.put('packs/p/helper.py', CHANGED['packs/p/helper.py']);
      assert.equal(await call(workspace, 'p.script'), 'tool.changed');
      const shown = await haft(['tools', 'lock'], { cwd: workspace.root });
      assert.equal(shown.status, 3);
      assert.match(shown.stdout, /~ pack p: changed\n {4}files\["helper\.py"\]\n/);
      const frozen = await haft(['tools', 'list', '--frozen'], { cwd: workspace.root });
      assert.equal(frozen.status, 3);
      await lock(workspace, '--accept');
      assert.equal(await call(workspace, 'p.script'), 'script two');
    }));

  it('is not another because Python left its bytecode there, and what is there of it does not run', () =>
    withPack(async (workspace) => {
      await lock(workspace);
      workspace.put('packs/p/__pycache__/helper.cpython-311.pyc', 'whatever');
      assert.equal(await call(workspace, 'p.script'), 'script one');
    }));

  it('is taken up by the next process where nobody locked it, and never half by one that runs', () =>
    withPack(async (workspace) => {
      const host = await startLivingHost(workspace.root);
      try {
        assert.equal((await host.call('p.script')).data, 'script one');
        change(workspace);
        assert.equal((await host.call('p.script')).data, 'script one', 'never half of it');
      } finally {
        await host.close();
      }
      assert.equal(await call(workspace, 'p.script'), 'script two');
    }));

  it('runs from no copy that somebody changed', () =>
    withPack(async (workspace) => {
      await lock(workspace);
      const host = await startLivingHost(workspace.root, ['--frozen']);
      const home = workspace.path('.haft/packs');
      const copyOf = (path: string) =>
        join(home, readdirSync(home).find((name) => !name.endsWith('.used')) ?? '', path);
      const spoil = (path: string, content: string) => {
        rmSync(copyOf(path));
        writeFileSync(copyOf(path), content);
      };
      try {
        assert.equal((await host.call('p.script')).data, 'script one');
        spoil('helper.py', 'WORD = "spoilt"\n');
        assert.equal((await host.call('p.script')).data, 'script one', 'made anew from the same folder');
        rmSync(home, { recursive: true });
        assert.equal((await host.call('p.script')).data, 'script one');
        change(workspace);
        spoil('helper.py', 'WORD = "spoilt"\n');
        assert.equal((await host.call('p.script')).reason, 'tool.changed');
      } finally {
        await host.close();
      }
    }));

  it('shows nothing that policy hides, and removes copies that nobody used for a week', () =>
    withPack(
      async (workspace) => {
        assert.equal(await call(workspace, 'p.secret'), 'hidden');
        const [first = ''] = readdirSync(workspace.path('.haft/packs')).filter(
          (name) => !name.endsWith('.used'),
        );
        const longAgo = Date.now() / 1000 - 8 * 24 * 3600;
        utimesSync(workspace.path(`.haft/packs/${first}.used`), longAgo, longAgo);
        change(workspace);
        assert.equal(await call(workspace, 'p.script'), 'script two');
        assert.ok(!readdirSync(workspace.path('.haft/packs')).some((name) => name.startsWith(first)));
      },
      {
        'haft.yaml': `${POLICY}paths: { rules: [{ path: "**/.env", read: deny, write: deny }] }\n`,
        'packs/p/.env': 'KEY=1',
        'packs/p/secret.tool.yaml': manifest('p.secret', '{ kind: python, script: secret.py }'),
        'packs/p/secret.py':
          'import os\ntry:\n  print("\\"" + open(os.path.dirname(__file__) + "/.env").read() + "\\"")\nexcept OSError:\n  print("\\"hidden\\"")\n',
      },
    ));

  it('is refused where it is the workspace itself, or larger than can be copied', async () => {
    await withPack(async (workspace) => {
      workspace.put('haft.yaml', 'version: 1\npacks: [{ path: ., name: all }]\n');
      const { status, stderr } = await haft(['tools', 'list'], { cwd: workspace.root });
      assert.notEqual(status, 0);
      assert.match(stderr, /its folder is the workspace.*put it in a folder of its own/);
    });
  });

  it('keeps links within it', () =>
    withPack(async (workspace) => {
      rmSync(workspace.path('packs/p/helper.py'));
      workspace.put('packs/p/real.py', 'WORD = "linked"\n');
      symlinkSync('real.py', workspace.path('packs/p/helper.py'));
      assert.equal(await call(workspace, 'p.script'), 'script linked');
      assert.match(readFileSync(workspace.path('packs/p/real.py'), 'utf8'), /linked/);
    }));
});

const STDIO = `import json, sys, helper
for line in sys.stdin:
  message = json.loads(line)
  if "hello" in message:
    print(json.dumps({"id": message["id"], "ok": True, "data": {"tools": [{"name": "word", "input": {}, "deterministic": True, "mutates": False}]}}), flush=True)
  else:
    print(json.dumps({"id": message["id"], "ok": True, "data": helper.WORD}), flush=True)
`;

const SERVERS = {
  'haft.yaml': `version: 1
packs:
  - { name: calc, stdio: { command: [python3, srv/calc.py] } }
  - { name: hub, mcp: { command: [node, hub.mjs] } }
  - { name: writer, mcp: { command: [node, app/server.mjs], caps: { filesystem: { write: [app/data] } } } }
`,
  'srv/calc.py': STDIO,
  'srv/helper.py': 'WORD = "one"\n',
  'hub.mjs': hubServer('Says it.'),
  'app/server.mjs': `import { writeFileSync } from 'node:fs';\nwriteFileSync('app/data/mark', 'written');\n${hubServer('Says it.')}`,
};

describe('the code of a server', { timeout: 180_000 }, () => {
  const withServers = async (use: (workspace: Workspace) => Promise<void>, files = {}) => {
    const workspace = makeWorkspace({ ...SERVERS, ...files });
    try {
      await use(workspace);
    } finally {
      workspace.remove();
    }
  };
  const said = async ({ root }: Workspace, ...args: readonly string[]) =>
    (await haft(['tools', 'lock', ...args], { cwd: root })).stdout;

  it('is pinned: its script, what lies beside it, and a script in the workspace itself', () =>
    withServers(async (workspace) => {
      await lock(workspace);
      assert.equal(await call(workspace, 'calc.word'), 'one');
      const host = await startLivingHost(workspace.root, ['--frozen']);
      try {
        workspace.put('srv/helper.py', 'WORD = "two"\n');
        workspace.put('hub.mjs', 'process.exit(1);\n');
        assert.equal((await host.call('calc.word')).data, 'one', 'started after the change');
        assert.equal((await host.call('hub.echo', { text: 'hi' })).reason, 'ok');
        assert.equal((await host.call('writer.echo', { text: 'hi' })).reason, 'ok');
        assert.equal(
          readFileSync(workspace.path('app/data/mark'), 'utf8'),
          'written',
          'what it may write is no code',
        );
      } finally {
        await host.close();
      }
      assert.equal(await call(workspace, 'calc.word'), 'tool.changed');
      workspace.put('hub.mjs', SERVERS['hub.mjs']);
      const shown = await said(workspace);
      assert.match(shown, /~ pack calc: changed\n {4}files\["srv\/helper\.py"\]\n/);
      assert.ok(!shown.includes('~ pack hub') && !shown.includes('~ pack writer'), shown);
      await lock(workspace, '--accept');
      assert.equal(await call(workspace, 'calc.word'), 'two');
    }));

  it('is in the run of a tool that a server calls deterministic', () =>
    withServers(async (workspace) => {
      assert.equal(await call(workspace, 'calc.word'), 'one');
      workspace.put('srv/helper.py', 'WORD = "two"\n');
      assert.equal(await call(workspace, 'calc.word'), 'two');
    }));

  it('is listed as not pinned where it cannot be, and never as it should be', () =>
    withServers(
      async (workspace) => {
        const written = await said(workspace);
        assert.match(written, /! not pinned: python3 of pack calc: a program of this machine\n/);
        assert.match(
          written,
          /! not pinned: what caps lets it read below \. of pack wide: it is shown as it is\n/,
        );
        const again = await said(workspace);
        assert.doesNotMatch(again, /as it should be/);
        assert.match(again, /what is not pinned may change unseen\n$/);
        const { unpinned } = JSON.parse(await said(workspace, '--json'));
        assert.deepEqual(
          unpinned.map(({ pack, what }: { pack: string; what: string }) => [pack, what]),
          [
            ['calc', 'python3'],
            ['wide', 'what caps lets it read below .'],
          ],
        );
        const shown = await haft(['tools', 'show', 'calc.word'], { cwd: workspace.root });
        assert.match(shown.stdout, /not pinned: python3 \(a program of this machine\)/);
      },
      {
        'haft.yaml': `version: 1
packs:
  - { name: calc, stdio: { command: [python3, srv/calc.py] } }
  - { name: hub, mcp: { command: [node, hub.mjs] } }
  - { name: wide, mcp: { command: [node, hub.mjs], caps: { filesystem: { read: [.] } } } }
`,
      },
    ));

  /** Says what it sees of the workspace, and of the module beside it. */
  const SPY = (module: string) => `import { readdirSync } from 'node:fs';
const word = await import('${module}').then((one) => one.word, () => 'nothing');
const seen = [readdirSync(process.cwd()).sort().join(), word].join(' ');
${hubServer('Says it.').replace('text: args.text', 'text: seen')}`;

  it('is all that is seen of the workspace, however its script is spelt, and its folder where it has one', () =>
    withServers(
      async (workspace) => {
        const spelt = {
          plain: '[node, m.mjs]',
          dot: '[node, ./m.mjs]',
          absolute: `[node, ${workspace.path('m.mjs')}]`,
          roundabout: '[node, lib/../m.mjs]',
          preloaded: '[node, --import, ./pre/a.mjs, lib/hub.mjs]',
          joined: '[node, --import=./pre/a.mjs, lib/hub.mjs]',
          required: '[node, -r, ./pre/b.cjs, lib/hub.mjs]',
          option: '[node, --disable-warning, x, lib/hub.mjs]',
          short: '[node, lib/short]',
        };
        const entries = Object.entries(spelt).map(
          ([name, command]) => `  - { name: ${name}, mcp: { command: ${command} } }\n`,
        );
        const optioned =
          '  - { name: variable, mcp: { command: [node, lib/hub.mjs], env: { set: { NODE_OPTIONS: "--import ./pre/a.mjs" } } } }\n';
        workspace.put('haft.yaml', `version: 1\npacks:\n${entries.join('')}${optioned}`);
        await lock(workspace);
        assert.match(await said(workspace), /as it should be/);
        const host = await startLivingHost(workspace.root, ['--frozen']);
        try {
          for (const path of ['sib.mjs', 'lib/sib.mjs', 'pre/word.mjs', 'pre/word.cjs'])
            workspace.put(path, "export const word = 'changed';\nthrow new Error('changed');\n");
          const seen = async (name: string) =>
            ((await host.call(`${name}.echo`, {})).data as { text: string } | undefined)?.text;
          for (const name of ['plain', 'dot', 'absolute', 'roundabout'])
            assert.equal(await seen(name), 'm.mjs nothing', name);
          for (const name of ['preloaded', 'joined', 'required', 'variable'])
            assert.equal(await seen(name), 'lib,pre one', name);
          for (const name of ['option', 'short']) assert.equal(await seen(name), 'lib one', name);
        } finally {
          await host.close();
        }
        assert.equal(await call(workspace, 'joined.echo'), 'tool.changed');
        assert.equal((await call(workspace, 'dot.echo')).text, 'm.mjs nothing');
      },
      {
        'm.mjs': SPY('./sib.mjs'),
        'sib.mjs': "export const word = 'one';\n",
        'lib/hub.mjs': SPY('./sib.mjs'),
        'lib/sib.mjs': "export const word = 'one';\n",
        'lib/short.js': "import('./hub.mjs');\n",
        'pre/a.mjs': "import './word.mjs';\n",
        'pre/word.mjs': '',
        'pre/b.cjs': "require('./word.cjs');\n",
        'pre/word.cjs': '',
      },
    ));

  it('is listed as not pinned where it can come from what caps grants', () =>
    withServers(
      async (workspace) => {
        const { unpinned } = JSON.parse(await said(workspace, '--json'));
        assert.deepEqual(
          unpinned.map(({ pack, what }: { pack: string; what: string }) => [pack, what]),
          [
            ['other', 'what caps lets it read below other'],
            ['inline', 'python3'],
            ['inline', 'what caps lets it read below .'],
          ],
        );
        assert.doesNotMatch(await said(workspace), /as it should be/);
      },
      {
        'haft.yaml': `version: 1
packs:
  - { name: other, mcp: { command: [node, lib/hub.cjs], caps: { filesystem: { read: [other] } } } }
  - { name: own, mcp: { command: [node, other/hub.mjs], caps: { filesystem: { read: [other] } } } }
  - { name: inline, stdio: { command: [python3, -c, import calc], caps: { filesystem: { read: [.] } } } }
`,
        'calc.py': STDIO,
        'helper.py': 'WORD = "one"\n',
        'lib/hub.cjs': "require('../other/o.cjs');\n",
        'other/o.cjs': "import('./hub.mjs');\n",
        'other/hub.mjs': hubServer('Says it.'),
      },
    ));

  it('may start programs where policy says which, also by the first thing that is asked', () =>
    withServers(
      async (workspace) => {
        assert.equal(await call(workspace, 'calc.word'), 'one');
        assert.match(await said(workspace), /not pinned: programs that it starts of pack calc/);
      },
      {
        'haft.yaml': `version: 1
shell_allow: [".*"]
packs: [{ name: calc, stdio: { command: [python3, -W, ignore, srv/calc.py], caps: { subprocess: true } } }]
`,
      },
    ));

  it('says why it did not start, without what it was given in secret', () =>
    withServers(
      async (workspace) => {
        const { status, stderr } = await haft(['tools', 'lock'], { cwd: workspace.root });
        assert.notEqual(status, 0);
        assert.match(
          stderr,
          /ended with code 1 before it was ready: Error.*Cannot find module '.*\/sib\.mjs'/,
        );
        workspace.put('hub.mjs', 'throw new Error("refused " + process.env.HUB_TOKEN);\n');
        const again = await haft(['tools', 'lock'], { cwd: workspace.root });
        assert.match(again.stderr, /before it was ready: Error: refused \[redacted\]/);
        assert.ok(!again.stderr.includes('open-sesame'));
      },
      {
        'haft.yaml': `version: 1
packs: [{ name: hub, mcp: { command: [node, ./hub.mjs], env: { set: { HUB_TOKEN: open-sesame } } } }]
`,
        'hub.mjs': "import './sib.mjs';\n",
        'sib.mjs': '',
      },
    ));
});
