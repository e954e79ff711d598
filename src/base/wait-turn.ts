// Owns: waiting in a line until somebody lets the first one go on, or the wait is given up.
// Refuses: to say when; whoever has a free place takes the first of the line and calls it.

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
