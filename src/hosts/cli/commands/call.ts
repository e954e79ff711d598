// Owns: `haft call`: one ToolRequest from the command line, one ToolResponse on standard output.
// Refuses: to interpret what a tool answers.
import { parseStrict } from '../../../base/strict-json.ts';
import { readPlacement } from '../../../contract/backend.ts';
import { type CallResponse, type EventMessage, toToolResponse } from '../../../contract/envelope.ts';
import { ERRORS, fail, type Reason } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { CallOptions } from '../../../contract/runtime.ts';
import type { DefaultRuntime } from '../../../preset/default.ts';
import type { Command, CommandOption, Invocation, Io } from '../command.ts';
import { readFileArgument } from '../read-argument.ts';

type Progress = NonNullable<EventMessage['progress']>;

/** The largest request that is read from a file or a pipe; tools have smaller limits of their own. */
const LARGEST = 64 * 1024 * 1024;

const TEXT: CommandOption = { type: 'string', help: '' };

/** Only what a call needs: help comes with `call-help.ts`. */
export const command: Command = {
  summary: 'Call a tool',
  usage: 'TOOL [KEY=VALUE… | JSON | @file | -]',
  options: { session: TEXT, 'request-id': TEXT, backend: TEXT, place: TEXT },
  examples: [],
  positionals: [1, 1000],
  failed: (words, reason) => (words.includes(SHELL) ? programFailed(reason) : undefined),
  async run(invocation) {
    const { positionals, flags, io, json } = invocation;
    const tool = positionals[0]!;
    const words = positionals.slice(1);
    const isKeyed = words.length > 1 || KEYED.test(words[0] ?? '');
    const parsed = isKeyed ? undefined : await parseArgs(await argumentText(invocation));
    const runtime = await invocation.runtime();
    const args = parsed ?? (await readWords(runtime, tool, words));
    const sessionId = flags.session as string | undefined;
    if (sessionId !== undefined) await runtime.sessions.open({ id: sessionId });
    let drawn: Promise<void> | undefined;
    const response = await runtime.call(
      { tool, args, sessionId, requestId: flags['request-id'] as string | undefined },
      {
        // A process that ends with its call gains nothing by answering before the row is there.
        recordFirst: true,
        once: true,
        signal: () => io.signal,
        ...runPlace(flags),
        onEvent: (event) => {
          if (event.progress && io.errTty && !flags.quiet) drawn = showProgress(io, event.progress);
        },
      },
    );
    if (drawn) await drawn.then(loadProgress).then(({ endProgress }) => endProgress(io));
    const isRead = !json && io.tty;
    if (isRead) await (await import('../show-call.ts')).showCall(response, args, runtime, invocation);
    else io.out(`${JSON.stringify(toToolResponse(response))}\n`);
    const [error] = response.errors;
    if (error && !json && !isRead)
      io.err((await import('../../../contract/error-remedies.ts')).explainError(error));
    if (tool === SHELL) return programExit(response);
    return error ? ERRORS[error.reason].exit : 0;
  },
};

/** Its exit code is that of the program. */
const SHELL = 'shell_exec';
const KEYED = /^[\w$][\w$.-]*:?=/;

function programExit({ data, errors: [error] }: CallResponse): number {
  if (error) return programFailed(error.reason);
  return (data as { readonly code: number | null }).code ?? NOT_RUN;
}

const NOT_RUN = 125;
const TIMED_OUT = 124;

const programFailed = (reason: Reason): number =>
  reason === 'time.deadline' ? TIMED_OUT : RAN.includes(reason) ? ERRORS[reason].exit : NOT_RUN;

/** Whoever takes 125 for "not run" may run it again. */
const RAN: readonly Reason[] = ['time.cancelled', 'policy.quarantined', 'sandbox.fence_fell'];

async function readWords(
  runtime: DefaultRuntime,
  tool: string,
  words: readonly string[],
): Promise<JsonObject> {
  const { findListing } = await import('../../../runtime/find-listing.ts');
  const { readKeyValues } = await import('../key-values.ts');
  const { contract } = await findListing(runtime, tool, 'call');
  return readKeyValues(words, tool, contract.input);
}

const loadProgress = () => import('../progress.ts');

const showProgress = (io: Io, progress: Progress): Promise<void> =>
  loadProgress().then(({ progressOf }) => progressOf(io).show(progress));

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
export async function parseArgs(text: string): Promise<JsonObject> {
  let value: unknown;
  try {
    value = parseStrict(text);
  } catch (thrown) {
    const message = (thrown as Error).message.replace(/^Cannot parse the text/, 'Cannot read the arguments');
    throw (await import('../json-fault.ts')).notJson(text, message);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw (await import('../json-fault.ts')).notAnObject();
  return value as JsonObject;
}

function runPlace({ backend, place }: Invocation['flags']): Pick<CallOptions, 'backend' | 'placement'> {
  return {
    ...(typeof backend === 'string' ? { backend } : {}),
    ...(typeof place === 'string' ? { placement: readPlacement(place) } : {}),
  };
}
