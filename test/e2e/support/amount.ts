// Owns: how much of a stress test is run: all of it in `npm run stress`, a taste of it everywhere else.
// Refuses: to be zero.

export function amount(variable: string, full: number, taste: number): number {
  const given = Number(process.env[variable]);
  if (Number.isInteger(given) && given > 0) return given;
  return process.env.HAFT_STRESS === 'full' ? full : taste;
}
