// Owns: which commands of git run as themselves: their subcommands and options that start nothing and move nothing.
// Refuses: to be complete: an option that is not here is refused, in whatever version of git it appears.
import { refuse } from './analysis.ts';
import { type Call, type Inspected, inspect, known } from './call.ts';

export function git(call: Call): void {
  let i = 1;
  for (; i < call.words.length; i++) {
    const word = call.words[i]!;
    const text = known(call, word);
    if (!text.startsWith('-')) break;
    if (text === '-C') known(call, call.words[++i] ?? word);
    else if (text === '-c') {
      const setting = call.words[++i];
      const key = /^[^=]*(?==)/.exec(setting?.prefix ?? '')?.[0].toLowerCase() ?? '';
      if (setting === undefined || setting.splits !== 'no' || !HARMLESS_SETTINGS.test(key))
        refuse(
          'shell.wrapper',
          `Cannot run git -c ${setting?.canonical ?? ''}: the setting could start a program`,
          word,
        );
    } else if (!GLOBAL.test(text))
      refuse(
        'shell.wrapper',
        `Cannot run git with ${word.canonical}: it could read other settings, which could start programs; leave it out, or use -C`,
        word,
      );
  }
  const word = call.words[i];
  if (word === undefined) return call.list();
  const subcommand = known(call, word);
  const spec = GIT_OPTIONS.get(subcommand);
  if (spec === undefined)
    refuse(
      'shell.wrapper',
      `Cannot run git ${word.canonical}: it may start other programs or be an alias`,
      word,
    );
  const rest = call.words.slice(i + 1);
  const first = FIRST[subcommand];
  if (first !== undefined && !first.test(rest[0]?.literal ?? ''))
    refuse('shell.wrapper', `Cannot run git ${word.canonical} ${rest[0]?.canonical ?? ''}`, word);
  const remote = rest.find((each) => /^(?:--?[\w-]+=)?(?:ext|fd)::/.test(each.prefix));
  if (remote !== undefined)
    refuse('shell.wrapper', `Cannot use ${remote.canonical}: git would start a program`, remote);
  inspect(call, rest, spec);
  call.list();
}

const GLOBAL =
  /^(?:-p|-P|--paginate|--no-pager|--no-replace-objects|--literal-pathspecs|--no-literal-pathspecs|--glob-pathspecs|--noglob-pathspecs|--icase-pathspecs|--no-optional-locks|--no-advice|--version|-v)$/;
const HARMLESS_SETTINGS =
  /^(?:user\.(?:name|email)|color\.[a-z.]+|advice\.[a-z]+|core\.(?:quotepath|autocrlf|safecrlf|eol|abbrev|filemode|ignorecase)|init\.defaultbranch|(?:commit|tag)\.gpgsign|diff\.(?:renames|noprefix|mnemonicprefix|context|algorithm)|log\.(?:date|showsignature)|merge\.conflictstyle|pull\.(?:rebase|ff)|push\.default|rebase\.autosquash|status\.[a-z]+)$/;

/** What the word after the subcommand must be. */
const FIRST: Readonly<Record<string, RegExp>> = {
  bisect: /^(?:start|good|bad|new|old|skip|reset|log|terms)$/,
  submodule: /^(?:status|init|update|sync|summary|add|deinit)$/,
  config: /^(?:--get|--get-all|--get-regexp|--list|-l|get|list)$/,
};

/** What every subcommand that shows changes takes. */
const DIFF: Inspected = {
  letters: 'DRWabpsuwz',
  values: 'GIOSl',
  attached: 'BCMUX',
  long: 'abbrev binary break-rewrites check color color-moved color-words compact-summary cumulative dirstat dirstat-by-file exit-code find-copies find-copies-harder find-renames follow full-index function-context histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-submodules indent-heuristic irreversible-delete ita-invisible-in-index ita-visible-in-index minimal name-only name-status no-ext-diff no-prefix no-renames numstat patch patch-with-raw patch-with-stat patience pickaxe-all pickaxe-regex quiet raw relative rename-empty shortstat stat submodule summary text textconv unified word-diff',
  longValues:
    'anchored color-moved-ws diff-algorithm diff-filter dst-prefix find-object ignore-matching-lines inter-hunk-context line-prefix output output-indicator-context output-indicator-new output-indicator-old rotate-to skip-to src-prefix stat-count stat-graph-width stat-name-width stat-width word-diff-regex ws-error-highlight',
};

/** What every subcommand that walks history takes. */
const REV: Inspected = {
  letters: 'EFPcgimqrt',
  values: 'Ln',
  digits: true,
  long: 'abbrev-commit all all-match alternate-refs ancestry-path author-date-order basic-regexp bisect boundary branches cc cherry cherry-mark cherry-pick children combined-all-paths count date-order decorate dense disk-usage end-of-options expand-tabs extended-regexp first-parent fixed-strings format full-diff full-history graph header ignore-missing indexed-objects invert-grep left-only left-right log-size merge merges no-walk notes objects objects-edge oneline parents perl-regexp pretty reflog regexp-ignore-case relative-date remerge-diff remotes reverse right-only root show-notes show-pulls show-signature simplify-by-decoration simplify-merges single-worktree sparse stdin tags timestamp topo-order unpacked use-bitmap-index walk-reflogs',
  longValues:
    'after author before committer date diff-merges encoding exclude glob grep max-age max-count max-parents min-age min-parents since skip until',
};

/** `subcommand | shared with | letters | letters with a value | with a value in the same word | long | long with a value` */
const ROWS = `
  add | | ANefinpuv | | | all dry-run edit force ignore-errors ignore-missing ignore-removal intent-to-add interactive patch pathspec-file-nul refresh renormalize sparse update verbose warn-embedded-repo | chmod pathspec-from-file
  am | | 3cikmqrsu | Cp | S | 3way abort allow-empty binary committer-date-is-author-date continue gpg-sign ignore-date ignore-space-change ignore-whitespace interactive keep keep-cr keep-non-patch message-id quiet quit rebasing reject rerere-autoupdate resolved scissors show-current-patch signoff skip utf8 | directory empty exclude include patch-format quoted-cr resolvemsg whitespace
  annotate | diff rev | bceflnpstw | | | abbrev incremental line-porcelain porcelain progress root show-email show-name show-number | contents ignore-rev ignore-revs-file
  apply | | 3NRqvz | Cp | | 3way add allow-binary-replacement allow-empty allow-overlap apply binary cached check ignore-space-change ignore-whitespace inaccurate-eof index intent-to-add numstat quiet recount reject reverse stat summary unidiff-zero verbose | directory exclude include whitespace
  archive | | Nlv0123456789 | o | | list verbose worktree-attributes | output format prefix add-file mtime
  bisect | | | | | no-checkout first-parent | 
  blame | diff rev | bceflnpstw | LS | CM | abbrev color-by-age color-lines incremental line-porcelain minimal porcelain progress root score-debug show-email show-name show-number show-stats | contents ignore-rev ignore-revs-file
  branch | | CDMacdfilmqrv | u | t | abbrev all color column contains copy create-reflog delete edit-description force ignore-case list merged move quiet recurse-submodules remotes set-upstream show-current track unset-upstream verbose with without | format points-at set-upstream-to sort
  bundle | | q | | | all-progress all-progress-implied progress quiet | version
  cat-file | | epstz | | | allow-unknown-type batch batch-all-objects batch-check batch-command buffer filters follow-symlinks mailmap textconv unordered use-mailmap | path
  check-attr | | az | | | all cached stdin | 
  check-ignore | | nqvz | | | index non-matching quiet stdin verbose | 
  check-ref-format | | | | | branch allow-onelevel normalize refspec-pattern print | 
  checkout | | 23dflmpq | Bb | t | detach force guess ignore-other-worktrees ignore-skip-worktree-bits merge ours overlay overwrite-ignore patch pathspec-file-nul progress quiet recurse-submodules theirs track | conflict orphan pathspec-from-file
  cherry | | v | | | abbrev verbose | 
  cherry-pick | | ensx | Xm | S | abort allow-empty allow-empty-message commit continue edit ff gpg-sign keep-redundant-commits quit rerere-autoupdate signoff skip | cleanup mainline strategy-option
  clean | | Xdfinqx | e | | dry-run force interactive quiet | exclude
  clone | | 46lnqsv | bjo | | also-filter-submodules bare checkout dissociate hardlinks ipv4 ipv6 local mirror progress quiet recurse-submodules recursive reject-shallow remote-submodules shallow-submodules shared single-branch sparse tags verbose | branch depth filter jobs origin server-option shallow-exclude shallow-since
  commit | | aeinopqsvz | CFcm | Su | ahead-behind all allow-empty allow-empty-message amend branch dry-run edit gpg-sign include interactive long null only patch pathspec-file-nul porcelain post-rewrite quiet reset-author short signoff status untracked-files verbose verify | author cleanup date file fixup message pathspec-from-file reedit-message reuse-message squash trailer
  commit-tree | | | Fmp | S | gpg-sign | 
  config | | lz | f | | get get-all get-regexp get-urlmatch list name-only show-origin show-scope null includes local global system worktree bool int path all regexp fixed-value | file blob type default url value
  count-objects | | Hv | | | human-readable verbose | 
  describe | | | | | abbrev all always broken contains debug dirty exact-match first-parent long tags | candidates exclude match
  diff | diff rev | | | | cached staged merge-base no-index ours theirs base | 
  diff-files | diff rev | q0123 | | | ours theirs base | 
  diff-index | diff rev | | | | cached merge-base | 
  diff-tree | diff rev | v | | | stdin no-commit-id always root merge-base | 
  fetch | | 46Pafkmnpqtuv | jo | | all append atomic auto-gc auto-maintenance dry-run force ipv4 ipv6 keep multiple negotiate-only prefetch progress prune prune-tags quiet recurse-submodules refetch set-upstream show-forced-updates stdin tags unshallow update-head-ok update-shallow verbose write-commit-graph write-fetch-head | deepen depth filter jobs negotiation-tip refmap server-option shallow-exclude shallow-since
  for-each-ref | | ps | | | color contains ignore-case merged perl python shell tcl | count format points-at sort
  format-patch | diff rev | Nknpqs | ov | | attach binary cover-letter force-in-body-from from ignore-if-in-upstream inline keep-subject no-stat numbered numbered-files progress quiet rfc signoff stdout thread zero-commit | add-header base cc cover-from-description creation-factor filename-max-length in-reply-to interdiff output-directory range-diff reroll-count signature signature-file start-number subject-prefix suffix to
  fsck | | v | | | cache connectivity-only dangling full lost-found name-objects progress reflogs root strict tags unreachable verbose | 
  gc | | q | | | aggressive auto cruft force keep-largest-pack prune quiet | 
  grep | | EFGHILNPWachilnopqrvwz | ABCefm | | all-match and basic-regexp break cached color column count exclude-standard ext-grep extended-regexp files-with-matches files-without-match fixed-strings full-name function-context heading ignore-case index invert-match line-number name-only not null only-matching or perl-regexp quiet recurse-submodules recursive show-function text textconv untracked word-regexp | after-context before-context context max-count max-depth threads
  hash-object | | w | t | | filters literally stdin stdin-paths | path
  init | | q | b | | bare quiet shared | initial-branch object-format
  log | diff rev | q | L | | clear-decorations decorate mailmap quiet source use-mailmap | decorate-refs decorate-refs-exclude
  ls-files | | cdfikmostuvz | Xx | | abbrev cached debug deduplicate deleted directory empty-directory eol error-unmatch exclude-standard full-name ignored killed modified others recurse-submodules resolve-undo sparse stage unmerged | exclude exclude-from exclude-per-directory format with-tree
  ls-remote | | hqt | o | | exit-code get-url heads quiet refs symref tags | server-option sort
  ls-tree | | dlrtz | | | abbrev full-name full-tree long name-only name-status object-only | format
  merge | | enqv | FXm | S | abort allow-unrelated-histories autostash commit continue edit ff ff-only file gpg-sign log overwrite-ignore progress quiet quit rerere-autoupdate signoff squash stat summary verbose verify verify-signatures | cleanup into-name message strategy-option
  merge-base | | a | | | all fork-point independent is-ancestor octopus | 
  merge-tree | | z | | | allow-unrelated-histories messages name-only stdin trivial-merge write-tree | 
  mktree | | z | | | batch missing | 
  mv | | fknv | | | dry-run force sparse verbose | 
  name-rev | | | | | all always annotate-stdin name-only peel-tag stdin tags undefined | exclude refs
  notes | | fnqv | CFcms | | abort allow-empty commit dry-run force ignore-missing quiet stdin verbose | file for-rewrite message reedit-message ref reuse-message
  pack-refs | | | | | all prune | 
  prune | | nv | | | dry-run exclude-promisor-objects progress verbose | expire
  pull | | 46afknpqtv | Xo | Sjr | all allow-unrelated-histories append autostash commit dry-run edit ff ff-only force gpg-sign ipv4 ipv6 jobs keep log progress prune quiet rebase recurse-submodules set-upstream show-forced-updates signoff squash stat summary tags unshallow update-shallow verbose verify verify-signatures | cleanup deepen depth negotiation-tip refmap server-option shallow-exclude shallow-since strategy-option
  push | | 46dfnquv | o | | all atomic delete dry-run follow-tags force force-if-includes force-with-lease ipv4 ipv6 mirror porcelain progress prune quiet set-upstream signed tags thin verbose verify | push-option recurse-submodules repo
  range-diff | diff | DRWabpsuwz | GIOSl | BCMUX | dual-color left-only notes right-only | creation-factor
  rebase | | fmnqv | CX | Sr | abort allow-empty-message apply autosquash autostash committer-date-is-author-date continue ff force-rebase fork-point gpg-sign ignore-date ignore-whitespace keep-base keep-empty merge quiet quit reapply-cherry-picks rebase-merges rerere-autoupdate reschedule-failed-exec reset-author-date root show-current-patch signoff skip stat update-refs verbose verify | empty onto strategy-option whitespace
  reflog | diff rev | | | | all dry-run rewrite single-worktree stale-fix updateref verbose | expire expire-unreachable
  remote | | adfnpv | mt | | add all auto delete dry-run fetch progress prune push tags verbose | master mirror track
  reset | | Npq | | | hard intent-to-add keep merge mixed patch pathspec-file-nul quiet recurse-submodules refresh soft | pathspec-from-file
  restore | | 23SWmpq | s | | ignore-skip-worktree-bits ignore-unmerged merge ours overlay patch pathspec-file-nul progress quiet recurse-submodules staged theirs worktree | conflict pathspec-from-file source
  rev-list | diff rev | | | | | 
  rev-parse | | q | | | show-toplevel git-dir abbrev-ref short verify quiet is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-prefix show-cdup absolute-git-dir git-common-dir symbolic symbolic-full-name all branches tags remotes glob exclude sq since until after before local-env-vars show-object-format show-ref-format disambiguate shared-index-path path-format show-superproject-working-tree not revs-only no-revs flags no-flags end-of-options | git-path default prefix resolve-git-dir
  revert | | ens | Xm | S | abort commit continue edit gpg-sign quit rerere-autoupdate signoff skip | cleanup mainline strategy-option
  rm | | fnqr | | | cached dry-run force ignore-unmatch pathspec-file-nul quiet sparse | pathspec-from-file
  shortlog | diff rev | cens | | w | committer email numbered summary | group
  show | diff rev | q | L | | clear-decorations decorate mailmap quiet source use-mailmap | decorate-refs decorate-refs-exclude
  show-branch | | ar | | g | all color current date-order independent list merge-base more name reflog remotes sha1-name sparse topics topo-order | 
  show-ref | | dq | | s | abbrev dereference exclude-existing hash head heads quiet tags verify | 
  sparse-checkout | | | | | cone skip-checks sparse-index stdin | 
  stash | diff rev | Sakpqu | m | | all include-untracked index keep-index only-untracked patch pathspec-file-nul quiet staged | message pathspec-from-file
  status | | bsvz | | Mu | ahead-behind branch column find-renames ignore-submodules ignored long null porcelain renames short show-stash untracked-files verbose | 
  submodule | | qfN | b | | quiet cached recursive init remote force checkout merge rebase recommend-shallow single-branch progress files all depth jobs no-fetch default | branch name
  switch | | dfmq | Cc | t | detach discard-changes force guess ignore-other-worktrees merge overwrite-ignore progress quiet recurse-submodules track | conflict create force-create orphan
  symbolic-ref | | dq | m | | delete quiet recurse short | 
  tag | | adefilsv | Fmu | n | annotate color column contains create-reflog delete edit force ignore-case list merged points-at sign verify with without | cleanup file format local-user message sort
  update-index | | gqz | | | add again assume-unchanged cacheinfo clear-resolve-undo force-remove force-untracked-cache force-write-index ignore-missing ignore-skip-worktree-entries ignore-submodules index-info info-only really-refresh refresh remove replace skip-worktree split-index stdin test-untracked-cache unmerged unresolve untracked-cache verbose | chmod index-version
  update-ref | | dz | m | | create-reflog deref stdin | 
  var | | l | | | | 
  verify-commit | | v | | | raw verbose | 
  verify-tag | | v | | | raw verbose | format
  version | | | | | build-options | 
  whatchanged | diff rev | | | | source mailmap use-mailmap | 
  worktree | | dfnqvz | Bb | | checkout detach dry-run force guess-remote lock porcelain quiet track verbose | expire reason
  write-tree | | | | | ignore-cache-tree missing-ok | prefix
`;

const GIT_OPTIONS: ReadonlyMap<string, Inspected> = new Map(
  ROWS.trim()
    .split('\n')
    .map((row) => {
      const [name = '', shared = '', letters = '', values = '', attached = '', long = '', longValues = ''] =
        row.split('|').map((cell) => cell.trim());
      const own: Inspected = { letters, values, attached, long, longValues };
      const parts = [
        own,
        ...(shared.includes('diff') ? [DIFF] : []),
        ...(shared.includes('rev') ? [REV] : []),
      ];
      return [name, merged(parts)] as const;
    }),
);

/** A letter that means two things is what the subcommand itself says. */
function merged(parts: readonly Inspected[]): Inspected {
  const own = parts[0]!;
  const taken = `${own.letters}${own.values}${own.attached}`;
  const letters = (of: 'letters' | 'values' | 'attached') =>
    parts
      .map((part, index) =>
        index === 0 ? part[of] : [...(part[of] ?? '')].filter((l) => !taken.includes(l)).join(''),
      )
      .join('');
  const words = (of: 'long' | 'longValues') =>
    parts
      .map((part) => part[of] ?? '')
      .join(' ')
      .trim();
  return {
    letters: letters('letters'),
    values: letters('values'),
    attached: letters('attached'),
    long: words('long'),
    longValues: words('longValues'),
    digits: parts.some(({ digits }) => digits === true),
    negatable: true,
  };
}
