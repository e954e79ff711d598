// Owns: running a line or a program where no sandbox can be had and policy says that this is fine.
// Refuses: silence about it (whoever calls this has warned), and to leave anything of its process group behind.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createBothEnds, createBoundedBuffer } from '../../base/bounded-buffer.ts';
import { shellArgv } from '../../base/shell/analyze-shell.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { CapturedStream, ShellLine, ShellOutcome } from '../../contract/exec.ts';
import type { SandboxProcess, SandboxResult, SandboxSpec, SandboxStream } from '../../contract/sandbox.ts';
import { notRun } from './sandbox/create-sandbox.ts';

const USUAL = ['PATH', 'HOME', 'LANG', 'TMPDIR'] as const;

interface Capture {
  push(chunk: Uint8Array): void | Promise<void>;
  finish(): Promise<CapturedStream>;
}

/** `captures` take what the line says. */
export async function runBareLine(
  scope: CallScope,
  line: ShellLine,
  captures: Readonly<Record<SandboxStream, Capture>>,
): Promise<ShellOutcome> {
  const [program = '', ...args] = shellArgv(line.cmd);
  const usual = Object.fromEntries(
    USUAL.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  const started = Date.now();
  const child = spawn(program, args, {
    cwd: join(scope.root, line.cwd),
    env: { ...usual, ...line.env },
    detached: true,
  });
  const reading = (['stdout', 'stderr'] as const).map(async (name) => {
    for await (const chunk of child[name]) {
      line.onOutput?.(name, chunk);
      await captures[name].push(chunk);
    }
  });
  let timedOut = false;
  const end = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, line.timeoutMs);
  scope.signal.addEventListener('abort', end, { once: true });
  child.stdin.on('error', () => {});
  child.stdin.end(line.stdin ?? '');
  try {
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once('error', () =>
        reject(fail('shell.failed', 'Cannot run the command: bash could not be started')),
      );
      child.once('exit', (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
    });
    end();
    await Promise.all(reading);
    scope.signal.throwIfAborted();
    return {
      code,
      signal,
      timedOut,
      wallMs: Date.now() - started,
      stdout: await captures.stdout.finish(),
      stderr: await captures.stderr.finish(),
      connections: [],
    };
  } finally {
    clearTimeout(timer);
    scope.signal.removeEventListener('abort', end);
  }
}

const CAPTURE_BYTES = 2 ** 20;

export function startBareProgram(root: string, spec: SandboxSpec): SandboxProcess {
  const [program, ...args] = copiedWords(root, spec);
  const started = performance.now();
  const child = spawn(program, args, {
    cwd: join(root, spec.cwd ?? '.'),
    env: { ...spec.env },
    detached: true,
    stdio: 'pipe',
  });
  let timedOut = false;
  let aborted = false;
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid) process.kill(-child.pid, signal);
    } catch {
      // It has ended already.
    }
  };
  const timers: NodeJS.Timeout[] = [];
  const end = (graceMs: number) => {
    signalGroup('SIGTERM');
    timers.push(setTimeout(() => signalGroup('SIGKILL'), graceMs));
  };
  const graceMs = spec.graceMs ?? 200;
  const onAbort = () => {
    aborted = true;
    end(graceMs);
  };
  if (spec.timeoutMs !== undefined)
    timers.push(
      setTimeout(() => {
        timedOut = true;
        end(graceMs);
      }, spec.timeoutMs),
    );
  if (spec.signal?.aborted) onAbort();
  else spec.signal?.addEventListener('abort', onAbort, { once: true });
  const stderr = createBothEnds(spec.captureBytes ?? CAPTURE_BYTES);
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    void spec.onOutput?.('stderr', chunk);
  });
  child.stdin.on('error', () => {});
  const result = new Promise<SandboxResult>((resolve) => {
    const finish = (outcome: Pick<SandboxResult, 'code' | 'signal' | 'refused'>) => {
      signalGroup('SIGKILL');
      for (const timer of timers) clearTimeout(timer);
      spec.signal?.removeEventListener('abort', onAbort);
      resolve({
        ...notRun(undefined),
        ...outcome,
        stderr: stderr.bytes(),
        truncated: { stdout: false, stderr: stderr.truncated },
        timedOut,
        aborted,
        usage: { wallMs: performance.now() - started },
      });
    };
    const refused = {
      reason: 'shell.failed',
      message: 'Cannot start the program: it could not be run',
    } as const;
    child.once('error', () => finish({ code: null, signal: null, refused }));
    child.once('close', (code, signal) => finish({ code: code ?? 128, signal }));
    child.once('exit', () => signalGroup('SIGKILL'));
  });
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    result,
    stop(grace = graceMs) {
      end(grace);
      return result;
    },
  };
}

/** Nothing can be mounted here: words that name a file of a folder name that of its copy. */
function copiedWords(
  root: string,
  { argv, cwd = '.', copies = [] }: SandboxSpec,
): readonly [string, ...string[]] {
  const copied = (word: string, at: number): string => {
    if (at === 0 && !word.includes('/')) return word;
    const [, option = '', named = word] = /^(--?[\w-]+=)(.+)$/s.exec(word) ?? [];
    const path = resolve(root, cwd, named);
    const copy = copies.find((one) => path === one.at || path.startsWith(`${one.at}/`));
    return copy ? `${option}${join(copy.from, path.slice(copy.at.length))}` : word;
  };
  return argv.map(copied) as [string, ...string[]];
}

export async function runBareProgram(root: string, spec: SandboxSpec): Promise<SandboxResult> {
  const stdout = createBoundedBuffer(spec.captureBytes ?? CAPTURE_BYTES);
  const limit = spec.limits?.outputBytes ?? Number.POSITIVE_INFINITY;
  let over = false;
  const running = startBareProgram(root, spec);
  running.stdout.on('data', (chunk: Buffer) => {
    stdout.push(chunk);
    void spec.onOutput?.('stdout', chunk);
    if (stdout.total > limit && !over) {
      over = true;
      void running.stop(0);
    }
  });
  const { stdin = '' } = spec;
  if (typeof stdin === 'string' || stdin instanceof Uint8Array) running.stdin.end(stdin);
  else {
    for await (const chunk of stdin) running.stdin.write(chunk);
    running.stdin.end();
  }
  const result = await running.result;
  return {
    ...result,
    stdout: stdout.bytes(),
    truncated: { ...result.truncated, stdout: stdout.truncated },
    ...(over ? { limitHit: 'output' } : {}),
  };
}
