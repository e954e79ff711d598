// Owns: what a program or a service answers: read as it comes, with lines of progress on the way, as data or an envelope around data or a failure.
// Refuses: to hold more than an answer may be (the rest is kept elsewhere, with what came before), and to hold a failure against a schema.
import { isRecord } from '../base/is-record.ts';
import type { AnswerSpill, Invocation, InvocationResult } from '../contract/adapter.ts';
import { type Failure, fail } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/json.ts';

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

/** A value of somebody else, short enough for a message. Whole or not at all: a part of a secret would not be found. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > 40 ? `a text of ${value.length} characters` : JSON.stringify(value);
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

interface AnswerReader {
  /**
   * What is more than an answer may be is kept elsewhere: to be awaited where a promise is answered. Throws
   * `output.too_large` where nothing more is kept.
   */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /** All that is no progress. To be asked once, at the end. Throws `output.too_large`. */
  text(): Promise<string>;
  /** For an answer that nobody will ask for. */
  discard(): Promise<void>;
}

interface AnswerReaderOptions {
  readonly id: string;
  readonly maxBytes: number;
  /** Where an answer goes that is larger. Without it, such an answer is lost. */
  readonly spill?: Invocation['spill'] | undefined;
  progress(progress: { readonly pct?: number; readonly message?: string }): void;
}

const NEWLINE = 0x0a;
/** A longer line is no progress. */
const MAX_PROGRESS_LINE = 8192;
const PROGRESS = /^\s*\{\s*"progress"\s*:/;

export function createAnswerReader({ id, maxBytes, spill, progress }: AnswerReaderOptions): AnswerReader {
  let kept: Uint8Array[] = [];
  let spilled: AnswerSpill | undefined;
  /** The last piece that is on its way there. */
  let writing: Promise<void> | undefined;
  let size = 0;
  /** The line that has not ended yet, while it could still be progress. */
  let line: Uint8Array[] = [];
  let length = 0;
  let isAnswer = false;

  const keep = (bytes: Uint8Array): void => {
    size += bytes.length;
    if (bytes.length === 0) return;
    if (size > maxBytes) return overflow(bytes);
    // Copied: what is read is used again for the next piece.
    kept.push(Buffer.from(bytes));
  };
  const overflow = (bytes: Uint8Array): void => {
    if (!spill) throw tooLarge(id, maxBytes);
    spilled ??= spill();
    for (const part of [...kept, bytes]) writing = spilled.write(part);
    kept = [];
    // Whoever does not wait learns of it at the end.
    writing?.catch(() => {});
  };
  const endLine = (): void => {
    const whole = Buffer.concat(line);
    const told = isAnswer ? undefined : progressOf(whole.toString());
    if (told) progress(told);
    else keep(whole);
    line = [];
    length = 0;
    isAnswer = false;
  };
  const add = (bytes: Uint8Array): void => {
    if (isAnswer) return keep(bytes);
    line.push(Buffer.from(bytes));
    length += bytes.length;
    if (length <= MAX_PROGRESS_LINE) return;
    isAnswer = true;
    for (const part of line) keep(part);
    line = [];
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        add(chunk.subarray(from, at + 1));
        endLine();
        from = at + 1;
      }
      if (from < chunk.length) add(chunk.subarray(from));
      return writing;
    },
    async text() {
      endLine();
      if (!spilled) return Buffer.concat(kept).toString();
      await writing;
      throw await spilled.fail(maxBytes);
    },
    async discard() {
      kept = [];
      await spilled?.discard();
    },
  };
}

function progressOf(line: string) {
  if (!PROGRESS.test(line)) return undefined;
  try {
    const message: unknown = JSON.parse(line);
    return isRecord(message) && Object.keys(message).length === 1
      ? readProgress(message.progress)
      : undefined;
  } catch {
    return undefined;
  }
}

export const tooLarge = (id: string, limit: number): Failure =>
  fail('output.too_large', `Cannot take the answer of "${id}": it is over the limit of ${limit} bytes`, {
    limit,
  });

/** What the tool's output schema says about plain text. */
const answersText = (schema: JsonSchema): boolean =>
  isRecord(schema) &&
  (schema.type === 'string' || (Array.isArray(schema.type) && schema.type.includes('string')));

/** Undefined where the text is not an answer. */
export function readAnswerText(text: string, schema: JsonSchema): InvocationResult | undefined {
  const trimmed = text.trim();
  const plain = { ok: true, data: text.replace(/\r?\n$/, '') } as const;
  if (trimmed === '') return answersText(schema) ? plain : { ok: true, data: null };
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch {
    return answersText(schema) ? plain : undefined;
  }
  const answer = readAnswer(value);
  // `wc -l` answers 12, which is JSON; a tool that promises text means "12".
  const isBare = answer.ok && answer.data === value;
  const promisesText = isRecord(schema) && schema.type === 'string';
  return isBare && promisesText && typeof value !== 'string' ? plain : answer;
}
