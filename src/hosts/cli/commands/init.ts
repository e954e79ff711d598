// Owns: `haft init`: a haft.yaml that lets this folder's usual commands run, and nothing else.
// Refuses: to overwrite one that is there.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../../contract/errors.ts';
import type { Command } from '../command.ts';

interface Kind {
  readonly name: string;
  /** Files of which one tells this kind of project. */
  readonly marks: readonly string[];
  readonly commands: readonly string[];
  /** Folders that are made, not written: tools may read them, and need not write them. */
  readonly generated: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    name: 'Node.js',
    marks: ['package.json'],
    commands: ['npm', 'npx', 'node'],
    generated: ['node_modules/**'],
  },
  { name: 'Rust', marks: ['Cargo.toml'], commands: ['cargo', 'rustfmt'], generated: ['target/**'] },
  {
    name: 'Python',
    marks: ['pyproject.toml', 'setup.py', 'requirements.txt'],
    commands: ['python3', 'pytest', 'ruff', 'mypy'],
    generated: [],
  },
  { name: 'Go', marks: ['go.mod'], commands: ['go', 'gofmt'], generated: [] },
  {
    name: 'Java',
    marks: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
    commands: ['mvn', 'gradle'],
    generated: ['target/**', 'build/**'],
  },
  { name: 'PHP', marks: ['composer.json'], commands: ['php', 'composer'], generated: ['vendor/**'] },
  { name: 'Ruby', marks: ['Gemfile'], commands: ['bundle', 'rake', 'ruby'], generated: [] },
  { name: 'C or C++', marks: ['CMakeLists.txt'], commands: ['cmake', 'ctest'], generated: [] },
  { name: 'make', marks: ['Makefile', 'makefile', 'GNUmakefile'], commands: ['make'], generated: [] },
];

export const command: Command = {
  summary: 'Write a haft.yaml for this folder',
  usage: '',
  description:
    'Looks at the folder (package.json, Cargo.toml, pyproject.toml, go.mod, …) and lets its usual commands run.',
  examples: ['haft init', 'haft init --workspace ~/project'],
  positionals: [0, 0],
  async run({ flags, io, json }) {
    const folder = (flags.workspace as string | undefined) ?? process.cwd();
    const file = join(folder, 'haft.yaml');
    const kinds = KINDS.filter(({ marks }) => marks.some((mark) => existsSync(join(folder, mark))));
    try {
      writeFileSync(file, render(kinds), { flag: 'wx' });
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw fail('path.exists', 'Cannot write haft.yaml: there is one already');
      if (code === 'ENOENT') throw fail('usage', `Cannot use workspace ${folder}: there is no such folder`);
      if (code === 'EACCES' || code === 'EROFS')
        throw fail('path.denied_by_os', 'Cannot write haft.yaml: the folder is not writable');
      throw thrown;
    }
    const names = kinds.map(({ name }) => name);
    if (json) io.out(`${JSON.stringify({ written: 'haft.yaml', kinds: names })}\n`);
    else
      io.out(
        `Wrote haft.yaml (${names.length > 0 ? names.join(', ') : 'no known kind of project'}). Try: haft call fs_list\n`,
      );
    return 0;
  },
};

function render(kinds: readonly Kind[]): string {
  const commands = [...new Set(kinds.flatMap((kind) => kind.commands))];
  const generated = [...new Set(kinds.flatMap((kind) => kind.generated))];
  const lines = [
    '# What tools may do here. haft policy check reads it; haft policy explain TOOL JSON says what decides a call.',
    '# Without a line that grants it there is no network, no shell and no push.',
    'version: 1',
    '',
    '# Shell commands that may run, as regular expressions over one simple command. Single quotes keep \\s as it is.',
    'shell_allow:',
    "  - '^(cd|echo|pwd|test|true|false|exit)(\\s|$)'",
    ...commands.map((name) => `  - '^${name}(\\s|$)'`),
    '',
    '# Hosts that may be reached: ["registry.example.org", "*.example.org"]',
    'network:',
    '  allowed_domains: []',
    '',
    'paths:',
    '  rules:',
    '    - { path: "**/.env*", read: deny, write: deny }',
    '    - { path: "**/*.pem", read: deny, write: deny }',
    ...generated.map((glob) => `    - { path: "${glob}", write: ask }`),
  ];
  return `${lines.join('\n')}\n`;
}
