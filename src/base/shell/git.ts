// Owns: which uses of git start nothing but git.
// Refuses: settings, subcommands and options through which git starts what it is told to.
import { refuse } from './analysis.ts';
import { type Call, known } from './call.ts';
import { type Inspected, inspect } from './options.ts';

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
    } else if (!GLOBAL.test(text)) refuse('shell.wrapper', `Cannot run git with ${word.canonical}`, word);
  }
  const word = call.words[i];
  if (word === undefined) return call.list();
  const spec = SUBCOMMANDS.get(known(call, word));
  if (spec === undefined)
    refuse(
      'shell.wrapper',
      `Cannot run git ${word.canonical}: it may start other programs or be an alias`,
      word,
    );
  const rest = call.words.slice(i + 1);
  if (spec.first !== undefined && !spec.first.test(rest[0]?.literal ?? ''))
    refuse('shell.wrapper', `Cannot run git ${word.canonical} ${rest[0]?.canonical ?? ''}`, word);
  const remote = rest.find((each) => /^(?:ext|fd)::/.test(each.prefix));
  if (remote !== undefined)
    refuse('shell.wrapper', `Cannot use ${remote.canonical}: git would start a program`, remote);
  inspect(call, rest, spec);
  call.list();
}

const GLOBAL =
  /^(?:-p|-P|--paginate|--no-pager|--bare|--no-replace-objects|--literal-pathspecs|--no-literal-pathspecs|--glob-pathspecs|--noglob-pathspecs|--icase-pathspecs|--no-optional-locks|--no-advice|--version|-v|--namespace=.*)$/;
const HARMLESS_SETTINGS =
  /^(?:user\.(?:name|email)|color\.[a-z.]+|advice\.[a-z]+|core\.(?:quotepath|autocrlf|safecrlf|eol|abbrev|filemode|ignorecase)|init\.defaultbranch|(?:commit|tag)\.gpgsign|diff\.(?:renames|noprefix|mnemonicprefix|context|algorithm)|log\.(?:date|showsignature)|merge\.conflictstyle|pull\.(?:rebase|ff)|push\.default|rebase\.autosquash|status\.[a-z]+)$/;

interface Subcommand extends Inspected {
  /** What the word after the subcommand must be. */
  readonly first?: RegExp;
}

/** Options that start programs wherever they are known. */
const BAD = 'exec upload-pack receive-pack open-files-in-pager ext-diff template config config-env exec-path';
const plain: Subcommand = { bad: { long: BAD } };
const message: Subcommand = { ...plain, values: { letters: 'mF', long: 'message file author date' } };
const merging: Subcommand = {
  bad: { long: `${BAD} strategy`, letters: 's' },
  fine: 'strategy-option',
  values: { letters: 'mX' },
};

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map(
  (
    [
      [
        'add am annotate apply blame branch bundle cat-file check-attr check-ignore check-ref-format checkout cherry clean commit-tree count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc hash-object log ls-files ls-remote ls-tree merge-base merge-tree mktree mv name-rev pack-refs prune push range-diff reflog remote reset restore rev-list rev-parse rm shortlog show show-branch show-ref sparse-checkout status switch symbolic-ref update-index update-ref var verify-commit verify-tag version whatchanged worktree write-tree archive',
        plain,
      ],
      ['commit tag notes stash', message],
      ['merge pull cherry-pick revert', merging],
      ['rebase', { bad: { long: `${BAD} strategy interactive`, letters: 'sxi' }, values: { letters: 'X' } }],
      ['grep', { bad: { long: BAD, letters: 'O' }, values: { letters: 'efABCm' } }],
      [
        'clone',
        { bad: { long: BAD, letters: 'uc' }, values: { letters: 'bo', long: 'branch depth origin' } },
      ],
      ['init', plain],
      ['bisect', { ...plain, first: /^(?:start|good|bad|new|old|skip|reset|log|terms)$/ }],
      ['submodule', { ...plain, first: /^(?:status|init|update|sync|summary|add|deinit)$/ }],
      ['config', { first: /^(?:--get|--get-all|--get-regexp|--list|-l|get|list)$/ }],
    ] as const satisfies readonly (readonly [string, Subcommand])[]
  ).flatMap(([names, spec]) => names.split(' ').map((subcommand) => [subcommand, spec] as const)),
);
