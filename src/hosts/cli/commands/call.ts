// Owns: `haft call`: one ToolRequest from the command line, one ToolResponse on standard output.
// Refuses: to interpret what a tool answers.
import { parseStrict } from '../../../base/strict-json.ts';
import { readPlacement } from '../../../contract/backend.ts';
import { toToolResponse } from '../../../contract/envelope.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { CallOptions } from '../../../contract/runtime.ts';
import { describeError } from '../../../contract/terminal-text.ts';
import type { Command, Invocation } from '../command.ts';
import { readFileArgument } from '../read-argument.ts';

/** The largest request that is read from a file or a pipe; tools have smaller limits of their own. */
const LARGEST = 64 * 1024 * 1024;

export const command: Command = {
  summary: 'Call a tool',
  usage: 'TOOL [JSON | @file | -]',
  description: 'Arguments are a JSON object, a file that holds one (@args.json), or standard input (-).',
  options: {
    session: { type: 'string', value: 'ID', help: 'make the call in this session, opening it if need be' },
    'request-id': { type: 'string', value: 'ID', help: 'the request_id to send' },
    backend: { type: 'string', value: 'NAME', help: 'where a run is executed, among what policy grants' },
    place: {
      type: 'string',
      value: 'KEY=VALUE,…',
      help: 'partition, account, qos or gres of its Slurm job, among what policy lists',
    },
  },
  examples: [`haft call file_read '{"path":"README.md"}'`, 'haft call file_write @args.json --json'],
  positionals: [1, 2],
  async run(invocation) {
    const { positionals, flags, io, json } = invocation;
    const tool = positionals[0]!;
    const args = parseArgs(await argumentText(invocation));
    const runtime = await invocation.runtime();
    const sessionId = flags.session as string | undefined;
    if (sessionId !== undefined) await runtime.sessions.open({ id: sessionId });
    const response = await runtime.call(
      { tool, args, sessionId, requestId: flags['request-id'] as string | undefined },
      {
        // A process that ends with its call gains nothing by answering before the row is there.
        recordFirst: true,
        once: true,
        signal: () => io.signal,
        ...runPlace(flags),
        onEvent: (event) => {
          const { pct, message } = event.progress ?? {};
          if (io.tty && event.progress) io.err(`${pct === undefined ? '' : `${pct}% `}${message ?? ''}\n`);
        },
      },
    );
    io.out(`${JSON.stringify(toToolResponse(response), null, json || !io.tty ? undefined : 2)}\n`);
    const [error] = response.errors;
    if (!error) return 0;
    if (io.tty || !json) io.err(describeError(error));
    return ERRORS[error.reason].exit;
  },
};

async function argumentText({ positionals, io }: Invocation): Promise<string> {
  const given = positionals[1] ?? '{}';
  if (given === '-') return decode(await io.readStdin(LARGEST), 'standard input');
  if (given.startsWith('@')) return decode(await readFileArgument(given.slice(1), LARGEST), given.slice(1));
  return given;
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw fail('input.not_json', `Cannot read the arguments from ${source}: they are not UTF-8 text`);
  }
}

/** The object that the text of the arguments holds. */
export function parseArgs(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseStrict(text);
  } catch (thrown) {
    const { message } = thrown as Error;
    throw fail(
      'input.not_json',
      `${message.replace(/^Cannot parse the text/, 'Cannot read the arguments')}; ${FORM}`,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fail('input.not_json', `Cannot read the arguments: they are no JSON object; ${FORM}`);
  return value as JsonObject;
}

const FORM = `write them like '{"path":"README.md"}'`;

function runPlace({ backend, place }: Invocation['flags']): Pick<CallOptions, 'backend' | 'placement'> {
  return {
    ...(typeof backend === 'string' ? { backend } : {}),
    ...(typeof place === 'string' ? { placement: readPlacement(place) } : {}),
  };
}
