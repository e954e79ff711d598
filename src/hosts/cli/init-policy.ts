// Owns: the haft.yaml that `haft init` writes, for each template, and the plain words that say what it allows.
// Not here: looking at the folder (init-projects.ts), writing the file (commands/init.ts), and which files people execute (contract).
import { EXECUTED_UNASKED, type ExecutedFiles } from '../../contract/executed-files.ts';
import { type FoundKind, type FoundProjects, PROJECT_KINDS } from './init-projects.ts';

export type Style = 'usual' | 'ask' | 'read-only';

export interface Template {
  readonly style: Style;
  readonly help: string;
}

/** Beside these each kind of project is one, whatever the folder looks like. */
export const TEMPLATES: Readonly<Record<string, Template>> = {
  auto: { style: 'usual', help: 'what the folder looks like' },
  ask: { style: 'ask', help: 'the same, but every change and every command waits for your approval' },
  'read-only': { style: 'read-only', help: 'tools read files, and change and run nothing' },
};

export const TEMPLATE_NAMES: readonly string[] = [
  ...Object.keys(TEMPLATES),
  ...PROJECT_KINDS.map(({ id }) => id),
];

/** What only looks. Options that would run or write something are refused when a line is taken apart. */
const READING = [
  '^(cd|echo|printf|pwd|test|true|false|exit|seq|date|sleep)(\\s|$)',
  '^(ls|tree|stat|file|du|df|realpath|readlink|basename|dirname|which)(\\s|$)',
  '^(cat|head|tail|wc|nl|od|xxd|strings|md5sum|sha1sum|sha256sum|cksum)(\\s|$)',
  '^(grep|egrep|fgrep|rg|find|diff|cmp|comm|cut|tr|sort|uniq|jq)(\\s|$)',
  '^git (status|diff|log|show|blame|branch|describe|rev-parse|ls-files|ls-tree|cat-file|shortlog|grep)(\\s|$)',
];

/** Tools that change nothing; with the template `ask` all others wait for a person. */
const READING_TOOLS = ['artifact_get', 'artifact_list', 'artifact_preview', 'file_read', 'fs_list', 'grep'];

/** Text of YAML, ending in a line break. */
export function renderPolicy(kinds: readonly FoundKind[], style: Style = 'usual'): string {
  const lines = [
    '# What tools may do here. haft policy check reads it; haft policy explain TOOL JSON says what decides a call.',
    ...HEADS[style],
    'version: 1',
    '',
    ...(style === 'ask' ? renderAsking() : []),
    ...(style === 'read-only' ? [] : renderCommands(kinds)),
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
    ...(style === 'read-only'
      ? ['    # Nothing is changed.', '    - { path: "**", write: deny }']
      : renderExecuted(kinds)),
  ];
  return `${lines.join('\n')}\n`;
}

const HEADS: Readonly<Record<Style, readonly string[]>> = {
  usual: [
    '# Without a line that grants it there is no network, no shell and no push.',
    '#',
    '# What remains: whoever may write a source file and may run the tests runs what they wrote, inside the sandbox: on',
    '# the files of this folder, without network, and without what is denied below.',
  ],
  ask: ['# Every change and every command waits for a person: haft approvals list.'],
  'read-only': [
    '# Tools may read. There is no line that lets them change a file, run a command or reach a host.',
  ],
};

const renderAsking = (): readonly string[] => [
  '# What a rule does not name is asked about.',
  'tools:',
  '  default: ask',
  '  rules:',
  ...READING_TOOLS.map((tool) => `    - { tool: ${tool}, decision: allow }`),
  '',
];

function renderCommands(kinds: readonly FoundKind[]): readonly string[] {
  const commands = new Set(kinds.flatMap(({ kind }) => kind.commands));
  return [
    '# Shell commands that may run, as regular expressions over one simple command. Single quotes keep \\s as it is.',
    'shell_allow:',
    '  # Those that people expect to read with.',
    ...READING.map((pattern) => `  - '${pattern}'`),
    ...(commands.size > 0 ? [`  # ${kinds.map(({ kind }) => kind.name).join(', ')}`] : []),
    ...[...commands].map((name) => (name.startsWith('^') ? `  - '${name}'` : `  - '^${name}(\\s|$)'`)),
    '',
  ];
}

function renderExecuted(kinds: readonly FoundKind[]): readonly string[] {
  const generated = new Set(
    kinds.flatMap(({ kind, folders }) =>
      (kind.generated ?? []).map((name) => (folders.every((one) => one === '') ? name : `**/${name}`)),
    ),
  );
  return [
    '    # People and their tools execute these later, outside of the sandbox. package.json, Makefile and the like are not',
    '    # here, since agents edit them all day: the answer and the audit say that people will execute them.',
    ...EXECUTED_UNASKED.flatMap(({ why, globs, ...kind }) => [
      `    # ${capital(why)}.`,
      ...globs.map((glob) => ruleFor(glob, kind)),
    ]),
    ...(generated.size > 0
      ? ['    # What programs make.', ...[...generated].map((glob) => ruleFor(glob, { installed: true }))]
      : []),
  ];
}

/** What programs install may hold `.pem` and `.env` files that are nobody's secret: `read: allow` lets programs see them. */
function ruleFor(glob: string, { installed, secret }: Pick<ExecutedFiles, 'installed' | 'secret'>): string {
  if (installed) return `    - { path: "${glob}", read: allow, write: ask, programs: allow }`;
  return secret
    ? `    - { path: "${glob}", read: deny, write: ask }`
    : `    - { path: "${glob}", write: ask }`;
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

// ------------------------------------------------------------------------------------------ in words

/** What the policy allows and what it does not, for the person who ran `haft init`. */
export function describePolicy(found: FoundProjects, style: Style): string {
  const rows: (readonly [string, string])[] = [];
  const secrets = 'reading .env files and *.pem keys';
  if (style === 'read-only')
    rows.push(
      ['Allowed:', 'reading files'],
      ['Not allowed:', `changing files, commands, network, ${secrets}`],
    );
  else {
    const asks = style === 'ask';
    const reading = 'commands that read (ls, cat, grep, find, git log, …)';
    const work = found.kinds.map((one) => describeKind(one, found));
    const allowed = ['reading files'];
    if (!asks) allowed.push('changing files', reading, ...work);
    const executed = 'changing files that run code for you (.npmrc, .vscode, git hooks, CI workflows, …)';
    const asked = asks ? ['changing files', reading, ...work] : [executed];
    rows.push(...column('Allowed:', allowed), ...column('Asks you first:', asked));
    rows.push(['Not allowed:', `other commands, network, git push, ${secrets}`]);
  }
  return rows.map(([head, text]) => `  ${head.padEnd(16)}${text}\n`).join('');
}

const column = (head: string, texts: readonly string[]): (readonly [string, string])[] =>
  texts.map((text, at) => [at === 0 ? head : '', text]);

const MOST_SHOWN = 6;

function describeKind({ kind, folders }: FoundKind, { scripts }: FoundProjects): string {
  const programs = kind.commands.filter((name) => !name.startsWith('^'));
  const below = folders.filter((one) => one !== '');
  const where = folders.includes('') ? '' : ` in ${listed(below.filter(isPlain), below.length)}`;
  const named = kind.id === 'node' && scripts.names.length > 0 ? '; scripts: ' : '';
  return `${kind.name}${where}: ${listed(programs)}${named}${named && listed(scripts.names, scripts.all)}`;
}

/** What can be shown as it is: a folder can have any name. */
const isPlain = (name: string): boolean => /^[\w@.+ /-]{1,60}$/.test(name);

function listed(names: readonly string[], all = names.length): string {
  const shown = names.slice(0, MOST_SHOWN);
  return all > shown.length ? [...shown, `… (${all} in all)`].join(', ') : shown.join(', ');
}
