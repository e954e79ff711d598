// Owns: a client of an MCP server over pipes that costs as little as can be, and the same for every server.
// Refuses: to parse answers while the clock runs; their ends say which request they belong to.
import { spawn } from 'node:child_process';
import { timedEnvironment } from './processes.ts';

export interface McpClient {
  readonly pid: number;
  /** Resolves with the raw answer; rejects when it is an error, of the protocol or of the tool. */
  call(tool: string, args: object): Promise<RawAnswer>;
  /** Any request, with its parsed result. */
  request(method: string, params: object): Promise<Record<string, unknown>>;
  /** Handshake, then the first list of tools: resolves with what the server is called. */
  initialize(): Promise<string>;
  /** Hangs up and waits until the process has ended. */
  close(): Promise<void>;
}

/** An answer as it came: the chunks of one line. */
export interface RawAnswer {
  readonly parts: readonly Buffer[];
  readonly size: number;
}

interface Waiting {
  resolve(answer: RawAnswer): void;
  reject(error: Error): void;
}

/** Answers longer than this are not searched for a failure: errors are short. */
const SHORT = 16 * 1024;
const EDGE = 128;

export interface ServerCommand {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a server with this process's own Node. */
export function openMcp({ args, cwd, env = {} }: ServerCommand): McpClient {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...timedEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, Waiting>();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('close', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`The server ended with ${code}`));
  });
  child.stdin.on('error', () => {});
  child.stdout.on('data', lineSplitter(settle));

  let lastId = 0;
  let outbox = '';
  const flush = () => {
    child.stdin.write(outbox);
    outbox = '';
  };
  const send = (message: object) => {
    // Requests of one turn leave in one write.
    if (outbox === '') queueMicrotask(flush);
    outbox += `${JSON.stringify(message)}\n`;
  };
  const ask = (method: string, params: object) =>
    new Promise<RawAnswer>((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      send({ jsonrpc: '2.0', id, method, params });
    });

  function settle(answer: RawAnswer): void {
    const id = answerId(answer);
    const asked = id === undefined ? undefined : waiting.get(id);
    if (id === undefined || !asked) return;
    waiting.delete(id);
    const problem = failureIn(answer);
    if (problem) asked.reject(new Error(problem));
    else asked.resolve(answer);
  }

  const request = async (method: string, params: object) =>
    JSON.parse(textOf(await ask(method, params))).result;

  return {
    pid: child.pid!,
    call: (tool, args) => ask('tools/call', { name: tool, arguments: args }),
    request,
    async initialize() {
      const { serverInfo } = await request('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'bench', version: '1' },
      });
      send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      await ask('tools/list', {});
      return (serverInfo as { name: string }).name;
    },
    async close() {
      child.stdin.end();
      const force = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(force);
    },
  };
}

export const textOf = (answer: RawAnswer): string => Buffer.concat(answer.parts).toString('utf8');

/** The tool's answer, parsed: for checks before the clock runs. */
export const resultOf = (answer: RawAnswer) => JSON.parse(textOf(answer)).result;

function lineSplitter(onLine: (answer: RawAnswer) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  const add = (part: Buffer) => {
    parts.push(part);
    size += part.length;
  };
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      onLine({ parts, size });
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  };
}

/** Servers write the id first or last. */
function answerId({ parts }: RawAnswer): number | undefined {
  const first = /^\{"jsonrpc":"2\.0","id":(\d+)/.exec(edge(parts.slice(0, 2)).toString('latin1', 0, EDGE));
  if (first) return Number(first[1]);
  const end = edge(parts.slice(-2).reverse(), true);
  const last = /"id":(\d+)\}$/.exec(end.toString('latin1', Math.max(0, end.length - EDGE)));
  return last ? Number(last[1]) : undefined;
}

/** The outermost chunk, together with the next one where it is short. */
function edge([outer, next]: readonly Buffer[], backwards = false): Buffer {
  if (outer!.length >= EDGE || !next) return outer!;
  return Buffer.concat(backwards ? [next, outer!] : [outer!, next]);
}

function failureIn(answer: RawAnswer): string | undefined {
  if (answer.size > SHORT) return undefined;
  const text = textOf(answer);
  return text.includes('"isError":true') || text.includes('"error":{"code"') ? text : undefined;
}
