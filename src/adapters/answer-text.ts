// Owns: making data of the text that a program or a service answered with.
// Refuses: to take what is not JSON for data, unless the tool says that it answers with text.
import { isRecord } from '../base/is-record.ts';
import type { InvocationResult } from '../contract/adapter.ts';
import type { JsonSchema } from '../contract/json.ts';
import { readAnswer } from './answer.ts';

/** What the tool's output schema says about plain text. */
export const answersText = (schema: JsonSchema): boolean =>
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
