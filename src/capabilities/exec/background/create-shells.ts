// Owns: the background shells of a runtime: who has which, what they are given, what they printed, and how each ended.
// Refuses: to run a line itself (run-shell.ts), to say that another session's shell is there, and to keep more than the end of an output.
import { basename } from 'node:path';
import { redactorOfVariables } from '../../../base/redact/redactor-of-variables.ts';
import { analyzeShell } from '../../../base/shell/analyze-shell.ts';
import { createTurns, type InTurn } from '../../../base/turns.ts';
import type { CallScope } from '../../../contract/capability.ts';
import type { Warning } from '../../../contract/envelope.ts';
import { type Failure, fail, isFailure, toErrorEntry } from '../../../contract/errors.ts';
import type { ShellLine, ShellOutcome } from '../../../contract/exec.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { MOST_SHELLS } from '../../../contract/policy.ts';
import type { SandboxControl } from '../../../contract/sandbox.ts';
import type {
  BackgroundLine,
  BeginStanding,
  ShellOutput,
  ShellQuery,
  ShellState,
  ShellsHandle,
  ShellsView,
  Standing,
} from '../../../contract/shells.ts';
import { toWire } from '../../../contract/spelling.ts';
import type { FenceKeeper } from '../fences/with-fences.ts';
import { environmentOf, rootsOf } from '../run-shell.ts';
import { tellFences } from '../tell-fences.ts';
import {
  COMMANDS_AT,
  type CommandFolder,
  type CommandFolders,
  createCommandFolders,
} from './command-folders.ts';
import { decideInput, type InputState, PLAIN_SHELL, plainShellText } from './decide-input.ts';
import { createOutputRing, type OutputRing } from './output-ring.ts';
import { createStdinQueue, type StdinQueue } from './stdin-queue.ts';

export interface Shells {
  handle(scope: CallScope): ShellsHandle;
  readonly view: ShellsView;
  close(): void;
}

/** What the exec capability lends. */
export interface ShellsSite {
  run(scope: CallScope, line: ShellLine): Promise<ShellOutcome>;
  readonly fences: FenceKeeper;
}

const KEPT_BYTES = 1024 * 1024;
/** Those that ended, of one session. */
const REMEMBERED = 16;
/** Of all sessions: some are over. */
const MOST_REMEMBERED = 64;
const IDLE_MS = 30 * 60_000;

type Allowed = NonNullable<CallScope['policy']['shells']>;

interface Shell {
  readonly standing: Standing;
  readonly line: BackgroundLine;
  readonly startedMs: number;
  readonly output: OutputRing;
  readonly stdin: StdinQueue;
  readonly warnings: Warning[];
  readonly inTurn: InTurn;
  readonly waiting: Set<() => void>;
  /** Of a plain shell: where its commands are put. */
  readonly commands: CommandFolder | undefined;
  input: InputState;
  control: SandboxControl | undefined;
  /** Ends it once no call has used it for long. */
  readonly idle: NodeJS.Timeout;
  end: Pick<ShellState, 'code' | 'signal' | 'ended'> | undefined;
}

export function createShells(site: ShellsSite): Shells {
  const shells = new Map<string, Shell>();
  const folders = createCommandFolders();
  /** Of each that is on its way, its session. */
  const starting = new Set<{ readonly session: string }>();
  const reserve = (session: string, { most, admit }: Allowed = { most: 0 }): { release(): void } => {
    const running = [...shells.values()].flatMap(({ end, standing }) => (end ? [] : [standing]));
    const all = [...running, ...starting];
    if (all.filter((one) => one.session === session).length >= most) {
      const message = `Cannot start a shell: the session has ${most}, as many as limits.max_shells allows`;
      throw fail('shell.limit', message, admit ? { admit } : {});
    }
    if (all.length >= MOST_SHELLS)
      throw fail('shell.limit', `Cannot start a shell: a host runs ${MOST_SHELLS}, and as many are running`);
    const place = { session };
    starting.add(place);
    return { release: () => void starting.delete(place) };
  };
  const of = (session: string) => [...shells.values()].filter(({ standing }) => standing.session === session);
  const find = (scope: CallScope, id: string): Shell => {
    const { session } = mustStay(scope);
    const shell = shells.get(id);
    if (shell?.standing.session === session) return shell;
    throw fail('shell.unknown', `Cannot find the background shell "${id.slice(0, 80)}" in this session`);
  };
  /** The oldest of those that ended go. */
  const forget = (session: string) => {
    const ended = of(session).filter(({ end }) => end);
    const all = [...shells.values()].filter(({ end }) => end);
    for (const { standing } of [...ended.slice(0, -REMEMBERED), ...all.slice(0, -MOST_REMEMBERED)])
      shells.delete(standing.id);
  };

  return {
    handle: (scope) => ({
      async start(line) {
        const { session, standing } = mustStay(scope);
        const place = reserve(session, scope.policy.shells);
        try {
          const add = (shell: Shell) => {
            shells.set(shell.standing.id, shell);
            place.release();
          };
          const shell = await startShell(site, scope, { standing, line, folders, add });
          forget(session);
          return stateOf(shell);
        } finally {
          place.release();
        }
      },
      async read(id, query) {
        const shell = find(scope, id);
        shell.idle.refresh();
        if (query.waitMs > 0) await waitFor(shell, query, scope.signal);
        for (const warning of shell.warnings.splice(0)) scope.warn(warning);
        const { output, next, lost } = shell.output.read(
          query.since,
          query.maxBytes,
          shell.end !== undefined,
        );
        return { ...stateOf(shell), output, next, lost, more: next < shell.output.end } satisfies ShellOutput;
      },
      async write(id, input, end) {
        const shell = find(scope, id);
        shell.idle.refresh();
        await shell.inTurn(() => giveInput(site, scope, shell, input, end));
      },
      async signal(id, signal) {
        const shell = find(scope, id);
        shell.idle.refresh();
        if (shell.end) throw hasEnded(shell);
        shell.control?.signal(`SIG${signal}`);
      },
      list: () => of(mustStay(scope).session).map(stateOf),
    }),
    close: folders.close,
    view: {
      async inputEffects(id, input, end, place) {
        const shell = shells.get(id);
        return shell && !shell.end ? (await decideInput(shell.input, input, end, place)).effects : [];
      },
    },
  };
}

/** In a process that ends with its call, what it started would end with it, and what others started it does not see. */
function mustStay({ standing, session }: CallScope) {
  if (standing && session !== undefined) return { standing, session };
  throw fail(
    'shell.host',
    'Cannot use background shells: this process ends with the call. Start `haft serve` or `haft mcp` and call it there, or use shell_exec',
  );
}

const hasEnded = ({ end }: Shell) =>
  fail('shell.ended', `Cannot reach the shell: ${end ? 'it has ended' : 'its standard input is closed'}`);

const stateOf = ({ standing, line, startedMs, end, output }: Shell): ShellState => ({
  id: standing.id,
  ...(line.name === undefined ? {} : { name: line.name }),
  cmd: line.cmd,
  startedMs,
  running: end === undefined,
  ...(end ?? { code: null, signal: null }),
  next: output.end,
});

interface Begin {
  readonly standing: BeginStanding;
  readonly line: BackgroundLine;
  readonly folders: CommandFolders;
  /** Makes it known: at once when it begins, so that it is known when it ends. */
  add(shell: Shell): void;
}

/** Settles when it has begun. */
async function startShell(
  site: ShellsSite,
  scope: CallScope,
  { standing: begin, line, folders, add }: Begin,
): Promise<Shell> {
  const isPlain = line.cmd.trim() === 'bash';
  const analysis = isPlain ? undefined : await analyzeShell(line.cmd);
  if (analysis && !analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  const stopping = new AbortController();
  const stop = (why: Failure) => stopping.abort(why);
  const standing = await begin(stop);
  const commands = isPlain ? folders.take(scope.root) : undefined;
  const begun = Promise.withResolvers<void>();
  const shell: Shell = {
    standing,
    line,
    startedMs: Date.now(),
    output: createOutputRing(KEPT_BYTES),
    stdin: createStdinQueue(),
    warnings: [],
    inTurn: createTurns(),
    waiting: new Set(),
    commands,
    input: { cwd: line.cwd, env: line.env, commands: analysis?.commands, script: { text: '', commands: 0 } },
    control: undefined,
    idle: setTimeout(() => stop(fail('time.deadline', UNUSED)), IDLE_MS).unref(),
    end: undefined,
  };
  const wake = () => {
    for (const tell of [...shell.waiting]) tell();
  };
  const redacted = await redaction(line.env, shell.output);
  const own: CallScope = Object.create(scope, {
    callId: { value: standing.id },
    signal: { value: stopping.signal },
    intend: { value: () => standing.intend() },
    warn: { value: (warning: Warning) => shell.warnings.push(warning) },
  });
  const onAbort = () => stop(scope.signal.reason);
  scope.signal.addEventListener('abort', onAbort, { once: true });
  const running = site.run(own, {
    ...line,
    captureBytes: 0,
    onOutput(stream, chunk) {
      redacted.push(stream, chunk);
      wake();
    },
    background: {
      stdin: shell.stdin.chunks(),
      ...(commands ? { plain: PLAIN_SHELL, binds: [{ path: commands.path, at: COMMANDS_AT }] } : {}),
      onFallen: () => stop(fail('sandbox.fence_fell', 'It was ended: what it is kept from was replaced')),
      onBegin(control) {
        shell.control = control;
        add(shell);
        begun.resolve();
      },
    },
  });
  const ended = running.then(
    (outcome) => conclude(shell, own, redacted.end, outcome),
    (thrown) => conclude(shell, own, redacted.end, undefined, thrown),
  );
  running.then(wake, wake);
  try {
    await Promise.race([begun.promise, running.then(() => begun.promise)]);
    return shell;
  } catch (thrown) {
    await ended;
    throw thrown;
  } finally {
    scope.signal.removeEventListener('abort', onAbort);
  }
}

async function conclude(
  shell: Shell,
  scope: CallScope,
  flush: () => void,
  outcome: ShellOutcome | undefined,
  thrown?: unknown,
): Promise<void> {
  const { standing, line, stdin, output } = shell;
  stdin.close();
  clearTimeout(shell.idle);
  shell.commands?.release();
  flush();
  if (outcome && outcome.code !== 0) {
    const said = output.read(Math.max(0, output.end - 64 * 1024), 64 * 1024, true).output;
    const errors = said.flatMap(({ stream, text }) => (stream === 'stderr' ? [text] : [])).join('');
    tellFences(scope, line.cmd, line.cwd, Buffer.from(errors));
  }
  const why =
    thrown ??
    (outcome?.timedOut
      ? fail('time.deadline', `It was ended after its timeout_ms, ${line.timeoutMs}`)
      : outcome?.limitHit !== undefined
        ? fail('sandbox.limit', `It was ended: it reached the limit ${outcome.limitHit}`)
        : undefined);
  shell.end = {
    code: outcome?.code ?? null,
    signal: outcome?.signal ?? null,
    ...(why === undefined ? {} : { ended: shown(why) }),
  };
  const facts: JsonObject = {
    exit: outcome?.code ?? null,
    signal: outcome?.signal ?? null,
    timed_out: outcome?.timedOut ?? false,
    limit: outcome?.limitHit ?? null,
    output_bytes: output.end,
    sandbox: outcome?.sandbox ? (toWire(outcome.sandbox) as JsonObject) : null,
    connections: (outcome?.connections ?? []).map((one) => toWire(one) as JsonObject),
  };
  await standing.end(facts, why);
}

const shown = (thrown: unknown) => {
  const { reason, message } = toErrorEntry(isFailure(thrown) ? thrown : undefined);
  return { reason, message };
};

async function giveInput(
  { fences }: ShellsSite,
  scope: CallScope,
  shell: Shell,
  input: string,
  end: boolean,
): Promise<void> {
  const open = () => {
    if (shell.end || shell.stdin.closed) throw hasEnded(shell);
  };
  open();
  const { effects, next, listing } = await decideInput(shell.input, input, end, scope.place);
  for (const effect of effects) scope.admit(effect);
  const startsGit = listing?.commands.some(({ words }) => basename(words[0] ?? '') === 'git');
  const env =
    listing && startsGit ? environmentOf(scope, listing, () => fences.find(scope, rootsOf(scope)), true) : {};
  const isEmpty = next ? input.trim() === '' : input === '';
  shell.stdin.room(Buffer.byteLength(input));
  await scope.intend([]);
  open();
  // What an interpreter was given has run; what a shell was given may run still, and is bounded.
  if (next && effects.length > 0) shell.standing.add('shell_write', effects);
  if (next) shell.input = { ...shell.input, script: next };
  if (!isEmpty) {
    const given = next ? `${shell.commands?.put(plainShellText(input, env))}\n` : input;
    shell.stdin.push(Buffer.from(given));
  }
  if (end) shell.stdin.close();
}

/** Until there is what `query` asks for. Output may come in pieces: a moment is given to the rest of it. */
async function waitFor(shell: Shell, query: ShellQuery, signal: AbortSignal): Promise<void> {
  const { since, maxBytes, waitMs, until, onOutput } = query;
  const { output } = shell;
  let told = Math.max(since, 0);
  const due = performance.now() + waitMs;
  const isEnough = () => shell.end !== undefined || output.end - since >= (until === 'output' ? 1 : maxBytes);
  const tell = () => {
    const { output: pieces, next } = output.read(told, KEPT_BYTES, shell.end !== undefined);
    told = next;
    if (onOutput) for (const { stream, text } of pieces) onOutput(stream, text);
  };
  while (!isEnough()) {
    signal.throwIfAborted();
    const left = due - performance.now();
    if (left <= 0) return;
    await change(shell, left, signal);
    tell();
  }
  if (until === 'output' && !shell.end)
    await change(shell, Math.min(SETTLE_MS, due - performance.now()), signal);
  signal.throwIfAborted();
}

const SETTLE_MS = 50;
const UNUSED = `It was ended: no call used it for ${IDLE_MS / 60_000} minutes`;

function change(shell: Shell, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      shell.waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, ms));
    shell.waiting.add(done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** As `shell_exec` hides them: the values of variables whose names say that they are secret, also where two chunks meet. */
async function redaction(env: BackgroundLine['env'], output: OutputRing) {
  const redactor = await redactorOfVariables(env);
  if (!redactor) return { push: output.push, end: () => {} };
  const streams = { stdout: redactor.stream(), stderr: redactor.stream() };
  return {
    push: (stream: keyof typeof streams, chunk: Uint8Array) =>
      output.push(stream, streams[stream].push(chunk)),
    end: () => {
      for (const stream of ['stdout', 'stderr'] as const) output.push(stream, streams[stream].end());
    },
  };
}
