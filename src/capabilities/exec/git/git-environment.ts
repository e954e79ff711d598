// Owns: the environment in which git, started by a line, runs no program of a repository's choosing.
// Refuses: repositories whose configuration cannot be read: what they would start is not known.
import { basename } from 'node:path';
import type { SimpleCommand } from '../../../base/shell/analysis.ts';
import { fail } from '../../../contract/errors.ts';
import { gitFolders } from '../../git-folders.ts';
import { type NamedProgram, programsOfRepository } from './repository-programs.ts';

export interface GitEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Settings whose absence shows in what git answers, each as `file: key`. */
  readonly missed: readonly string[];
}

export interface GitSite {
  /** Every `.git` that git could find, absolute. */
  readonly entries: readonly string[];
  /** The name of a path to tell, or undefined for one that git will not see. */
  nameOf(path: string): string | undefined;
  /** False where the machine's own settings and ssh are there: outside of a sandbox. */
  readonly contained: boolean;
}

/** For every program, since most start git: hooks stay away, and a folder that only looks like a repository is none. */
const ALWAYS: Settings = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'safe.bareRepository': 'explicit',
};
export const GIT_WITHOUT_SURPRISES: Readonly<Record<string, string>> = asVariables(Object.entries(ALWAYS));

type Settings = Readonly<Record<string, string>>;

/**
 * For a line that starts git itself. Another repository's hooks and settings are read by programs of its own, which know
 * nothing of this environment, so no transport reaches one on this machine.
 */
const DIRECT: Readonly<Record<string, string>> = {
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_ASKPASS: '',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_EDITOR: ':',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_PAGER: 'cat',
  GIT_SEQUENCE_EDITOR: ':',
  GIT_SSH_COMMAND: 'ssh',
  GIT_TEMPLATE_DIR: '',
  GIT_TERMINAL_PROMPT: '0',
};
const MACHINE = ['GIT_ATTR_NOSYSTEM', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM'];

/** Each one is two variables. */
const MAX_SETTINGS = 1000;

/** Whether a line starts git. */
export function startsGit(commands: readonly SimpleCommand[]): boolean {
  return commands.some(isGit);
}

export function gitEnvironment(commands: readonly SimpleCommand[], site: GitSite): GitEnvironment {
  const named = site.entries
    .flatMap((entry) => gitFolders(entry).gitDirs)
    .filter((gitDir, index, all) => all.indexOf(gitDir) === index && site.nameOf(gitDir) !== undefined)
    .flatMap(programsOfRepository);
  const reads = commands.filter(isGit).every((command) => READS.has(subcommandOf(command)));
  const settings = new Map<string, string>();
  for (const { key, file } of named) {
    if (key === undefined) throw unreadable(site, file);
    for (const [name, value] of Object.entries(withoutEffect(key, reads))) settings.set(name, value);
  }
  if (settings.size > MAX_SETTINGS)
    throw fail(
      'shell.wrapper',
      `Cannot run git: the repositories of this workspace name programs in ${settings.size} settings, over ${MAX_SETTINGS}`,
    );
  // The last one wins, and an empty helper forgets those before it.
  settings.set('credential.helper', '');
  for (const [key, value] of Object.entries(ALWAYS)) settings.set(key, value);
  const direct = site.contained
    ? DIRECT
    : Object.fromEntries(Object.entries(DIRECT).filter(([name]) => !MACHINE.includes(name)));
  return {
    env: {
      ...direct,
      ...(site.contained ? {} : { GIT_ALLOW_PROTOCOL: 'http:https:ssh' }),
      ...asVariables([...settings]),
    },
    missed: missedOf(site, named),
  };
}

/** The settings that take this one out of effect. Git fails where an empty one was needed, and says so. */
function withoutEffect(key: string, reads: boolean): Settings {
  const [, section = '', name = ''] = /^([^.]*)(?:\..*)?\.([^.]*)$/s.exec(key) ?? [];
  if (key === 'hooks') return {};
  // Lists to which nothing can be added that undoes them; GIT_ALLOW_PROTOCOL holds for where they lead.
  if (section === 'url' || section === 'protocol') return {};
  if (section === 'filter') {
    // Without its filter a file can be shown, but must not be stored.
    const required = `${key.slice(0, key.length - name.length)}required`;
    return { ...(name === 'required' ? {} : { [key]: '' }), [required]: reads ? 'false' : 'true' };
  }
  return { [key]: section === 'pager' ? 'false' : (INSTEAD[`${section}.${name}`] ?? '') };
}

/** Values that mean "as if it were not set", where an empty one does not. */
const INSTEAD: Settings = {
  'core.editor': ':',
  'core.gitproxy': 'none',
  'core.sshcommand': 'ssh',
  'diff.textconv': 'cat',
  'gpg.program': 'gpg',
  'merge.driver': 'exit 1',
  'merge.recursive': 'text',
  'pull.octopus': 'octopus',
  'pull.twohead': 'ort',
  'remote.receivepack': 'git-receive-pack',
  'remote.uploadpack': 'git-upload-pack',
  'sequence.editor': ':',
  'submodule.update': 'checkout',
};

/** Subcommands that store nothing, so that a file without its filter is only shown. */
const READS: ReadonlySet<string> = new Set(
  'annotate blame branch cat-file check-attr check-ignore check-ref-format cherry config count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck grep log ls-files ls-remote ls-tree merge-base name-rev range-diff reflog remote rev-list rev-parse shortlog show show-branch show-ref status symbolic-ref tag var verify-commit verify-tag version whatchanged'.split(
    ' ',
  ),
);

const SHOWS =
  /^(?:filter\..*\.(?:clean|smudge|process)|diff\.(?:.*\.)?(?:command|external|textconv)|merge\..*\.driver)$/s;

function missedOf(site: GitSite, named: readonly NamedProgram[]): string[] {
  const shown = named.flatMap(({ key, file }) =>
    key !== undefined && SHOWS.test(key) ? [`${key} (${site.nameOf(file) ?? 'included'})`] : [],
  );
  return [...new Set(shown)];
}

function isGit({ words }: SimpleCommand): boolean {
  return basename(words[0] ?? '') === 'git';
}

function subcommandOf({ words }: SimpleCommand): string {
  for (let i = 1; i < words.length; i++) {
    if (words[i] === '-C' || words[i] === '-c') i++;
    else if (!words[i]!.startsWith('-')) return words[i]!;
  }
  return 'version';
}

function asVariables(settings: readonly (readonly [string, string])[]): Record<string, string> {
  return {
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], n) => [
        [`GIT_CONFIG_KEY_${n}`, key],
        [`GIT_CONFIG_VALUE_${n}`, value],
      ]),
    ),
  };
}

function unreadable(site: GitSite, file: string) {
  return fail(
    'shell.wrapper',
    `Cannot run git: ${site.nameOf(file) ?? 'a file that a repository includes'} cannot be read as git's configuration, so what it makes git start is not known; mend or remove it`,
  );
}
