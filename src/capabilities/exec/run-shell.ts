// Owns: one shell line: taking it apart once more, admitting each part, and running it in the sandbox.
// Refuses: to trust the tool that asks, and to run uncontained unless policy says that this machine may.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { analyzeShell, shellArgv } from '../../base/shell/analyze-shell.ts';
import { variableRisk } from '../../base/shell/risky-variables.ts';
import type { CallScope } from '../../contract/capability.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { OpenProxy, ShellLine, ShellOutcome } from '../../contract/exec.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { SandboxHandle, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { shellEffects } from '../../contract/shell-effects.ts';
import { createCapture } from './capture.ts';
import { fencedPaths } from './fenced-paths.ts';

/** A repository's own configuration cannot make git run anything, and a folder that only looks like one is none. */
const GIT_SETTINGS: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'safe.bareRepository': 'explicit',
};
const GIT_WITHOUT_SURPRISES: Readonly<Record<string, string>> = {
  GIT_CONFIG_COUNT: String(Object.keys(GIT_SETTINGS).length),
  ...Object.fromEntries(
    Object.entries(GIT_SETTINGS).flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ]),
  ),
};

/** What is beyond the answer is kept on the host's disk, where no limit of the sandbox holds. No build says this much. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export async function runShell(
  scope: CallScope,
  line: ShellLine,
  sandbox: SandboxHandle,
  openProxy: OpenProxy,
): Promise<ShellOutcome> {
  const analysis = await analyzeShell(line.cmd);
  if (!analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  for (const effect of shellEffects(analysis, line.cwd, line.allowNetwork, scope.place)) scope.admit(effect);
  checkEnvironment(line.env);

  const available = await sandbox.available();
  if (!available.ok) {
    if (!scope.policy.sandboxOptional) {
      throw fail('sandbox.unavailable', `Cannot run the command: ${available.reason}`, {
        hint: available.hint,
      });
    }
    scope.warn({
      reason: 'sandbox.unavailable',
      message: `The command ran without a sandbox: ${available.reason}`,
    });
    await scope.intend([]);
    const { runBare } = await import('./run-bare.ts');
    return runBare(scope, line);
  }

  // A program's changes are not known before it runs, but that it runs is recorded before it does.
  const intended = scope.intend([]);
  intended.catch(() => {}); // whoever waits for it learns of it
  const connections: EgressConnection[] = [];
  const folder = line.allowNetwork ? mkdtempSync(join(tmpdir(), 'haft-proxy-')) : undefined;
  const proxy =
    folder === undefined
      ? undefined
      : await openProxy({
          socket: join(folder, 'proxy'),
          allow: (target) => decideConnection(scope, target),
          record: (one) => connections.push(one),
        });
  try {
    const stdout = createCapture(line.captureBytes, scope.spills ?? scope.objects);
    const stderr = createCapture(line.captureBytes, scope.spills ?? scope.objects);
    const captures = { stdout, stderr };
    const spec: SandboxSpec = {
      argv: shellArgv(line.cmd) as [string, ...string[]],
      cwd: line.cwd,
      env: { ...sandbox.baseEnv, ...GIT_WITHOUT_SURPRISES, ...line.env },
      ...(line.stdin === undefined ? {} : { stdin: line.stdin }),
      timeoutMs: line.timeoutMs,
      signal: scope.signal,
      awaits: intended,
      // What a call sets for itself ends with it.
      expectAnother: Object.keys(line.env).length === 0,
      ...fencedPaths(scope.root, scope.policy.fences),
      network: proxy ? { proxy: proxy.address } : 'none',
      limits: { outputBytes: MAX_OUTPUT_BYTES, ...line.limits },
      captureBytes: 0,
      onOutput(stream, chunk) {
        line.onOutput?.(stream, chunk);
        return captures[stream].push(chunk);
      },
    };
    const result = await sandbox.run(spec);
    return {
      ...outcomeOf(scope, result),
      stdout: await stdout.finish(),
      stderr: await stderr.finish(),
      connections,
    };
  } finally {
    await proxy?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function outcomeOf(
  scope: CallScope,
  result: SandboxResult,
): Omit<ShellOutcome, 'stdout' | 'stderr' | 'connections'> {
  if (result.refused) {
    const { reason, message, hint } = result.refused;
    throw fail(reason, message, hint ? { hint } : undefined);
  }
  if (result.aborted) throw scope.signal.reason;
  // Whoever fills its memory with files takes its keeper along; what ended it is known all the same.
  if (result.lost && result.limitHit === undefined)
    throw fail(
      'call.outcome_unknown',
      'Cannot say how the command ended: its keeper was killed from outside',
    );
  for (const path of result.disturbed) {
    scope.warn({
      reason: 'path.protected',
      message: `${path} changed while the command ran; look at it before you trust it`,
    });
  }
  return {
    code: result.code,
    signal: result.signal,
    timedOut: result.timedOut,
    ...(result.limitHit ? { limitHit: result.limitHit } : {}),
    wallMs: result.usage.wallMs,
    ...(result.observed ? { sandbox: result.observed } : {}),
  };
}

/** Each connection is one more access: the same policy, asked while the program runs. */
export function decideConnection(scope: CallScope, target: { scheme: string; host: string; port: number }) {
  const effect = { kind: 'net.connect', ...target } as const;
  try {
    scope.admit(effect);
    return { allow: true, private: scope.privateHost?.(target) ?? false };
  } catch (thrown) {
    if (!isFailure(thrown)) return { allow: false, message: 'refused by policy' };
    return { allow: false, message: thrown.message, ...admitOf(thrown) };
  }
}

const admitOf = ({ details }: Failure) =>
  typeof details?.admit === 'string' ? { admit: details.admit } : {};

function checkEnvironment(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    const risk = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
      ? variableRisk(name, value)
      : 'it is no name of a variable';
    if (risk !== undefined)
      throw fail('shell.dynamic', `Cannot set the variable ${JSON.stringify(name.slice(0, 80))}: ${risk}`);
    if (value.includes('\0'))
      throw fail('input.schema', `Cannot set the variable ${name}: its value holds a NUL`);
  }
}
