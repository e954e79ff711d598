// Owns: which programs a repository names: every setting that is not known to be harmless, and its hooks.
// Refuses: to know what git does with them; git-environment.ts takes them out of effect.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isText, toSystem } from '../../../base/byte-path.ts';
import { parseGitConfig } from '../../../base/parse-git-config.ts';
import { configFiles, isThere, MAX_INCLUDES, readText } from '../../git-folders.ts';

export interface NamedProgram {
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
