// Owns: cutting spans out of a text, each replaced by one mark.
// Refuses: to find them.
import type { Span } from './automaton.ts';

export const REDACTED = '[redacted]';

/** Overlapping and touching spans become one mark. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let result = '';
  let kept = 0;
  for (const [start, end] of mergeSpans(spans)) {
    result += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return result + text.slice(kept);
}

/** In order, none touching another. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}
