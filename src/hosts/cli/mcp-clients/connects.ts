// Owns: whether a configured server answers, and what a client that is installed says of it.
// Refuses: to wait for either without end, and to run a program from a relative entry of PATH.
import { execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { succeeds } from '../../../base/ignore-errors.ts';
import { VERSION } from '../../../contract/version.ts';

const MOST_MS = 30_000;

export interface ServerAnswer {
  readonly ok: boolean;
  readonly tools: number;
  /** Why it did not answer, or what it wrote to standard error. */
  readonly says: string;
}

/** Starts the command as a client would: initialize, then the whole list of tools. */
export async function tryServer(
  [program, ...args]: readonly [string, ...string[]],
  cwd: string,
): Promise<ServerAnswer> {
  const child = spawn(program, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let log = '';
  let failed = '';
  child.once('error', ({ message }) => {
    failed = message;
  });
  child.stdin.on('error', () => {});
  child.stderr.on('data', (chunk) => {
    log = `${log}${chunk}`.slice(-4000);
  });
  const late = setTimeout(() => {
    failed ||= `no answer within ${MOST_MS / 1000} s`;
    child.kill('SIGKILL');
  }, MOST_MS);
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let tools = 0;
  let done = false;
  send({
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'haft-mcp-install', version: VERSION },
    },
  });
  try {
    for await (const line of createInterface(child.stdout)) {
      const { id, result } = JSON.parse(line) as Answer;
      if (id === undefined) continue;
      if (!result) {
        failed = 'it answered with an error';
        break;
      }
      if (id === 0) send({ method: 'notifications/initialized' });
      tools += result.tools?.length ?? 0;
      done = id > 0 && result.nextCursor === undefined;
      if (done) break;
      send({ id: id + 1, method: 'tools/list', params: { cursor: result.nextCursor } });
    }
  } catch {
    failed ||= 'it answered something that is not JSON';
  }
  if (!done) failed ||= 'it ended without an answer';
  child.stdin.end();
  if (!done) child.kill('SIGKILL');
  await ended;
  clearTimeout(late);
  return { ok: done, tools, says: done ? log.trim() : [failed, log.trim()].filter(Boolean).join(': ') };
}

interface Answer {
  readonly id?: number;
  readonly result?: { readonly tools?: readonly unknown[]; readonly nextCursor?: string };
}

/** `listed`: the client knows of it and does not say more. `waits`: a person has to allow it first. */
export type ClientState = 'connected' | 'waits' | 'failed' | 'listed' | 'unlisted' | 'silent';

export interface ClientAnswer {
  readonly state: ClientState;
  /** The command that was run. */
  readonly asked: string;
  /** Its line about the server. */
  readonly says: string;
}

/** Undefined where the client is not installed here, or cannot be asked. */
export async function askClient(
  lists: readonly [string, ...string[]] | undefined,
  name: string,
  command: readonly string[],
  cwd: string,
): Promise<ClientAnswer | undefined> {
  const program = lists && findProgram(lists[0]);
  if (!lists || program === undefined) return undefined;
  const asked = lists.join(' ');
  const output = await outputOf(program, lists.slice(1), cwd);
  if (output === undefined) return { state: 'silent', asked, says: '' };
  const lines = stripVTControlCharacters(output).split(/\r?\n/);
  const line = lines.find((one) => one.split(/[\s:]+/).includes(name)) ?? '';
  return { state: stateOf(line, [...command, name]), asked, says: line.trim() };
}

/** From what the clients print. They show the command as well, whose words do not count: a folder can be named "failed". */
function stateOf(line: string, shown: readonly string[]): ClientState {
  if (line === '') return 'unlisted';
  const said = shown.reduce((rest, word) => rest.replaceAll(word, ''), line);
  const found = STATES.find(([pattern]) => pattern.test(said));
  return found?.[1] ?? 'listed';
}

const STATES: readonly (readonly [RegExp, ClientState])[] = [
  [/pending approval|disabled|untrusted|needs auth/i, 'waits'],
  [/disconnected|not connected|fail|error/i, 'failed'],
  [/\bconnected/i, 'connected'],
];

/** A relative entry of PATH would be a program of the workspace. */
function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const names = process.platform === 'win32' ? [`${name}.cmd`, `${name}.exe`] : [name];
  return folders
    .flatMap((folder) => names.map((one) => join(folder, one)))
    .find((file) => succeeds(() => accessSync(file, constants.X_OK)));
}

const outputOf = (program: string, args: readonly string[], cwd: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { cwd, timeout: MOST_MS, killSignal: 'SIGKILL', maxBuffer: 4 * 1024 * 1024 },
      (error, stdout, stderr) => resolve(error && stdout === '' ? undefined : `${stdout}\n${stderr}`),
    );
    child.stdin?.end();
  });
