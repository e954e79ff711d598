// Owns: the help texts, made from the commands themselves.
// Refuses: a second description of a command.

import { table } from '../../contract/terminal-text.ts';
import type { Command, CommandOption } from './command.ts';
import type { CommandGroup, Commands } from './commands.ts';
import { COMMON_OPTIONS } from './common-options.ts';

/** `haft help`, or the commands of one group. */
export function renderHelp(commands: Commands, group: CommandGroup | undefined): string {
  if (group)
    return `${group.summary}\n\n${commandTable(group.commands)}\nhaft ${nameOf(commands, group)} COMMAND --help says more.\n`;
  return `haft: run the tools of an agent under a policy, with audit and undo\n\nusage: haft COMMAND [arguments] [--json] [--workspace DIR] [--help]\n\n${commandTable(commands)}\nhaft COMMAND --help shows a command's flags and examples.\n`;
}

export function renderCommandHelp(name: string, command: Command): string {
  const parts = [
    `usage: haft ${name} ${command.usage}`.trimEnd(),
    '',
    `${command.summary}.${command.description ? ` ${command.description}` : ''}`,
    '',
    'options:',
    optionTable({ ...command.options, ...COMMON_OPTIONS }).trimEnd(),
    '',
    'examples:',
    ...command.examples.map((line) => `  ${line}`),
  ];
  return `${parts.join('\n')}\n`;
}

const commandTable = (entries: Readonly<Record<string, { readonly summary: string }>>) =>
  table(Object.entries(entries).map(([name, { summary }]) => [`  ${name}`, summary]));

const optionTable = (options: Readonly<Record<string, CommandOption>>) =>
  table(
    Object.entries(options).map(([name, { short, value, help }]) => [
      `  ${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`,
      help,
    ]),
  );

const nameOf = (commands: Commands, group: CommandGroup) =>
  Object.entries(commands).find(([, entry]) => entry === group)?.[0] ?? '';
