// Owns: an attempt whose failure means no more than that there is nothing: a file that is gone, a process that has ended.
// Refuses: to be used where somebody would have to know why.

/** What the action returns, or undefined where it throws. */
export function ignoreErrors<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Whether the action ends without throwing, such as a check of access. */
export function succeeds(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
