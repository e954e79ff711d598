// Owns: the four APIs that clients speak to models: which tools a request offers, what came back, and how a turn is written.
// Refuses: everything of them that a client does not need to call a tool.
import { randomUUID } from 'node:crypto';

export interface Offer {
  readonly name: string;
  readonly namespace?: string;
  /** Only its name was told: this tool has to be called first, to load it. */
  readonly by?: string;
}

/** What the model does next: a call, or a text, which ends the conversation. */
export type Turn =
  | { readonly offer: Offer; readonly args: Readonly<Record<string, string | number>> }
  | { readonly text: string };

// biome-ignore lint/suspicious/noExplicitAny: a request is whatever the client sends
type Body = any;

interface Dialect {
  readonly path: RegExp;
  offers(body: Body): readonly Offer[];
  results(body: Body): readonly string[];
  /** The same answer whole, and as a stream of events. */
  reply(turn: Turn, model: string): { readonly whole: unknown; readonly events: readonly unknown[] };
}

const list = (value: unknown): Body[] => (Array.isArray(value) ? value : []);
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const newId = (kind: string) => `${kind}_${randomUUID().replaceAll('-', '')}`;

/** Claude Code keeps the schemas of MCP tools back until its model asks for them. */
const LOADER = 'ToolSearch';

const messages: Dialect = {
  path: /\/v1\/messages$/,
  offers(body) {
    const names: string[] = list(body.tools).map(({ name }) => name);
    const told = names.includes(LOADER) ? (JSON.stringify(body.messages).match(/mcp__\w+/g) ?? []) : [];
    const later = [...new Set(told)].filter((name) => !names.includes(name));
    return [...names.map((name) => ({ name })), ...later.map((name) => ({ name, by: LOADER }))];
  },
  results(body) {
    const blocks = list(body.messages).flatMap(({ content }) => list(content));
    const loads = blocks
      .filter(({ type, name }) => type === 'tool_use' && name === LOADER)
      .map(({ id }) => id);
    return blocks
      .filter(({ type, tool_use_id }) => type === 'tool_result' && !loads.includes(tool_use_id))
      .map(({ content }) => asText(content));
  },
  reply(turn, model) {
    const isCall = 'offer' in turn;
    const block = isCall
      ? { type: 'tool_use', id: newId('toolu'), name: turn.offer.name, input: turn.args }
      : { type: 'text', text: turn.text };
    const stop = { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const whole = {
      id: newId('msg'),
      type: 'message',
      role: 'assistant',
      model,
      content: [block],
      ...stop,
      usage,
    };
    const empty = isCall ? { ...block, input: {} } : { ...block, text: '' };
    const delta = isCall
      ? { type: 'input_json_delta', partial_json: JSON.stringify(turn.args) }
      : { type: 'text_delta', text: turn.text };
    const events = [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: stop, usage },
      { type: 'message_stop' },
    ];
    return { whole, events };
  },
};

const responses: Dialect = {
  path: /\/responses$/,
  offers: ({ tools }) =>
    list(tools).flatMap((tool) =>
      tool.type === 'namespace'
        ? list(tool.tools).map(({ name }) => ({ name, namespace: tool.name }))
        : tool.name
          ? [{ name: tool.name }]
          : [],
    ),
  results: ({ input }) =>
    list(input)
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output }) => asText(output)),
  reply(turn, model) {
    const item =
      'offer' in turn
        ? {
            type: 'function_call',
            id: newId('fc'),
            call_id: newId('call'),
            ...turn.offer,
            arguments: JSON.stringify(turn.args),
            status: 'completed',
          }
        : {
            type: 'message',
            id: newId('msg'),
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: turn.text, annotations: [] }],
          };
    const counts = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const details = {
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    };
    const base = { id: newId('resp'), object: 'response', created_at: 0, model };
    const whole = { ...base, status: 'completed', output: [item], usage: { ...counts, ...details } };
    const events = [
      { type: 'response.created', response: { ...base, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: whole },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    return { whole, events };
  },
};

const chat: Dialect = {
  path: /\/chat\/completions$/,
  offers: ({ tools }) => list(tools).flatMap((tool) => (tool.function ? [{ name: tool.function.name }] : [])),
  results: (body) =>
    list(body.messages)
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => asText(content)),
  reply(turn, model) {
    const isCall = 'offer' in turn;
    const call = isCall && {
      index: 0,
      id: newId('call'),
      type: 'function',
      function: { name: turn.offer.name, arguments: JSON.stringify(turn.args) },
    };
    const message = {
      role: 'assistant',
      content: isCall ? null : turn.text,
      ...(call ? { tool_calls: [call] } : {}),
    };
    const finish_reason = isCall ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const base = { id: newId('chat'), created: 0, model };
    const chunk = (delta: object, reason: string | null) => ({
      ...base,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }],
      usage,
    });
    return {
      whole: { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage },
      events: [chunk(message, null), chunk({}, finish_reason), '[DONE]'],
    };
  },
};

const gemini: Dialect = {
  path: /:(streamG|g)enerateContent$/,
  offers: ({ tools }) => list(tools).flatMap((tool) => list(tool.functionDeclarations)),
  results: ({ contents }) =>
    list(contents)
      .flatMap(({ parts }) => list(parts))
      .filter(({ functionResponse }) => functionResponse)
      .map(({ functionResponse }) => asText(functionResponse.response)),
  reply(turn) {
    const part =
      'offer' in turn ? { functionCall: { name: turn.offer.name, args: turn.args } } : { text: turn.text };
    const whole = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'scripted',
    };
    return { whole, events: [whole] };
  },
};

export const DIALECTS: readonly Dialect[] = [messages, responses, chat, gemini];
