// Owns: how a conformance suite is written down (named cases over an environment) and run.
// Refuses: to know what is tested; each family has its own suite.
import { AssertionError } from 'node:assert/strict';
import { describe, it } from 'node:test';

/** What a case runs against. Each case gets a fresh one. */
export interface Environment {
  close(): Promise<void>;
}

export interface ConformanceCase<E extends Environment> {
  readonly name: string;
  run(env: E): Promise<void>;
}

/** Registers the cases with node:test. */
export function registerCases<E extends Environment>(
  title: string,
  cases: readonly ConformanceCase<E>[],
  open: () => Promise<E>,
): void {
  describe(title, () => {
    for (const one of cases) it(one.name, () => runCase(one, open));
  });
}

/** Runs the cases by themselves and answers the names of those that failed. */
export async function failingCases<E extends Environment>(
  cases: readonly ConformanceCase<E>[],
  open: () => Promise<E>,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const one of cases) await runCase(one, open).catch(() => failed.push(one.name));
  return failed;
}

/** A leaf that hangs fails its case instead of hanging the suite. */
export async function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AssertionError({ message: `no answer within ${ms} ms` })), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runCase<E extends Environment>(
  one: ConformanceCase<E>,
  open: () => Promise<E>,
): Promise<void> {
  const env = await open();
  try {
    await one.run(env);
  } finally {
    await env.close();
  }
}
