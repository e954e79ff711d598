// Owns: what a program or a service writes, as it comes: lines of progress on the way, and the answer, read as JSON or as text.
// Refuses: to hold more than an answer may be; the rest of it is kept elsewhere, with what came before.

import { isRecord } from '../base/is-record.ts';
import type { AnswerSpill, Invocation, InvocationResult } from '../contract/adapter.ts';
import { type Failure, fail } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/json.ts';
import { readAnswer, readProgress } from './answer.ts';

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
