// Owns: `haft completion`: completion scripts for the usual shells, made from the list of commands.
// Refuses: to install them; the first lines say how.
import { fail } from '../../../contract/errors.ts';
import type { Command } from '../command.ts';
import { type Commands, commandsByName } from '../commands.ts';
import { COMMON_OPTIONS } from '../common-options.ts';

const SHELLS: Readonly<Record<string, (words: string) => string>> = {
  bash: (words) => `# eval "$(haft completion bash)"
_haft() {
  local key="\${COMP_WORDS[*]:1:COMP_CWORD-1}" found=""
  case "$key" in
${words}
  esac
  COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _haft haft
`,
  zsh: (words) => `# eval "$(haft completion zsh)"
_haft() {
  local key="\${words[2,CURRENT-1]}" found
  case "$key" in
${words}
  esac
  compadd -- \${=found}
}
compdef _haft haft
`,
  fish: (words) => `# haft completion fish | source
function __haft_words
  set -l key (string join ' ' (commandline -opc)[2..])
  switch "$key"
${words}
  end
end
complete -c haft -f -a '(__haft_words)'
`,
};

/** The list is handed in, because the whole of it is known only where the command line is put together. */
export const completionOf = (commands: () => Commands): Command => ({
  summary: 'Print a completion script',
  usage: 'bash | zsh | fish',
  examples: ['eval "$(haft completion bash)"', 'haft completion fish | source'],
  positionals: [1, 1],
  choices: Object.keys(SHELLS),
  anywhere: true,
  async run({ positionals, io }) {
    const shell = positionals[0]!;
    const render = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (!render)
      throw fail('usage', `Cannot complete for "${shell}": take one of ${Object.keys(SHELLS).join(', ')}`);
    io.out(render(await cases(commands(), shell)));
    return 0;
  },
});

/** One line a command: what may follow it. */
async function cases(commands: Commands, shell: string): Promise<string> {
  const lines = new Map([['', Object.keys(commands)]]);
  for (const [name, { commands: subs = {} }] of Object.entries(commands)) lines.set(name, Object.keys(subs));
  for (const [name, { load }] of commandsByName(commands))
    lines.set(name, [...(lines.get(name) ?? []), ...wordsOf(await load())]);
  const line = ([key, words]: [string, string[]]) =>
    shell === 'fish'
      ? `    case ${key === '' ? "''" : `'${key}*'`}\n      printf '%s\\n' ${words.join(' ')}`
      : `    ${key === '' ? '""' : `"${key}"*`}) found="${words.join(' ')}" ;;`;
  // The longest key first, so that "audit verify" is not taken for "audit".
  return [...lines]
    .sort(([a], [b]) => b.length - a.length)
    .map(line)
    .join('\n');
}

const wordsOf = ({ choices = [], options }: Command) => [
  ...choices,
  ...Object.keys({ ...options, ...COMMON_OPTIONS }).map((name) => `--${name}`),
];
