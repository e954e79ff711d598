// Owns: waiting in tests: for a condition, looked at again and again, never for an amount of time.
// Refuses: to wait for ever: what never comes fails with the words of what was waited for.
import assert from 'node:assert/strict';

/** Far beyond what anything takes, also on a machine that does much else. */
const PATIENCE_MS = 60_000;

export async function eventually(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string),
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) assert.fail(`never came: ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
