// Owns: how a response looks as the result of `tools/call`; docs/reference/mcp.md holds the same as a table.
// Refuses: to lose anything: what the text does not show travels in `_meta` under `haft/`.
import { isRecord } from '../../base/is-record.ts';
import { quoteText } from '../../base/quote-text.ts';
import type { CallResponse } from '../../contract/envelope.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ToolContract } from '../../contract/tool.ts';
import { answerText } from './answer-text.ts';
import { errorText } from './error-text.ts';

/** A message in pieces: text, and bytes that are sent more than once. */
export type Pieces = readonly (string | Uint8Array)[];

export interface CalledTool {
  /** Undefined where there is none of that name. */
  readonly tool: ToolContract | undefined;
  readonly args: JsonObject;
  /** The tool was listed with the schema of its answers: they come as `structuredContent`, too. */
  readonly structured: boolean;
}

/** From this length on, quoting a text once for both places, and sending it in pieces, is worth it. */
const LONG_TEXT = 16 * 1024;

/**
 * The result of `tools/call`, as JSON. The first block is the answer as text (`answer-text.ts`), or an upstream server's
 * blocks as they came. A failure carries no `structuredContent`, so that no client holds it against the output schema; nor
 * does an answer that is no object, which MCP cannot carry there. `extra` is the tail of the result.
 */
export function callResult(response: CallResponse, called: CalledTool, extra: string): Pieces {
  const callId = isUndoable(response, called) ? [`call_id: ${response.callId}`] : [];
  if (!response.ok) {
    const text = response.errors.map(errorText).join('\n');
    const blocks = [textBlock(text), ...contentBlocks(response), ...callId.map(textBlock)].join(',');
    return [`{"content":[${blocks}],"isError":true${extra},"_meta":${metaOf(response)}}`];
  }
  const notes = [...notesOf(response), ...callId].map((note) => `,${textBlock(note)}`).join('');
  const { data } = response;
  if (response.content) return [shownContent(response, called, notes, extra)];
  if (!isRecord(data)) {
    const text = textBlock(typeof data === 'string' ? data : JSON.stringify(data));
    return [`{"content":[${text}${notes}],"isError":false${extra},"_meta":${metaOf(response)}}`];
  }
  const { text, shows } = answerText(called.tool, data, called.args);
  const quoted = text.length > LONG_TEXT ? quoteText(text) : JSON.stringify(text);
  const begin = '{"content":[{"type":"text","text":';
  const middle = `}${notes}]`;
  const end = `,"isError":false${extra},"_meta":`;
  if (called.structured) {
    const [field, ...others] = shows ?? [];
    // A field that is the whole text is quoted once.
    if (typeof quoted !== 'string' && field !== undefined && others.length === 0 && data[field] === text) {
      const rest = JSON.stringify(without(data, [field])).slice(1, -1);
      const opened = `,"structuredContent":{${rest}${rest ? ',' : ''}${JSON.stringify(field)}:`;
      return [begin, quoted, `${middle}${opened}`, quoted, `}${end}${metaOf(response)}}`];
    }
    return [begin, quoted, `${middle},"structuredContent":${JSON.stringify(data)}${end}${metaOf(response)}}`];
  }
  const beside = shows && without(data, shows);
  const meta = metaOf(response, beside && Object.keys(beside).length > 0 ? beside : undefined);
  return typeof quoted === 'string'
    ? [`${begin}${quoted}${middle}${end}${meta}}`]
    : [begin, quoted, `${middle}${end}${meta}}`];
}

/** The blocks that an upstream server answered with; its data beside them, where no block would say it. */
function shownContent(response: CallResponse, called: CalledTool, notes: string, extra: string): string {
  const { content, data } = response;
  const fields = isRecord(data) ? data : {};
  const unsaid = content!.inData ? fields.structured : data;
  const isSaid = unsaid === undefined || content!.blocks.some(({ type }) => type === 'text');
  const blocks = [...contentBlocks(response), ...(isSaid ? [] : [textBlock(JSON.stringify(unsaid))])];
  const shown = content!.inData && isRecord(data) ? without(data, ['content']) : data;
  const structured =
    called.structured && isRecord(shown) ? `,"structuredContent":${JSON.stringify(shown)}` : '';
  return `{"content":[${blocks.join(',')}${notes}]${structured},"isError":false${extra},"_meta":${metaOf(response)}}`;
}

const without = (data: Readonly<Record<string, unknown>>, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(data).filter(([field]) => !fields.includes(field)));

const textBlock = (text: string): string => JSON.stringify({ type: 'text', text });

/** What the reader should know beside the answer, each as a block of its own. That something was cut is always said. */
function notesOf({ warnings = [], data }: CallResponse): readonly string[] {
  const notes = warnings.map(({ message }) => `Note: ${message}`);
  const isCut = isRecord(data) && data.truncated === true;
  const isTold = warnings.some(({ reason }) => reason.endsWith('truncated'));
  return isCut && !isTold ? [...notes, 'Note: truncated; narrow the call or raise its limit'] : notes;
}

/**
 * Whether `undo` can take the call back: of programs and of tools of packs nobody knows what they changed, and what was
 * refused before it began changed nothing.
 */
function isUndoable({ errors: [error] }: CallResponse, { tool, args }: CalledTool): boolean {
  if (!tool?.mutates || !tool.tags.includes('filesystem') || args.dry_run === true) return false;
  if (error === undefined) return true;
  return !['E_POLICY', 'E_VALIDATION_FAIL'].includes(error.code) && !error.reason.startsWith('patch.');
}

/** `data` is what of the answer the text does not hold. */
function metaOf(response: CallResponse, data?: object): string {
  const { callId, runId, replayed, durationMs, errors, warnings } = response;
  const always = `"haft/call_id":${JSON.stringify(callId)},"haft/duration_ms":${durationMs}`;
  if (runId === undefined && errors.length === 0 && !warnings && !data) return `{${always}}`;
  const more = JSON.stringify({
    ...(runId === undefined ? {} : { 'haft/run_id': runId, 'haft/replayed': replayed }),
    ...(errors.length > 0 ? { 'haft/errors': errors } : {}),
    ...(warnings ? { 'haft/warnings': warnings } : {}),
    ...(data ? { 'haft/data': data } : {}),
  });
  return `{${always},${more.slice(1)}`;
}

const contentBlocks = ({ content }: CallResponse): readonly string[] =>
  (content?.blocks ?? []).map((block) =>
    JSON.stringify(isBlock(block) ? block : { type: 'text', text: JSON.stringify(block) }),
  );

const KINDS: { readonly [type: string]: (block: JsonObject) => boolean } = {
  text: ({ text }) => typeof text === 'string',
  image: ({ data, mimeType }) => typeof data === 'string' && typeof mimeType === 'string',
  audio: ({ data, mimeType }) => typeof data === 'string' && typeof mimeType === 'string',
  resource: ({ resource }) =>
    isRecord(resource) &&
    typeof resource.uri === 'string' &&
    (typeof resource.text === 'string' || typeof resource.blob === 'string'),
  resource_link: ({ uri, name }) => typeof uri === 'string' && typeof name === 'string',
};

function isBlock(block: JsonObject): boolean {
  const { type } = block;
  return typeof type === 'string' && Object.hasOwn(KINDS, type) && KINDS[type]!(block);
}
