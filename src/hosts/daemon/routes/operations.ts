// Owns: every operation as a route, and the list of them.
// Refuses: to know any operation; what each takes, who may and what it answers comes from the table.
import { isRecord } from '../../../base/is-record.ts';
import { ERRORS, type ErrorEntry } from '../../../contract/errors.ts';
import type { Operation, OperationEntry, OperationSite } from '../../../contract/operation.ts';
import { argumentsSchema, withDefaults } from '../../../contract/operation.ts';
import { OPERATIONS } from '../../../operations/index.ts';
import { operationSite, perform } from '../../../preset/operation-handles.ts';
import { type Asked, checkAsked, type DaemonSite, errorMessage, type Route, streamed } from '../route.ts';

const tokenOf = async ({ load }: OperationEntry) =>
  (await load()).who === 'person' ? 'management' : 'either';

export const OPERATION_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/operations',
    token: 'either',
    about:
      'every operation: `id`, `summary`, `who` may (`anyone` or a `person`), whether it `changes` something, what it `answers` (`json`, `lines`, `bytes`), and the schemas of its `arguments` and `result`',
    answer: async () => ({ operations: await Promise.all(Object.values(OPERATIONS).map(describe)) }),
  },
  ...Object.entries(OPERATIONS).map(
    ([id, entry]): Route => ({
      method: 'POST',
      path: `/v1/operations/${id}`,
      token: () => tokenOf(entry),
      about: entry.summary,
      answer: async (asked, site) => answer(await entry.load(), asked, site),
    }),
  ),
];

async function describe({ load }: OperationEntry) {
  const operation = await load();
  const { id, summary, description, who, changes = false, answers = 'json', result } = operation;
  return { id, summary, description, who, changes, answers, arguments: argumentsSchema(operation), result };
}

/** All arguments are in the body. */
const NO_QUERY = { type: 'object', additionalProperties: false } as const;

async function answer(operation: Operation, asked: Asked, site: DaemonSite): Promise<unknown> {
  // No body is no argument.
  const body = asked.body ?? {};
  const wanted = { query: NO_QUERY, body: argumentsSchema(operation) };
  await checkAsked(wanted, { query: asked.query, body }, site.schemas);
  const { answers = 'json', json: toJson = (one: unknown) => one } = operation;
  const value = await performed(operation, body as Given, asked, site);
  if (answers === 'json') {
    const document = toJson(value);
    const failed = failedCall(document);
    if (failed) asked.status(ERRORS[failed.reason].http);
    return document;
  }
  if (answers === 'bytes') return streamed('application/octet-stream', await begun(value));
  return streamed('application/x-ndjson', lines(value, toJson));
}

/** What is a call itself has the status that the call would have. */
function failedCall(document: unknown): ErrorEntry | undefined {
  if (!isRecord(document) || document.type !== 'ToolResponse') return undefined;
  return (document.errors as readonly ErrorEntry[])[0];
}

/** For routes with a shape of their own: the value of an operation. */
export async function operate(id: string, args: Given, asked: Asked, site: DaemonSite): Promise<unknown> {
  const operation = await OPERATIONS[id]!.load();
  const value = await performed(operation, args, asked, site);
  return operation.json ? operation.json(value) : value;
}

type Given = Record<string, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: the table holds operations of every kind
const performed = (operation: Operation, given: Given, asked: Asked, site: DaemonSite): Promise<any> =>
  perform(operation, withDefaults(operation, given), siteOf(asked, site));

/** The handles of whoever asks. */
export function siteOf(asked: Asked, { runtime, frozen, living }: DaemonSite): OperationSite {
  return operationSite(
    {
      workspace: runtime.workspace,
      by: asked.isPerson ? 'http' : 'http:calls',
      frozen,
      signal: asked.signal(),
      watched: false,
      progress() {},
      say: () => {},
      runtime: async () => runtime,
    },
    living,
  );
}

/** A failure after the first line is the last one: the status has left. */
async function* lines(values: AsyncIterable<unknown>, toJson: (value: unknown) => unknown) {
  try {
    for await (const one of values) yield `${JSON.stringify(toJson(one))}\n`;
  } catch (thrown) {
    yield `${JSON.stringify(errorMessage(thrown))}\n`;
  }
}

/** What cannot be read at all is refused with a status, not in the middle. */
async function begun(pieces: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
}
