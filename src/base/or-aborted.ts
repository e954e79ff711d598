// Owns: waiting for a promise no longer than a signal allows.
// Refuses: to stop what the promise stands for; whoever started that hears the signal too.

/** The promise, or the signal's reason where that comes first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
