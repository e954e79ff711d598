// Owns: running a line where no sandbox can be had and policy says that this is fine.
// Refuses: silence about it: whoever calls this has warned. Its whole process group is ended with it.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { shellArgv } from '../../base/shell/analyze-shell.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { ShellLine, ShellOutcome } from '../../contract/exec.ts';
import { createCapture } from './capture.ts';

const USUAL = ['PATH', 'HOME', 'LANG', 'TMPDIR'] as const;

export async function runBare(scope: CallScope, line: ShellLine): Promise<ShellOutcome> {
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
  const captures = {
    stdout: createCapture(line.captureBytes, scope.spills ?? scope.objects),
    stderr: createCapture(line.captureBytes, scope.spills ?? scope.objects),
  };
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
