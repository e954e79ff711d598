// Owns: which programs a repository names (every setting that is not known to be harmless, and its hooks), and the environment in
// which git, started by a line, runs none of them.
// Refuses: repositories whose configuration cannot be read: what they would start is not known.
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isText, toSystem } from '../../base/byte-path.ts';
import { parseGitConfig } from '../../base/parse-git-config.ts';
import type { SimpleCommand } from '../../base/shell/analysis.ts';
import { fail } from '../../contract/errors.ts';
import { configFiles, gitFolders, isThere, MAX_INCLUDES, readText } from '../git-folders.ts';

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

interface NamedProgram {
  /** The file that names it: a configuration file, or the hook. */
  readonly file: string;
  /** The setting as git prints it, `hooks` for a hook, or undefined for a file that cannot be read. */
  readonly key: string | undefined;
  readonly value?: string | undefined;
}

/** Every setting of this repository that may make git start a program. One that Haft does not know counts as such. */
export function programsOfRepository(gitDir: string): NamedProgram[] {
  const files = configFiles(gitDir);
  if (files.length >= MAX_INCLUDES) return [{ file: files[0]!, key: undefined }];
  const settings = files.filter(isThere).flatMap((file): NamedProgram[] => {
    const text = readText(file);
    const parsed = text === undefined ? undefined : parseGitConfig(text);
    // A key in other bytes than UTF-8 cannot be named again.
    if (parsed === undefined || parsed.some(({ key }) => !isText(key))) return [{ file, key: undefined }];
    return parsed
      .filter(({ key, value }) => !isHarmless(key, value))
      .map(({ key, value }) => ({ file, key, value }));
  });
  return [...settings, ...hooksOf(gitDir)];
}

function hooksOf(gitDir: string): NamedProgram[] {
  const folder = join(gitDir, 'hooks');
  try {
    return readdirSync(toSystem(folder))
      .filter((name) => !name.endsWith('.sample') && isProgram(join(folder, name)))
      .map((name) => ({ file: join(folder, name), key: 'hooks', value: name }));
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    const stat = statSync(toSystem(path));
    return stat.isFile() && (stat.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}

/** Whether a setting surely starts nothing. `key` as parseGitConfig gives it. */
export function isHarmless(key: string, value: string | undefined): boolean {
  const [, section = '', name = ''] = /^([^.]*)(?:\..*)?\.([^.]*)$/s.exec(key) ?? [];
  const named = key.length > section.length + name.length + 1;
  // What submodule.<name>.update holds after `!` is a command.
  if (section === 'submodule' && name === 'update') return value === undefined || !value.startsWith('!');
  const names = (named ? NAMED : PLAIN).get(section);
  return names !== undefined && (names === '*' || names.includes(name));
}

/** Settings of git 2.39 and its usual companions that start nothing: `section: names`. */
const PLAIN = table(`
  add: ignoreerrors
  advice: *
  am: keepcr threeway
  apply: ignorewhitespace whitespace
  author: email name
  blame: blankboundary coloring date ignorerevsfile markignoredlines markunblamablelines showemail showroot
  branch: autosetupmerge autosetuprebase sort
  checkout: defaultremote guess thresholdforparallelism workers
  clean: requireforce
  clone: defaultremotename filtersubmodules rejectshallow
  color: *
  column: *
  commit: cleanup gpgsign status template verbose
  commitgraph: *
  committer: email name
  core: abbrev alternaterefsprefixes attributesfile autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commitgraph compression createobject deltabasecachelimit eol excludesfile filemode filesreflocktimeout fscache fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase ignorestat logallrefupdates longpaths loosecompression multipackindex notesref packedgitlimit packedgitwindowsize packedrefstimeout precomposeunicode prefersymlinkrefs preloadindex protecthfs protectntfs quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime unsetenvvars untrackedcache usereplacerefs warnambiguousrefs whitespace worktree
  credential: protectprotocol sanitizeprompt usehttppath username
  diff: algorithm autorefreshindex colormoved colormovedws context dirstat ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix orderfile relative renamelimit renames statgraphwidth submodule suppressblankempty wordregex wserrorhighlight
  extensions: noop objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig
  fastimport: unpacklimit
  feature: experimental manyfiles
  fetch: fsckobjects negotiationalgorithm output parallel prune prunetags recursesubmodules showforcedupdates unpacklimit writecommitgraph
  format: attach cc coverfromdescription coverletter encodeemailheaders filenamemaxlength forceinbodyfrom from headers notes numbered outputdirectory pretty signoff signature signaturefile subjectprefix suffix thread to useautobase
  fsck: *
  gc: aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire writecommitgraph
  gpg: format mintrustlevel
  grep: column extendedregexp fallbacktonoindex fullname linenumber patterntype threads
  http: *
  i18n: commitencoding logoutputencoding
  include: path
  index: recordendofindexentries recordoffsettable sparse threads version
  init: defaultbranch
  interactive: singlekey
  lfs: *
  log: abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap showroot showsignature
  lsrefs: unborn
  mailinfo: scissors
  mailmap: blob file
  maintenance: auto strategy
  merge: autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log renamelimit renames renormalize stat suppressdest verbosity verifysignatures
  notes: displayref mergestrategy rewritemode rewriteref
  pack: allowpackreuse compression deltacachelimit deltacachesize depth indexversion island islandcore packsizelimit preferbitmaptips threads usebitmaps usesparse window windowmemory writebitmaphashcache writebitmaplookuptable writereverseindex
  pretty: *
  protocol: version
  pull: ff rebase
  push: autosetupremote default followtags gpgsign negotiate pushoption recursesubmodules usebitmaps useforceifincludes
  rebase: abbreviatecommands autosquash autostash backend forkpoint instructionformat missingcommitscheck reschedulefailedexec stat updaterefs
  receive: *
  remote: pushdefault
  remotes: *
  repack: *
  rerere: autoupdate enabled
  revert: reference
  showbranch: default
  sparse: expectfilesoutsideofpatterns
  splitindex: *
  ssh: variant
  stash: showincludeuntracked showpatch showstat
  status: aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles submodulesummary
  submodule: active alternateerrorstrategy alternatelocation fetchjobs propagatebranches recurse
  tag: forcesignannotated gpgsign sort
  tar: umask
  transfer: advertisesid credentialsinurl fsckobjects hiderefs unpacklimit
  user: email name signingkey useconfigonly
  versionsort: suffix
  worktree: guessremote
`);

/** The same for settings with a quoted part: `[branch "main"]`. */
const NAMED = table(`
  branch: description merge pushremote rebase remote vscode-merge-base gh-merge-base
  color: *
  credential: provider usehttppath username
  diff: binary cachetextconv wordregex xfuncname
  fetch: skiplist
  gc: reflogexpire reflogexpireunreachable
  gitflow: *
  gpg: allowedsignersfile revocationfile
  http: *
  includeif: path
  lfs: access locksverify
  maintenance: auto enabled schedule
  merge: name
  notes: mergestrategy
  remote: fetch gh-resolved lfsurl mirror partialclonefilter promisor proxy proxyauthmethod prune prunetags push pushurl skipdefaultupdate skipfetchall tagopt url
  submodule: active branch fetchrecursesubmodules ignore path shallow url
`);

function table(text: string): ReadonlyMap<string, '*' | readonly string[]> {
  return new Map(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [section = '', names = ''] = line.trim().split(': ');
        return [section, names === '*' ? '*' : names.split(' ')] as const;
      }),
  );
}
