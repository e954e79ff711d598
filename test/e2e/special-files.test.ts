// Owns: the proof that a pipe, a device or a folder in the place of a file that Haft reads of a workspace is told, never waited for.
// Refuses: files that a person names on the command line, which may well be pipes; and `.haft` itself (bad-state.test.ts).
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packFiles } from '../../src/adapters/pack-for-tests.ts';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** Far beyond anything but a wait without end. */
const HANG_MS = 120_000;
const EXAMPLE = join(import.meta.dirname, '../../examples/toolpacks/text_stats');

const OTHERS: Readonly<Record<string, (path: string) => void>> = {
  'a folder': (path) => void mkdirSync(path),
  'a link to a device without end': (path) => symlinkSync('/dev/zero', path),
};

const FILES = packFiles(
  [['p.x', { kind: 'python', module: 'tools:x' }, { inputSchema: { $ref: 'schemas/in.json' } }]],
  {
    'tools.py': 'import helper\ndef x(input): return {}\n',
    'helper.py': 'a = 1\n',
    'schemas/in.json': '{"type":"object"}',
  },
);
const POLICY = `version: 1
packs:
  - packs/p
  - packs/t
  - { name: hub, stdio: { command: [node, srv/hub.mjs] } }
  - { name: far, mcp: { command: [node, mods/node_modules/far/cli.mjs] } }
`;

const CHECK = ['toolpack', 'check', 'packs/t', '--no-images'];
const LIST = ['tools', 'list'];

/** Which commands read it, and what they say together of a pipe there. */
const PLACES: Readonly<
  Record<string, { readonly commands: readonly (readonly string[])[]; readonly says: RegExp }>
> = {
  'packs/p/p.x.tool.yaml': {
    commands: [['tools', 'check', 'packs/p'], LIST],
    says: /p\.x\.tool\.yaml:1:1: error file\.not_regular: It is not a regular file/,
  },
  'packs/p/schemas/in.json': {
    commands: [['tools', 'check', 'packs/p'], LIST],
    says: /"schemas\/in\.json" names a file that is not a regular file/,
  },
  'packs/p/tools.py': {
    commands: [
      ['call', 'p.x', '{}'],
      ['tools', 'check', 'packs/p'],
    ],
    says: /script\.unusable: .*"tools\.py" is not a regular file/,
  },
  'packs/p/helper.py': {
    commands: [['call', 'p.x', '{}'], LIST],
    says: /"helper\.py" is neither a file nor a folder/,
  },
  'packs/t/package.json': { commands: [CHECK, LIST], says: /package\.json:1:1: .* It is not a regular file/ },
  'packs/t/toolpack.ts': { commands: [CHECK, LIST], says: /"toolpack\.ts" is neither a file nor a folder/ },
  'packs/t/node_modules/dep/package.json': {
    commands: [CHECK, LIST],
    says: /node_modules\/dep\/package\.json:1:1: error toolpack\.dependency: It cannot be read/,
  },
  'packs/t/calls/first.json': {
    commands: [CHECK],
    says: /Cannot take calls\/first\.json: it is not a regular file/,
  },
  'packs/t/calls/first.txt': {
    commands: [CHECK],
    says: /"file:first\.txt" holds, or is, what is neither a file nor a folder/,
  },
  'srv/hub.mjs': {
    commands: [
      ['call', 'hub.x', '{}'],
      ['tools', 'lock'],
    ],
    says: /Cannot start "srv\/hub\.mjs": it is neither a file nor a folder/,
  },
  'mods/node_modules/far/cli.mjs': {
    commands: [['call', 'far.x', '{}'], LIST],
    says: /far\/cli\.mjs": it is neither a file nor a folder/,
  },
  'mods/node_modules/far/package.json': { commands: [['tools', 'lock'], LIST], says: /far/ },
  'haft.lock': {
    commands: [['tools', 'lock'], LIST],
    says: /Cannot read haft\.lock: it is not a regular file/,
  },
  'haft.yaml': {
    commands: [LIST, ['policy', 'check'], ['toolpack', 'new', 'fresh']],
    says: /haft\.yaml:1:1: error file\.not_regular: It is not a regular file/,
  },
};

describe('what is no file in the place of one', () => {
  let workspace: Workspace;
  const aside = () => `${workspace.root}.aside`;
  before(() => {
    workspace = makeWorkspace({
      ...FILES,
      'haft.yaml': POLICY,
      'srv/hub.mjs': 'process.exit(3);\n',
      'mods/node_modules/far/package.json': '{"name":"far","dependencies":{}}',
      'mods/node_modules/far/cli.mjs': 'process.exit(3);\n',
    });
    cpSync(EXAMPLE, workspace.path('packs/t'), { recursive: true });
    const manifest = JSON.parse(readFileSync(workspace.path('packs/t/package.json'), 'utf8'));
    workspace.put('packs/t/package.json', JSON.stringify({ ...manifest, dependencies: { dep: '1.0.0' } }));
    workspace.put('packs/t/node_modules/dep/package.json', '{"name":"dep","version":"1.0.0"}');
    trustForTests(workspace.root);
  });
  after(() => {
    rmSync(aside(), { recursive: true, force: true });
    workspace.remove();
  });

  const run = (args: readonly string[]) => {
    const { signal, stdout, stderr } = spawnSync(process.execPath, [...NODE_ARGS, ...args], {
      cwd: workspace.root,
      encoding: 'utf8',
      timeout: HANG_MS,
      killSignal: 'SIGKILL',
    });
    assert.equal(signal, null, `haft ${args.join(' ')} waits`);
    return `${stdout}${stderr}`.replaceAll('\\"', '"');
  };
  const instead = (place: string, make: (path: string) => void, use: () => void) => {
    const path = workspace.path(place);
    const isThere = existsSync(path);
    if (isThere) renameSync(path, aside());
    try {
      make(path);
      use();
    } finally {
      rmSync(path, { recursive: true, force: true });
      if (isThere) renameSync(aside(), path);
    }
  };

  for (const [place, { commands, says }] of Object.entries(PLACES)) {
    it(`a pipe in the place of ${place} is told at once`, () =>
      instead(
        place,
        (path) => void execFileSync('mkfifo', [path]),
        () => {
          assert.match(commands.map(run).join(''), says);
        },
      ));
    for (const [what, make] of Object.entries(OTHERS))
      it(`${what} in the place of ${place} is not waited for`, () =>
        instead(place, make, () => void run(commands[0]!)));
  }
});
