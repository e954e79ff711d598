// Owns: work that must not run beside itself: each piece begins when the one before it has ended.
// Refuses: to let one that fails hold up the next.

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}
