// Owns: what the flags that every command takes are for.
// Refuses: to be loaded by a call: only help, completion and the reference show it.
import { COMMON_FLAGS, type CommandOption } from './command.ts';

const WORDS: Readonly<Record<keyof typeof COMMON_FLAGS, Pick<CommandOption, 'value' | 'choices' | 'help'>>> =
  {
    json: { help: 'print one JSON document and nothing else' },
    workspace: {
      value: 'DIR',
      help: 'the workspace (default: the nearest folder upwards with haft.yaml or .haft)',
    },
    trust: {
      value: 'SHA256',
      help: 'trust the haft.yaml with this hash for this run, without haft trust (several: separated by commas)',
    },
    frozen: { help: 'fail if tools differ from haft.lock' },
    color: {
      value: 'WHEN',
      choices: ['auto', 'always', 'never'],
      help: 'auto, always or never (default: auto: on a terminal, unless NO_COLOR is set; FORCE_COLOR=1 in pipes, too)',
    },
    utc: { help: 'show times in UTC; a terminal shows local time, a pipe UTC' },
    verbose: { help: 'print more, and do not shorten tables' },
    quiet: { help: 'print only the answer and errors: no hints, no progress, no log' },
    help: { help: 'show this help' },
  };

export const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = Object.fromEntries(
  Object.entries(WORDS).map(([name, words]) => [
    name,
    { ...COMMON_FLAGS[name as keyof typeof COMMON_FLAGS], ...words },
  ]),
);
