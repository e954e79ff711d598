// Owns: what the result of `tools/call` is here: data, or a failure in the tool's own words.
// Refuses: to hold a failure against the output schema, and to lose a block that is not text.
import { isRecord } from '../../base/is-record.ts';
import type { InvocationResult } from '../../contract/adapter.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import { shownValue } from '../answer.ts';
import type { RpcAnswer } from './protocol.ts';

/**
 * The output of tools that describe none: the text of all text blocks. `content` has every block where one of them is
 * no text, and `structured` what came beside them. (Doors that have blocks of their own show those instead.)
 */
export const PLAIN_OUTPUT: JsonSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'The text blocks of the answer, one after the other.' },
    content: {
      type: 'array',
      description: 'All blocks, where some are not text.',
      items: { type: 'object' },
    },
    structured: { description: 'The structured part, where there is one.' },
  },
  required: ['text'],
};

/** `described`: whether the tool has an output schema of its own. */
export function readCallResult(answer: RpcAnswer, described: boolean): InvocationResult {
  if ('error' in answer) {
    const { code, message, data } = answer.error;
    return { ok: false, message, details: { code, ...(data === undefined ? {} : { data }) } };
  }
  const { result } = answer;
  const { resultType = 'complete', structuredContent } = result;
  if (resultType === 'input_required')
    return {
      ok: false,
      message: 'the tool asks for something that only a person could answer, and nobody can be asked here',
      details: { inputRequests: result.inputRequests ?? null },
    };
  if (resultType !== 'complete')
    return { ok: false, message: `the tool answers with a "${resultType}" that is not known here` };
  const fault = contentFault(result);
  if (fault !== undefined)
    return {
      ok: false,
      message: `the server broke the protocol, and nobody can say what came of the call: ${fault}`,
    };
  const blocks = Array.isArray(result.content) ? result.content.filter(isRecord) : [];
  const text = blocks
    .filter((block) => block.type === 'text' && typeof block.text === 'string')
    .map((block) => block.text)
    .join('\n');
  const isMixed = blocks.some((block) => block.type !== 'text');
  const others = isMixed ? { content: blocks } : {};
  const shown = (inData: boolean) =>
    isMixed ? { content: { blocks: blocks as readonly JsonObject[], inData } } : {};
  if (result.isError === true) {
    const details = {
      ...others,
      ...(structuredContent === undefined ? {} : { structured: structuredContent }),
    };
    return {
      ok: false,
      message: text === '' ? 'the tool says that it failed' : text,
      ...(Object.keys(details).length === 0 ? {} : { details }),
      ...shown(true),
    };
  }
  if (described && structuredContent !== undefined)
    return { ok: true, data: structuredContent, ...shown(false) };
  const structured = structuredContent === undefined ? {} : { structured: structuredContent };
  return { ok: true, data: { text, ...others, ...structured }, ...shown(true) };
}

function contentFault({ content, isError }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof (isError ?? false) !== 'boolean')
    return `"isError" of its answer is ${shownValue(isError)}, neither true nor false`;
  if (content === undefined || content === null) return undefined;
  if (!Array.isArray(content)) return `"content" of its answer is ${shownValue(content)}, not a list`;
  for (const block of content) {
    if (!isRecord(block)) return `a block of its answer is ${shownValue(block)}, not an object`;
    if (typeof block.type !== 'string') return 'a block of its answer has no type';
    if (block.type === 'text' && typeof block.text !== 'string')
      return 'a block of its answer is of type "text", and has no text';
  }
  return undefined;
}
