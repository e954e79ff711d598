// Owns: an attempt whose failure means no more than that there is nothing: a file of /proc that is gone.
// Refuses: to be used where somebody would have to know why.

export function orUndefined<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Whether an access check passes. */
export function succeeds(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
