// Owns: the list of commands, each loaded only when it is asked for.
// Refuses: what a command does; each is a file of its own in commands/.

import { OPERATIONS } from '../../operations/index.ts';
import type { Command } from './command.ts';
import { command as call } from './commands/call.ts';

export interface CommandEntry {
  readonly summary: string;
  load(): Promise<Command>;
}

export interface CommandGroup {
  readonly summary: string;
  readonly commands: Readonly<Record<string, CommandEntry>>;
}

export type Commands = Readonly<Record<string, CommandEntry | CommandGroup>>;

/** `call` is on the hot path, so it is already there; the rest come with the first use. */
export const CLI_COMMANDS: Commands = {
  init: {
    summary: 'Write a haft.yaml for this folder',
    load: async () => (await import('./commands/init.ts')).command,
  },
  trust: {
    summary: 'Trust the policy of this workspace on this machine',
    load: async () => (await import('./commands/trust.ts')).command,
  },
  call: { summary: call.summary, load: async () => call },
  tools: group('tools', 'List, find, add and look after tools', {
    check: {
      summary: 'Check a folder of *.tool.yaml files',
      load: async () => (await import('./commands/tools-check.ts')).command,
    },
  }),
  policy: {
    summary: 'Check, explain and improve haft.yaml',
    commands: {
      check: {
        summary: 'Check haft.yaml',
        load: async () => (await import('./commands/policy-check.ts')).command,
      },
      explain: {
        summary: 'Say what decides a call',
        load: async () => (await import('./commands/policy-explain.ts')).command,
      },
      suggest: {
        summary: 'Propose lines from denied calls',
        load: async () => (await import('./commands/policy-suggest.ts')).command,
      },
      diff: {
        summary: 'Compare haft.yaml with what was trusted',
        load: async () => (await import('./commands/policy-diff.ts')).command,
      },
      hash: {
        summary: "Print the policy's hash",
        load: async () => (await import('./commands/policy-hash.ts')).command,
      },
      replay: {
        summary: 'Decide past calls under another policy',
        load: async () => (await import('./commands/policy-replay.ts')).command,
      },
    },
  },
  approvals: {
    summary: 'Answer calls that wait for a person',
    commands: {
      list: {
        summary: 'List them',
        load: async () => (await import('./commands/approvals-list.ts')).command,
      },
      show: {
        summary: 'Show one of them',
        load: async () => (await import('./commands/approvals-show.ts')).command,
      },
      grant: {
        summary: 'Let one through, once',
        load: async () => (await import('./commands/approvals-decide.ts')).grant,
      },
      refuse: {
        summary: 'Refuse one',
        load: async () => (await import('./commands/approvals-decide.ts')).refuse,
      },
    },
  },
  credentials: {
    summary: 'Keep the secrets that tools need',
    commands: {
      set: {
        summary: 'Keep one, encrypted',
        load: async () => (await import('./commands/credentials-set.ts')).command,
      },
      list: {
        summary: 'List them, without values',
        load: async () => (await import('./commands/credentials-list.ts')).command,
      },
      remove: {
        summary: 'Forget one',
        load: async () => (await import('./commands/credentials-remove.ts')).command,
      },
      check: {
        summary: 'Check that each can be opened',
        load: async () => (await import('./commands/credentials-check.ts')).command,
      },
    },
  },
  audit: group('audit', 'Read and verify what was called'),
  runs: {
    summary: 'Look after runs, and take them away with their proof',
    commands: {
      list: {
        summary: 'List the newest',
        load: async () => (await import('./commands/runs-list.ts')).command,
      },
      show: {
        summary: 'Show one with its attempts and outputs',
        load: async () => (await import('./commands/runs-show.ts')).command,
      },
      watch: {
        summary: 'Print its log until it ends',
        load: async () => (await import('./commands/runs-watch.ts')).command,
      },
      collect: {
        summary: 'Write its outputs into a folder',
        load: async () => (await import('./commands/runs-collect.ts')).command,
      },
      cancel: {
        summary: 'End what is under way of it',
        load: async () => (await import('./commands/runs-cancel.ts')).command,
      },
      retry: {
        summary: 'Make its call again',
        load: async () => (await import('./commands/runs-retry.ts')).command,
      },
      verify: {
        summary: 'Execute it again and compare',
        load: async () => (await import('./commands/runs-verify.ts')).command,
      },
      explain: {
        summary: 'Say why two are not the same',
        load: async () => (await import('./commands/runs-explain.ts')).command,
      },
      export: {
        summary: 'Write one with its proof into a file',
        load: async () => (await import('./commands/runs-export.ts')).command,
      },
      'verify-bundle': {
        summary: 'Check such a file, offline',
        load: async () => (await import('./commands/runs-verify-bundle.ts')).command,
      },
    },
  },
  artifacts: {
    summary: 'Keep, read and verify artifacts',
    commands: {
      import: {
        summary: 'Keep a file, a folder or standard input',
        load: async () => (await import('./commands/artifacts-import.ts')).command,
      },
      list: {
        summary: 'List the newest',
        load: async () => (await import('./commands/artifacts-list.ts')).command,
      },
      show: {
        summary: 'Show one',
        load: async () => (await import('./commands/artifacts-show.ts')).command,
      },
      cat: {
        summary: 'Print or copy one',
        load: async () => (await import('./commands/artifacts-cat.ts')).command,
      },
      verify: {
        summary: 'Hash them again',
        load: async () => (await import('./commands/artifacts-verify.ts')).command,
      },
      gc: {
        summary: 'Remove what nothing needs any more',
        load: async () => (await import('./commands/artifacts-gc.ts')).command,
      },
    },
  },
  toolpack: {
    summary: 'Write and check toolpacks',
    commands: {
      new: {
        summary: 'Write one to begin with',
        load: async () => (await import('./commands/toolpack-new.ts')).command,
      },
      check: {
        summary: 'Hold one to the ABI and its calls',
        load: async () => (await import('./commands/toolpack-check.ts')).command,
      },
    },
  },
  gc: {
    summary: 'Clean up the state',
    load: async () => (await import('./commands/gc.ts')).command,
  },
  undo: {
    summary: 'Take back what a call changed',
    load: async () => (await import('./commands/undo.ts')).command,
  },
  doctor: {
    summary: 'Check this machine and workspace',
    load: async () => (await import('./commands/doctor.ts')).command,
  },
};

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
