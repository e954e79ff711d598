// Owns: which signals end a command in order, so that what it started is ended and looked after first.
// Refuses: to ignore any: Node has forgotten by now what it was started to ignore.

/** Also for a terminal that was closed, a connection that was lost, and Ctrl-\. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

export function onceEnding(listener: () => void): void {
  for (const signal of ENDING) process.once(signal, listener);
}
