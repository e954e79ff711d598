// Owns: turning a hang into a failure that says what hung.
// Refuses: to measure: the limit is far beyond anything but a hang.

const HANG_MS = 120_000;

export async function inTime<T>(work: Promise<T>, what: string, ms = HANG_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), ms);
  });
  try {
    return await Promise.race([work, hang]);
  } finally {
    clearTimeout(timer);
  }
}
