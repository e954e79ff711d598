// Owns: what a program's answer is: the data itself, or an envelope around data or a failure.
// Refuses: to hold a failure against a schema.
import { isRecord } from '../base/is-record.ts';
import type { InvocationResult } from '../contract/adapter.ts';

/** An object is an envelope when it has `ok` and beside it only what envelopes have, one of them `data` or an error. */
export function readAnswer(answer: unknown): InvocationResult {
  return isRecord(answer) && isEnvelope(answer) ? readEnvelope(answer) : { ok: true, data: answer };
}

/** For what cannot be anything but an envelope: without `ok` it succeeded. */
export function readEnvelope(envelope: Readonly<Record<string, unknown>>): InvocationResult {
  return envelope.ok === false ? failureOf(envelope) : { ok: true, data: envelope.data ?? null };
}

/** What keeps a reply from being one: `ok` has to be true or false, and nothing that is ok has an error. */
export function replyFault({ ok, error }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof ok !== 'boolean')
    return ok === undefined ? 'it has no "ok"' : `its "ok" is ${shownValue(ok)}, neither true nor false`;
  if (ok && error !== undefined && error !== null) return 'it is ok, and has an error';
  return undefined;
}

/** A value of somebody else, short enough for a message. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value);
}

/** The words of a failure, wherever they are written. */
function failureOf(envelope: Readonly<Record<string, unknown>>): InvocationResult {
  const errors = Array.isArray(envelope.errors) ? envelope.errors : [];
  const first: unknown = envelope.error ?? errors[0];
  const words = isRecord(first) ? (first.message ?? first.reason) : first;
  const message = typeof words === 'string' && words !== '' ? words : 'the tool says that it failed';
  const given = isRecord(first) ? (first.details ?? first.data) : undefined;
  const details = {
    ...(isRecord(first) && first.code !== undefined ? { code: first.code } : {}),
    ...(isRecord(given) ? given : given === undefined ? {} : { details: given }),
  };
  return { ok: false, message, ...(Object.keys(details).length === 0 ? {} : { details }) };
}

/** Of the ToolResponse of the envelope, and `error` for programs that have only one. */
const FIELDS = new Set([
  ...['type', 'ok', 'tool', 'request_id', 'call_id', 'run_id', 'replayed', 'duration_ms'],
  ...['data', 'errors', 'warnings', 'error'],
]);

function isEnvelope(answer: Readonly<Record<string, unknown>>): boolean {
  if (typeof answer.ok !== 'boolean') return false;
  const keys = Object.keys(answer);
  return keys.every((key) => FIELDS.has(key)) && keys.some((key) => TELLING.has(key));
}

const TELLING = new Set(['data', 'error', 'errors', 'type']);

/** Progress as programs write it: per cent alone, or with words. Undefined where it is none. */
export function readProgress(
  value: unknown,
): { readonly pct?: number; readonly message?: string } | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? { pct: value } : undefined;
  if (!isRecord(value)) return undefined;
  const { pct, message } = value;
  return {
    ...(typeof pct === 'number' && Number.isFinite(pct) ? { pct } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
