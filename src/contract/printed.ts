// Owns: what a program had printed when its call ran out of time or was cancelled: the same fields in the details of every such failure.
// Refuses: to hold more than the two ends of it.
import { type BothEnds, createBothEnds } from '../base/bounded-buffer.ts';
import { fail, isFailure } from './errors.ts';
import type { JsonObject } from './json.ts';

export type PrintedStream = 'stdout' | 'stderr';

export interface Printed {
  push(stream: PrintedStream, chunk: Uint8Array): void;
  /** What ended a program, or was found after it: with `stdout` and `stderr` in its details; whatever else was thrown as it is. */
  into(thrown: unknown, redact?: (text: string) => string): unknown;
}

/** Found once the program had run. */
const AFTERWARDS: readonly string[] = ['policy.quarantined', 'sandbox.fence_fell'];

/** Of each stream: a quarter from its beginning, the rest from its end. */
const KEPT_BYTES = 16 * 1024;

export function createPrinted(): Printed {
  const kept: { [stream in PrintedStream]?: BothEnds } = {};
  return {
    push(stream, chunk) {
      kept[stream] ??= createBothEnds(KEPT_BYTES);
      kept[stream].push(chunk);
    },
    into(thrown, redact = (text) => text) {
      if (!isFailure(thrown) || (thrown.code !== 'E_TIMEOUT' && !AFTERWARDS.includes(thrown.reason)))
        return thrown;
      const text = (stream: PrintedStream) =>
        redact(Buffer.from(kept[stream]?.bytes() ?? new Uint8Array()).toString('utf8'));
      const details: JsonObject = { ...thrown.details, stdout: text('stdout'), stderr: text('stderr') };
      return fail(thrown.reason, thrown.message, details);
    },
  };
}

/** The printed text in such details, for those who read a text and no fields. */
export function printedText(details: Readonly<Record<string, unknown>>): readonly string[] {
  return ['stdout', 'stderr'].flatMap((name) => {
    const text = details[name];
    return typeof text === 'string' && text !== '' ? [`${name} so far:`, text.replace(/\n$/, '')] : [];
  });
}
