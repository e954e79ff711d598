// Owns: the haft.yaml that `haft init` writes: the commands of each kind of project, and rules that hold in every folder.
// Not here: looking at the folder and writing the file (commands/init.ts), and which files people execute (contract).
import { EXECUTED_UNASKED, type ExecutedFiles } from '../../contract/executed-files.ts';

export interface ProjectKind {
  readonly name: string;
  /** Files of which one tells this kind of project. */
  readonly marks: readonly string[];
  /** Names of programs, or whole patterns, which begin with `^`. */
  readonly commands: readonly string[];
  /** Folders that programs make: tools may read them, and need not write them. */
  readonly generated: readonly string[];
}

/** Programs of a venv are named by their path. */
const VENV_PROGRAMS = '^(\\./)?(\\.venv|venv|env)/bin/[A-Za-z0-9_.-]+(\\s|$)';

export const PROJECT_KINDS: readonly ProjectKind[] = [
  { name: 'Node.js', marks: ['package.json'], commands: ['npm', 'npx', 'node'], generated: [] },
  { name: 'Rust', marks: ['Cargo.toml'], commands: ['cargo', 'rustfmt'], generated: ['target'] },
  {
    name: 'Python',
    marks: ['pyproject.toml', 'setup.py', 'requirements.txt'],
    commands: ['python', 'python3', 'pip', 'pip3', 'pytest', 'ruff', 'mypy', VENV_PROGRAMS],
    generated: [],
  },
  { name: 'Go', marks: ['go.mod'], commands: ['go', 'gofmt'], generated: [] },
  {
    name: 'Java',
    marks: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
    commands: ['mvn', 'gradle'],
    generated: ['target', 'build'],
  },
  { name: 'PHP', marks: ['composer.json'], commands: ['php', 'composer'], generated: ['vendor'] },
  { name: 'Ruby', marks: ['Gemfile'], commands: ['bundle', 'rake', 'ruby'], generated: [] },
  { name: 'C or C++', marks: ['CMakeLists.txt'], commands: ['cmake', 'ctest'], generated: [] },
  { name: 'make', marks: ['Makefile', 'makefile', 'GNUmakefile'], commands: ['make'], generated: [] },
];

/** What only looks. Options that would run or write something are refused when a line is taken apart. */
const READING = [
  '^(cd|echo|printf|pwd|test|true|false|exit|seq|date|sleep)(\\s|$)',
  '^(ls|tree|stat|file|du|df|realpath|readlink|basename|dirname|which)(\\s|$)',
  '^(cat|head|tail|wc|nl|od|xxd|strings|md5sum|sha1sum|sha256sum|cksum)(\\s|$)',
  '^(grep|egrep|fgrep|rg|find|diff|cmp|comm|cut|tr|sort|uniq|jq)(\\s|$)',
  '^git (status|diff|log|show|blame|branch|describe|rev-parse|ls-files|ls-tree|cat-file|shortlog|grep)(\\s|$)',
];

/** Text of YAML, ending in a line break. */
export function renderPolicy(kinds: readonly ProjectKind[]): string {
  const commands = [...new Set(kinds.flatMap((kind) => kind.commands))];
  const generated = [...new Set(kinds.flatMap((kind) => kind.generated))];
  const lines = [
    '# What tools may do here. haft policy check reads it; haft policy explain TOOL JSON says what decides a call.',
    '# Without a line that grants it there is no network, no shell and no push.',
    '#',
    '# What remains: whoever may write a source file and may run the tests runs what they wrote, inside the sandbox: on',
    '# the files of this folder, without network, and without what is denied below.',
    'version: 1',
    '',
    '# Shell commands that may run, as regular expressions over one simple command. Single quotes keep \\s as it is.',
    'shell_allow:',
    '  # Those that people expect to read with.',
    ...READING.map((pattern) => `  - '${pattern}'`),
    ...(commands.length > 0 ? [`  # ${kinds.map(({ name }) => name).join(', ')}`] : []),
    ...commands.map((name) => (name.startsWith('^') ? `  - '${name}'` : `  - '^${name}(\\s|$)'`)),
    '',
    '# Hosts that may be reached: ["registry.example.org", "*.example.org"]',
    'network:',
    '  allowed_domains: []',
    '',
    '# Of the rules that match a path the strictest wins. What is asked about or denied is closed to programs as well,',
    '# unless the rule says programs: allow.',
    'paths:',
    '  rules:',
    '    # Secrets. (.envrc is below: [!r] leaves it out here.)',
    ...['**/.env', '**/.env[!r]*', '**/*.pem'].map(
      (glob) => `    - { path: "${glob}", read: deny, write: deny }`,
    ),
    '    # People and their tools execute these later, outside of the sandbox. package.json, Makefile and the like are not',
    '    # here, since agents edit them all day: the answer and the audit say that people will execute them.',
    ...EXECUTED_UNASKED.flatMap(({ why, globs, ...kind }) => [
      `    # ${capital(why)}.`,
      ...globs.map((glob) => ruleFor(glob, kind)),
    ]),
    ...(generated.length > 0
      ? ['    # What programs make.', ...generated.map((glob) => ruleFor(glob, { installed: true }))]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** What programs install may hold `.pem` and `.env` files that are nobody's secret: `read: allow` lets programs see them. */
function ruleFor(glob: string, { installed, secret }: Pick<ExecutedFiles, 'installed' | 'secret'>): string {
  if (installed) return `    - { path: "${glob}", read: allow, write: ask, programs: allow }`;
  return secret
    ? `    - { path: "${glob}", read: deny, write: ask }`
    : `    - { path: "${glob}", write: ask }`;
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
