// Owns: `haft completion`: scripts for the usual shells, and the words that they ask for while somebody types.
// Refuses: to install them; the first line of each says how. To say anything on standard error while somebody types.
import { fail } from '../../../contract/errors.ts';
import { oneLine } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import type { Commands } from '../commands.ts';

const ASK = 'haft completion words --';

const SHELLS: Readonly<Record<string, string>> = {
  bash: `# eval "$(haft completion bash)"
_haft() {
  local word about current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS=$'\\t' read -r word about; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done < <(${ASK} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _haft haft
`,
  zsh: `# eval "$(haft completion zsh)"
_haft() {
  local line
  local -a found keys
  for line in "\${(@f)$(${ASK} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    local word="\${line%%$'\\t'*}" about="\${line#*$'\\t'}"
    if [[ $word == *= ]]; then keys+=("\${word//:/\\\\:}:$about")
    elif [[ -n $word ]]; then found+=("\${word//:/\\\\:}:$about"); fi
  done
  (( $#keys )) && _describe -t arguments argument keys -S ''
  (( $#found )) && _describe -t words word found
  (( $#keys + $#found )) || { compset -P '*='; _files }
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _haft haft
`,
  fish: `# haft completion fish | source
function __haft_words
  set -l current (commandline -ct)
  set -l found (${ASK} (commandline -opc)[2..] "$current" 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    set -l key (string match -r '^[^=]*=' -- "$current")
    for path in (__fish_complete_path (string replace -r '^[^=]*=' '' -- "$current"))
      printf '%s\\n' "$key$path"
    end
  end
end
complete -c haft -e
complete -c haft -f -a '(__haft_words)'
`,
};

/** The list is handed in, because the whole of it is known only where the command line is put together. */
export const completionOf = (commands: () => Commands): Command => ({
  summary: 'Print a completion script',
  usage: 'bash | zsh | fish',
  description:
    'The script asks "haft completion words" for what may come next: commands, flags, tools, names of arguments, ids of calls, runs, approvals and sessions.',
  examples: [
    'eval "$(haft completion bash)"',
    'eval "$(haft completion zsh)"',
    'haft completion fish | source',
  ],
  positionals: [1, 1000],
  choices: Object.keys(SHELLS),
  anywhere: true,
  reads: true,
  async run({ positionals, io, runtime }) {
    const [shell = '', ...typed] = positionals;
    if (shell === 'words') {
      const { completionWords } = await import('../completion-words.ts');
      const offers = await completionWords(commands(), typed, () => runtime({ looks: true }));
      io.out(offers.map(([word, about]) => `${oneLine(word)}\t${oneLine(about)}\n`).join(''));
      return 0;
    }
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (script === undefined || typed.length > 0)
      throw fail('usage', `Cannot complete for "${shell}": take one of ${Object.keys(SHELLS).join(', ')}`);
    io.out(script);
    return 0;
  },
});
