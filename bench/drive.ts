// Owns: the load that a round puts on a contender: calls kept in flight for a while, each one timed.
// Refuses: to look at answers; a call that fails throws, and that ends the run.
import type { Figures } from './measure.ts';
import { percentile } from './measure.ts';

export interface Load {
  readonly inFlight: number;
  /** No call begins after this time. */
  readonly ms: number;
  /** But at least so many do. */
  readonly atLeast?: number;
}

/** Closed loop: a call that ends makes room for the next. `call` is told which one it is, from 0. */
export async function drive(call: (index: number) => Promise<unknown>, load: Load): Promise<Figures> {
  const latencies: number[] = [];
  const atLeast = Math.max(load.inFlight, load.atLeast ?? 0);
  let begun = 0;
  const start = performance.now();
  const end = start + load.ms;
  const keep = async () => {
    for (let before = performance.now(); before < end || begun < atLeast; ) {
      await call(begun++);
      const after = performance.now();
      latencies.push(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: load.inFlight }, keep));
  const elapsed = performance.now() - start;
  return {
    each: elapsed / latencies.length,
    rate: (latencies.length / elapsed) * 1000,
    p50: percentile(latencies, 0.5),
    p95: percentile(latencies, 0.95),
  };
}

/** Latency with one call in flight, throughput with many: two phases of one round. */
export async function driveBoth(call: (index: number) => Promise<unknown>, load: Load): Promise<Figures> {
  const alone = await drive(call, { ...load, inFlight: 1 });
  const together = await drive(call, load);
  return { p50: alone.p50!, p95: alone.p95!, rate: together.rate!, each: together.each! };
}

/** Times `count` runs of something that cannot be asked twice, such as a whole process. */
export async function repeat(count: number, once: () => Promise<number>): Promise<Figures> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await once());
  return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
}
