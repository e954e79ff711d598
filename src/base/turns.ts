// Owns: work that waits for its turn: one piece after the other, or a line whose first goes on when somebody lets it.
// Refuses: to let a piece that fails, or a wait that is given up, hold up the next.

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

/** Resolves when the function that it adds to the line is called. Rejects, and leaves the line, when the signal aborts. */
export function waitTurn(line: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      const at = line.indexOf(go);
      if (at >= 0) line.splice(at, 1);
      reject(signal.reason);
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', leave, { once: true });
    line.push(go);
  });
}
