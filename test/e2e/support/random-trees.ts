// Owns: a process that makes random trees of modes, links, mounts and nested workspaces, lets a program try everything in
// each, and says what got through. Root mounts in them: it must have mounts of its own, which end with it.
// Refuses: to ask the code under test what is denied: it knows from the names that it gave.
// usage: random-trees.ts COUNT
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createRuntime, type DefaultRuntime } from '../../../src/index.ts';
import { makeWorkspace } from './workspace.ts';

const POLICY = `version: 1
shell_allow: ['^bash try\\.sh$']
paths:
  rules:
    - {path: '**/.env', read: deny, write: deny}
    - {path: '**/*.pem', write: deny}
    - {path: frozen, write: deny}
    - {path: 'absent/**', write: deny}
`;

/** One line of output: what got through, if anything. */
export interface TreeReport {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly ended: string;
}

const FOLDERS = ['a', 'b', 'c', 'node_modules', '.git', '.haft', '.env', 'frozen', 'store', 'x.pem'];
const FILES = ['plain', '.env', 'k.pem', 'haft.yaml', 'haft.lock', '.git', 'notes'];
const MODES = [0o755, 0o755, 0o755, 0o755, 0o000, 0o300, 0o400, 0o500];

interface Tree {
  readonly files: Map<string, string>;
  readonly folders: string[];
  /** What was there of what may not be made. */
  readonly before: Set<string>;
  /** Disks of their own, outer ones first. */
  readonly mounts: string[];
}

const MOUNTING = process.getuid?.() === 0;

function grow(root: string, seed: number): Tree {
  const random = generator(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const tree: Tree = { files: new Map(), folders: ['.'], before: new Set(), mounts: [] };
  const modes: [string, number][] = [];
  for (let n = 0; n < 14; n++) {
    const path = join(pick(tree.folders), pick(FOLDERS));
    if (path.split('/').length > 5 || isThere(join(root, path)) || path === '.haft') continue;
    mkdirSync(join(root, path));
    if (MOUNTING && random() < 0.2) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'haft-test', join(root, path)]);
      tree.mounts.push(path);
    }
    tree.folders.push(path);
    modes.push([path, pick(MODES)]);
  }
  for (let n = 0; n < 25; n++) {
    const path = join(pick(tree.folders), pick(FILES));
    if (isThere(join(root, path)) || path === 'haft.yaml' || path === 'haft.lock') continue;
    const text = path.endsWith('/.git')
      ? `gitdir: ../${pick(['store', 'a', 'b'])}\n`
      : `TOKEN-${seed}-${n}\n`;
    writeFileSync(join(root, path), text);
    tree.files.set(path, text);
  }
  for (let n = 0; n < 4; n++) {
    const path = join(pick(tree.folders), pick(['link', 'plain', '.git', 'k.pem']));
    if (!isThere(join(root, path)) && path !== '.git')
      symlinkSync(join(root, pick(tree.folders)), join(root, path));
  }
  for (const path of forbiddenIn(root)) tree.before.add(path);
  for (const [path, mode] of modes.reverse()) chmodSync(join(root, path), mode);
  return tree;
}

/** Everything that could be tried by name, told beforehand: what is hidden cannot be found. */
const readings = ({ files, folders }: Tree): string => `
exec 2>/dev/null
chmod -R 777 .; chmod 777 ${[...folders].map(quoted).join(' ')}
cat ${[...files.keys()].map(quoted).join(' ')}
find . -type f -exec cat {} +
mkdir /tmp/copy; cp -r ./* /tmp/copy; find /tmp/copy -type f -exec cat {} +
true
`;

const writings = ({ files, folders }: Tree): string => `
exec 2>/dev/null
chmod -R 777 .; chmod 777 ${[...folders].map(quoted).join(' ')}
for f in ${[...files.keys()].map(quoted).join(' ')}; do echo evil >> "$f"; done
rm -f ${[...files.keys()].map(quoted).join(' ')}
for d in ${folders.slice(1).map(quoted).join(' ')}; do
  mkdir -p "$d/.haft" "$d/hooks"
  for n in .env haft.yaml haft.lock new.pem .haft/x hooks/pre-commit; do echo evil > "$d/$n"; done
  mv "$d" "$d.moved" && mkdir "$d" && echo evil > "$d/.env"
done
echo evil > frozen; mkdir -p absent/deep; echo evil > absent/deep/x; echo evil > haft.lock; mkdir -p .git/hooks
find . -name .haft -prune -o -type f -exec cat {} +
true
`;

const quoted = (path: string): string => `'${path}'`;

const names = (path: string): string[] => path.split('/');
const unreadable = (path: string): boolean => names(path).some((name) => name === '.env' || name === '.haft');
const unwritable = (path: string): boolean =>
  unreadable(path) ||
  names(path)[0] === 'frozen' ||
  names(path)[0] === 'absent' ||
  names(path).some((name) => name.endsWith('.pem') || ['.git', 'haft.yaml', 'haft.lock'].includes(name));

async function attempt(runtime: DefaultRuntime, root: string, seed: number): Promise<TreeReport> {
  const tree = grow(root, seed);
  const run = (text: string) => {
    writeFileSync(join(root, 'try.sh'), text);
    return runtime.call({ tool: 'shell_exec', args: { cmd: 'bash try.sh', timeout_ms: 60_000 } });
  };
  const read = await run(readings(tree));
  const response = await run(writings(tree));
  const said = JSON.stringify(read.data ?? '');
  open(root);
  const problems: string[] = [];
  for (const [path, text] of tree.files) {
    const token = text.trim();
    if (unreadable(path) && token.startsWith('TOKEN') && said.includes(`${token}\\n`))
      problems.push(`${path} was read`);
    const now = isThere(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;
    if (unwritable(path) && now !== text) problems.push(`${path} was changed: ${now}`);
  }
  for (const path of forbiddenIn(root)) if (!tree.before.has(path)) problems.push(`${path} was made`);
  for (const path of tree.mounts.reverse()) {
    execFileSync('umount', ['-l', join(root, path)]);
    const below = entriesOf(join(root, path)).map(({ name }) => name);
    if (below.length > 0) problems.push(`${below} got below the mount on ${path}`);
  }
  const ended = [read, response].map(({ ok, errors }) => (ok ? 'ok' : errors[0]!.reason)).join(' ');
  if (!/^(?:(?:ok|policy\.quarantined|sandbox\.unfenceable|path\.protected) ?){2}$/.test(ended))
    problems.push(`it ended with ${ended}: ${JSON.stringify([...read.errors, ...response.errors])}`);
  return { seed, problems, ended };
}

/** Every path that may not be made, as it is there now. */
function forbiddenIn(root: string): string[] {
  const found: string[] = [];
  const visit = (path: string): void => {
    for (const entry of entriesOf(join(root, path))) {
      const child = path === '.' ? entry.name : `${path}/${entry.name}`;
      if (child === '.haft' || child === 'haft.yaml') continue;
      // A repository may be made below, where git would start nothing of it.
      if (unwritable(child) && !names(child).slice(1).includes('.git')) found.push(child);
      if (entry.isDirectory()) visit(child);
    }
  };
  visit('.');
  return found;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

const isThere = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
};

const open = (root: string): void => void execFileSync('chmod', ['-R', 'u+rwX', root], { stdio: 'ignore' });

function clear(root: string): void {
  open(root);
  const left = readdirSync(root).filter((name) => name !== '.haft' && name !== 'haft.yaml');
  if (left.length > 0) execFileSync('rm', ['-rf', '--', ...left.map((name) => join(root, name))]);
}

/** mulberry32: the same trees in every run. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

if (import.meta.main) {
  const workspace = makeWorkspace({ 'haft.yaml': POLICY });
  const runtime = await createRuntime({ workspace: workspace.root });
  for (let seed = Number(process.argv[3] ?? 1); seed <= Number(process.argv[2]); seed++) {
    const report = await attempt(runtime, workspace.root, seed);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    clear(workspace.root);
  }
  await runtime.close();
  workspace.remove();
}
