// Owns: the kinds of project that `haft init` knows, as data, and finding them in a folder and the folders of a monorepo.
// Not here: the policy that comes of it (init-policy.ts). Names in the folder never become part of a grant: only this table does.
import { type Dirent, opendirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../../base/is-record.ts';
import { withRegular } from '../../loader/read-regular.ts';

export interface ProjectKind {
  /** What `--template` calls it. */
  readonly id: string;
  readonly name: string;
  /** Names of files of which one tells this kind of project; `*.x` is any with that ending. */
  readonly marks: readonly string[];
  /** Names of programs, or whole patterns, which begin with `^`. */
  readonly commands: readonly string[];
  /** Folders that programs make: tools may read them, and need not write them. */
  readonly generated?: readonly string[];
}

/** Programs of a folder are named by their path. */
const programsIn = (folder: string): string => `^(\\./)?${folder}/[A-Za-z0-9_.-]+(\\s|$)`;

export const PROJECT_KINDS: readonly ProjectKind[] = [
  {
    id: 'node',
    name: 'Node.js',
    marks: ['package.json'],
    commands: ['npm', 'npx', 'node', programsIn('node_modules/\\.bin')],
  },
  { id: 'pnpm', name: 'pnpm', marks: ['pnpm-lock.yaml', 'pnpm-workspace.yaml'], commands: ['pnpm'] },
  { id: 'yarn', name: 'Yarn', marks: ['yarn.lock', '.yarnrc.yml'], commands: ['yarn'] },
  { id: 'bun', name: 'Bun', marks: ['bun.lock', 'bun.lockb', 'bunfig.toml'], commands: ['bun', 'bunx'] },
  { id: 'deno', name: 'Deno', marks: ['deno.json', 'deno.jsonc', 'deno.lock'], commands: ['deno'] },
  {
    id: 'rust',
    name: 'Rust',
    marks: ['Cargo.toml'],
    commands: ['cargo', 'rustc', 'rustfmt'],
    generated: ['target'],
  },
  {
    id: 'python',
    name: 'Python',
    marks: ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile'],
    commands: [
      ...[
        'python',
        'python3',
        'pip',
        'pip3',
        'pytest',
        'ruff',
        'mypy',
        'black',
        'isort',
        'flake8',
        'pyright',
      ],
      programsIn('(\\.venv|venv|env)/bin'),
    ],
  },
  { id: 'uv', name: 'uv', marks: ['uv.lock', 'uv.toml'], commands: ['uv', 'uvx'] },
  { id: 'poetry', name: 'Poetry', marks: ['poetry.lock', 'poetry.toml'], commands: ['poetry'] },
  { id: 'tox', name: 'tox', marks: ['tox.ini'], commands: ['tox'] },
  { id: 'nox', name: 'nox', marks: ['noxfile.py'], commands: ['nox'] },
  {
    id: 'go',
    name: 'Go',
    marks: ['go.mod', 'go.work'],
    commands: ['go', 'gofmt', 'goimports', 'golangci-lint'],
  },
  {
    id: 'java',
    name: 'Java',
    marks: ['pom.xml', 'build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
    commands: ['mvn', 'gradle', '^\\./(mvnw|gradlew)(\\s|$)'],
    generated: ['target', 'build'],
  },
  { id: 'dotnet', name: '.NET', marks: ['*.sln', '*.slnx', '*.csproj', '*.fsproj'], commands: ['dotnet'] },
  {
    id: 'php',
    name: 'PHP',
    marks: ['composer.json'],
    commands: ['php', 'composer', programsIn('vendor/bin')],
    generated: ['vendor'],
  },
  { id: 'ruby', name: 'Ruby', marks: ['Gemfile'], commands: ['bundle', 'rake', 'ruby', 'rspec', 'rubocop'] },
  { id: 'elixir', name: 'Elixir', marks: ['mix.exs'], commands: ['mix', 'elixir'] },
  {
    id: 'cpp',
    name: 'C or C++',
    marks: ['CMakeLists.txt', 'meson.build'],
    commands: ['cmake', 'ctest', 'ninja', 'meson', 'clang-format'],
  },
  { id: 'make', name: 'make', marks: ['Makefile', 'makefile', 'GNUmakefile'], commands: ['make'] },
  { id: 'just', name: 'just', marks: ['justfile', '.justfile', 'Justfile'], commands: ['just'] },
];

export interface FoundKind {
  readonly kind: ProjectKind;
  /** Folders in which it was found, relative to the workspace; '' is the workspace itself. */
  readonly folders: readonly string[];
}

export interface FoundProjects {
  readonly kinds: readonly FoundKind[];
  /** Scripts of package.json of the workspace that can be named as they are, and how many there are. */
  readonly scripts: { readonly names: readonly string[]; readonly all: number };
  /** There was more than is looked at. */
  readonly isPartial: boolean;
}

/** So that an archive of everything is not walked through. */
const MOST_FOLDERS = 1000;
const MOST_ENTRIES = 20_000;
const DEEPEST = 3;
/** What is installed or made there is no project of this folder. */
const PASSED_OVER = new Set([
  ...['node_modules', 'vendor', 'third_party', 'target', 'build', 'dist', 'out', 'venv', 'env'],
  ...['__pycache__', 'site-packages', 'testdata', 'fixtures', 'coverage'],
]);

/** Links are not followed, and nothing is executed. */
export function findProjects(folder: string): FoundProjects {
  const found = new Map<ProjectKind, string[]>();
  let isPartial = false;
  const open: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
  for (let at = 0; at < open.length && at < MOST_FOLDERS; at++) {
    const { path, depth } = open[at]!;
    const entries = entriesOf(join(folder, path));
    isPartial ||= entries.length === MOST_ENTRIES;
    const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    for (const kind of PROJECT_KINDS)
      if (kind.marks.some((mark) => isIn(mark, names))) found.set(kind, [...(found.get(kind) ?? []), path]);
    if (depth === DEEPEST) continue;
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.') && !PASSED_OVER.has(entry.name))
        open.push({ path: join(path, entry.name), depth: depth + 1 });
  }
  const kinds = PROJECT_KINDS.flatMap((kind) => {
    const folders = found.get(kind);
    return folders ? [{ kind, folders }] : [];
  });
  return {
    kinds,
    scripts: scriptsOf(join(folder, 'package.json')),
    isPartial: isPartial || open.length > MOST_FOLDERS,
  };
}

const isIn = (mark: string, names: readonly string[]): boolean =>
  mark.startsWith('*') ? names.some((name) => name.endsWith(mark.slice(1))) : names.includes(mark);

function entriesOf(path: string): readonly Dirent[] {
  const entries: Dirent[] = [];
  try {
    const folder = opendirSync(path);
    try {
      for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
        if (entries.length === MOST_ENTRIES) break;
        entries.push(entry);
      }
    } finally {
      folder.closeSync();
    }
  } catch {
    // What cannot be listed has no project that could be built here.
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const MOST_BYTES = 1024 * 1024;

/** Only for a person to read: what they are called is granted to nobody. */
function scriptsOf(file: string): FoundProjects['scripts'] {
  try {
    const text = withRegular(file, (descriptor, { size }) =>
      size > MOST_BYTES ? '' : readFileSync(descriptor, 'utf8'),
    );
    const { scripts } = JSON.parse(text) as { readonly scripts?: unknown };
    const names = isRecord(scripts) ? Object.keys(scripts) : [];
    return { names: names.filter((name) => /^[A-Za-z][\w:.-]{0,30}$/.test(name)), all: names.length };
  } catch {
    return { names: [], all: 0 };
  }
}
