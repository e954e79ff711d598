// Owns: `ctx.processes`: the process table of this machine, from /proc.
// Refuses: to show a command line before its secrets are made unreadable, and to keep the event loop for long.
import type { CallScope, ProcessHandle } from '../../contract/capability.ts';

/** Reading the table is loaded with the first look at it. */
export function createProcessHandle(scope: CallScope): ProcessHandle {
  return {
    async list(query) {
      scope.admit({ kind: 'proc.list' });
      return (await import('./list-processes.ts')).listProcesses(query, scope.signal);
    },
  };
}
