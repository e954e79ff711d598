// Owns: the list of commands, each loaded only when it is asked for.
// Refuses: what a command does; each is a file of its own in commands/.

import { OPERATIONS } from '../../operations/index.ts';
import type { Command } from './command.ts';

export interface CommandEntry {
  readonly summary: string;
  load(): Promise<Command>;
  /** Commands of their own behind its name: `haft mcp install`. Such a command takes no words itself. */
  readonly commands?: Readonly<Record<string, CommandEntry>>;
}

export interface CommandGroup {
  readonly summary: string;
  readonly commands: Readonly<Record<string, CommandEntry>>;
}

export type Commands = Readonly<Record<string, CommandEntry | CommandGroup>>;

/** Each comes with its first use. `haft call` does not even load this list: src/bin/main.ts. */
export const CLI_COMMANDS: Commands = {
  init: {
    summary: 'Write a haft.yaml for this folder',
    load: async () => (await import('./commands/init.ts')).command,
  },
  status: operation('status'),
  trust: operation('trust'),
  call: {
    summary: 'Call a tool',
    load: async () => (await import('./commands/call-help.ts')).command,
  },
  tools: group('tools', 'List, find, add and manage tools', {
    check: {
      summary: 'Check a folder of *.tool.yaml files',
      load: async () => (await import('./commands/tools-check.ts')).command,
    },
  }),
  policy: group('policy', 'Check, explain and improve haft.yaml'),
  approvals: group('approvals', 'Grant or refuse calls that wait for approval'),
  credentials: group('credentials', 'Store the secrets that tools need'),
  sessions: group('sessions', 'Open, show and end sessions'),
  audit: group('audit', 'Read and verify the record of all calls'),
  runs: group('runs', 'Manage and export runs', {
    collect: {
      summary: 'Copy the outputs of a run into a folder',
      load: async () => (await import('./commands/runs-collect.ts')).command,
    },
    'verify-bundle': {
      summary: 'Verify an exported run, offline',
      load: async () => (await import('./commands/runs-verify-bundle.ts')).command,
    },
  }),
  artifacts: group('artifacts', 'Import, read and verify artifacts'),
  toolpack: {
    summary: 'Create and check toolpacks',
    commands: {
      new: {
        summary: 'Create a toolpack to start from',
        load: async () => (await import('./commands/toolpack-new.ts')).command,
      },
      check: {
        summary: 'Check a toolpack against the ABI',
        load: async () => (await import('./commands/toolpack-check.ts')).command,
      },
    },
  },
  gc: operation('gc'),
  undo: operation('undo'),
  doctor: operation('doctor'),
};

/** By what is typed: `mcp`, `mcp install`, `audit verify`. */
export function commandsByName(commands: Commands): ReadonlyMap<string, CommandEntry> {
  const found = new Map<string, CommandEntry>();
  for (const [name, entry] of Object.entries(commands)) {
    if ('load' in entry) found.set(name, entry);
    for (const [sub, one] of Object.entries(entry.commands ?? {})) found.set(`${name} ${sub}`, one);
  }
  return found;
}

/** An operation as a command. */
function operation(id: string): CommandEntry {
  const { summary, load } = OPERATIONS[id]!;
  return {
    summary,
    async load() {
      const { commandOf } = await import('./operation-command.ts');
      return commandOf(await load());
    },
  };
}

/** All operations whose id begins so, and commands that are none. */
function group(name: string, summary: string, more: CommandGroup['commands'] = {}): CommandGroup {
  const ids = Object.keys(OPERATIONS).filter((id) => id.startsWith(`${name}.`));
  return {
    summary,
    commands: { ...Object.fromEntries(ids.map((id) => [id.slice(name.length + 1), operation(id)])), ...more },
  };
}
