// Owns: how many searches run at once, and the shells that are kept for the next.
// Refuses: to let a search outlive its call: what is aborted is killed, shell and all.
import { type Ended, type KeptShell, type Program, startKeptShell } from './kept-shell.ts';

export interface ShellPool {
  /** Waits for a free place. Rejects with the signal's reason once it aborts. */
  run(program: Program, signal: AbortSignal): Promise<Ended>;
  /** Ends every shell. Programs under way end too. */
  close(): void;
}

/** A search uses every processor there is; more at once only take longer together. */
const MAX_RUNNING = 4;
const MAX_IDLE = 2;

export function createShellPool(start: () => KeptShell = startKeptShell): ShellPool {
  const idle: KeptShell[] = [];
  const busy = new Set<KeptShell>();
  const waiting: (() => void)[] = [];
  let closed = false;

  const take = (): KeptShell => {
    const shell = idle.pop();
    if (!shell) return start();
    return shell.gone ? take() : shell;
  };
  const giveBack = (shell: KeptShell) => {
    busy.delete(shell);
    if (closed || idle.length >= MAX_IDLE) shell.kill();
    if (!shell.gone) idle.push(shell);
    waiting.shift()?.();
  };

  return {
    async run(program, signal) {
      signal.throwIfAborted();
      while (busy.size >= MAX_RUNNING) await turn(waiting, signal);
      if (signal.aborted) {
        // It was this one's turn; the next shall have it.
        waiting.shift()?.();
        throw signal.reason;
      }
      const shell = take();
      busy.add(shell);
      signal.addEventListener('abort', shell.kill, { once: true });
      try {
        const ended = await shell.run(program);
        signal.throwIfAborted();
        return ended;
      } finally {
        signal.removeEventListener('abort', shell.kill);
        giveBack(shell);
      }
    },
    close() {
      closed = true;
      for (const shell of [...idle.splice(0), ...busy]) shell.kill();
    },
  };
}

async function turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  let leave = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      leave = () => {
        const at = waiting.indexOf(resolve);
        if (at >= 0) waiting.splice(at, 1);
        reject(signal.reason);
      };
      waiting.push(resolve);
      signal.addEventListener('abort', leave, { once: true });
    });
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
