// Owns: which uses of git start nothing but git.
// Refuses: settings, subcommands and options that are not known to start nothing and to stay in this repository.
import { refuse } from './analysis.ts';
import { type Call, known } from './call.ts';
import { GIT_OPTIONS } from './git-options.ts';
import { inspect } from './options.ts';

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
