// Owns: how tools and responses look in MCP; docs/reference/mcp.md holds the same as a table.
// Refuses: to lose anything: what MCP has no field for travels in `_meta` under `haft/`.
import { isRecord } from '../../base/is-record.ts';
import { quoteText } from '../../base/quote-text.ts';
import type { CallResponse } from '../../contract/envelope.ts';
import type { ErrorEntry } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ToolListing } from '../../contract/runtime.ts';
import { onlyReads, type ToolContract } from '../../contract/tool.ts';

/** A tool in `tools/list`. */
export function toMcpTool({ contract, name, origin }: ToolListing) {
  const readOnly = onlyReads(contract);
  return {
    name: name ?? contract.id,
    title: contract.title,
    description: contract.description,
    inputSchema: contract.input,
    // MCP knows objects alone, and a client that finds another schema takes none of the tools.
    ...(isRecord(contract.output) && contract.output.type === 'object'
      ? { outputSchema: contract.output }
      : {}),
    annotations: {
      title: contract.title,
      readOnlyHint: readOnly,
      destructiveHint: contract.mutates || !contract.idempotent,
      idempotentHint: contract.idempotent,
      openWorldHint: reachesOut(contract, origin),
    },
  };
}

/** Of a pack's tool nobody knows that it does not, unless it answers the same each time or its server says so. */
function reachesOut({ tags, deterministic }: ToolContract, origin: string): boolean {
  if (tags.includes('network') || tags.includes('shell')) return true;
  return origin.startsWith('pack ') && !deterministic && !tags.includes('mcp');
}

/** A message in pieces: text, and bytes that are sent more than once. */
export type Pieces = readonly (string | Uint8Array)[];

/** From this length on, quoting a text twice and joining it costs more than sending it in pieces. */
const LONG_TEXT = 16 * 1024;

/**
 * The result of `tools/call`, as JSON. The text block is the answer as JSON, or the one field that a reader wants to
 * see unquoted, a list of texts line by line; an upstream server's blocks are passed on as they came. A failure carries no
 * `structuredContent`, so that no client holds it against the output schema; nor does an answer that is no object, which MCP cannot carry there.
 */
export function callResult(response: CallResponse, { tool, dryRun }: CalledTool, extra: string): Pieces {
  const meta = metaOf(response);
  const callId = tool?.mutates && !dryRun && mayHaveChanged(response) ? textBlock(callIdText(response)) : '';
  const { content } = response;
  if (!response.ok) {
    const text = JSON.stringify(response.errors.map(errorText).join('\n'));
    const blocks = content ? `,${contentBlocks(content.blocks)}` : '';
    return [
      `{"content":[{"type":"text","text":${text}}${blocks}${callId}],"isError":true${extra},"_meta":${meta}}`,
    ];
  }
  if (content) {
    const blocks = `${contentBlocks(content.blocks)}${warningBlocks(response)}${callId}`;
    const { content: _, ...rest } = response.data as Record<string, unknown>;
    const data = content.inData ? rest : response.data;
    const structured = isRecord(data) ? `"structuredContent":${JSON.stringify(data)},` : '';
    return [`{"content":[${blocks}],${structured}"isError":false${extra},"_meta":${meta}}`];
  }
  if (!isRecord(response.data)) {
    const { data } = response;
    const said = JSON.stringify(typeof data === 'string' ? data : JSON.stringify(data));
    return [
      `{"content":[{"type":"text","text":${said}}${warningBlocks(response)}${callId}],"isError":false${extra},"_meta":${meta}}`,
    ];
  }
  const textField = tool?.textField;
  const begin = '{"content":[{"type":"text","text":';
  const middle = `}${warningBlocks(response)}${callId}],"structuredContent":`;
  const end = `,"isError":false${extra},"_meta":${meta}}`;
  const shown = textField === undefined ? undefined : (response.data as Record<string, unknown>)[textField];
  const text = Array.isArray(shown) ? shown.join('\n') : shown;
  if (textField !== undefined && typeof shown === 'string' && shown.length > LONG_TEXT) {
    const { [textField]: _, ...rest } = response.data as Record<string, unknown>;
    const quoted = quoteText(shown);
    const others = JSON.stringify(rest).slice(1, -1);
    return [
      begin,
      quoted,
      `${middle}{${others}${others ? ',' : ''}${JSON.stringify(textField)}:`,
      quoted,
      `}${end}`,
    ];
  }
  const data = JSON.stringify(response.data);
  return [`${begin}${JSON.stringify(typeof text === 'string' ? text : data)}${middle}${data}${end}`];
}

/** What a result looks like depends on the tool, where it is known. */
interface CalledTool {
  readonly tool: ToolContract | undefined;
  /** The caller only wanted to see what would change. */
  readonly dryRun?: boolean;
}

const textBlock = (text: string): string => `,${JSON.stringify({ type: 'text', text })}`;

/** What the reader should know beside the answer, each as a block of its own. */
function warningBlocks({ warnings = [] }: CallResponse): string {
  return warnings.map(({ message }) => textBlock(`Note: ${message}`)).join('');
}

/** Most clients show a model the text alone, and `undo` takes the id. */
const callIdText = ({ callId }: CallResponse): string => `call_id: ${callId}`;

/** What was refused before it began changed nothing. */
const mayHaveChanged = ({ errors: [error] }: CallResponse): boolean =>
  error === undefined || (error.code !== 'E_POLICY' && error.code !== 'E_VALIDATION_FAIL');

function metaOf(response: CallResponse): string {
  const { callId, runId, replayed, durationMs, errors, warnings } = response;
  const always = `"haft/call_id":${JSON.stringify(callId)},"haft/duration_ms":${durationMs}`;
  if (runId === undefined && errors.length === 0 && !warnings) return `{${always}}`;
  const more = JSON.stringify({
    ...(runId === undefined ? {} : { 'haft/run_id': runId, 'haft/replayed': replayed }),
    ...(errors.length > 0 ? { 'haft/errors': errors } : {}),
    ...(warnings ? { 'haft/warnings': warnings } : {}),
  });
  return `{${always},${more.slice(1)}`;
}

/** What the model reads: the code, the fact, and what would admit the call. */
function errorText(error: ErrorEntry): string {
  const admit = error.details?.admit;
  const hint = typeof admit === 'string' ? `\nhaft.yaml would admit it with:\n${admit}` : '';
  return `${error.code} ${error.reason}: ${error.message}${hint}`;
}

/** The JSON text of the blocks, without the brackets around them. */
const contentBlocks = (blocks: readonly JsonObject[]): string =>
  blocks
    .map((block) => JSON.stringify(isBlock(block) ? block : { type: 'text', text: JSON.stringify(block) }))
    .join(',');

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
