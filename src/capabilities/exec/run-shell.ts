// Owns: one shell line: taking it apart once more, admitting each part, and running it in the sandbox.
// Refuses: to trust the tool that asks, and to run uncontained unless policy says that this machine may.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { toPrintable } from '../../base/byte-path.ts';
import type { ShellListing } from '../../base/shell/analysis.ts';
import { analyzeShell, shellArgv } from '../../base/shell/analyze-shell.ts';
import { variableRisk } from '../../base/shell/risky-variables.ts';
import type { CallScope } from '../../contract/capability.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { OpenProxy, ShellLine, ShellOutcome } from '../../contract/exec.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { SandboxHandle, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { shellEffects } from '../../contract/shell-effects.ts';
import { createCapture } from './capture.ts';
import type { Fences } from './fences/find-fences.ts';
import type { Held } from './fences/placeholders.ts';
import { type FenceKeeper, withFences, withoutFences } from './fences/with-fences.ts';
import { GIT_WITHOUT_SURPRISES, gitEnvironment, startsGit } from './git/git-environment.ts';
import { tellFences } from './tell-fences.ts';

/** What is beyond the answer is kept on the host's disk, where no limit of the sandbox holds. No build says this much. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export async function runShell(
  scope: CallScope,
  line: ShellLine,
  sandbox: SandboxHandle,
  openProxy: OpenProxy,
  keeper: FenceKeeper,
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
    const git = environmentOf(scope, analysis, () => keeper.find(scope, rootsOf(scope)), false);
    await scope.intend([]);
    const { runBare } = await import('./run-bare.ts');
    const bare = { ...line, env: { ...git, ...line.env } };
    return withoutFences(scope, keeper, rootsOf(scope), () => runBare(scope, bare));
  }

  const roots = rootsOf(scope);
  const fences = keeper.find(scope, roots);
  const git = environmentOf(scope, analysis, () => fences, true);
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
    const specWith = (held: Held): SandboxSpec => ({
      argv: shellArgv(line.cmd) as [string, ...string[]],
      cwd: line.cwd,
      env: { ...sandbox.baseEnv, ...git, ...line.env },
      ...(line.stdin === undefined ? {} : { stdin: line.stdin }),
      timeoutMs: line.timeoutMs,
      signal: scope.signal,
      awaits: intended,
      // What a call sets for itself ends with it.
      // Nor can what is held for it wait for another.
      expectAnother: Object.keys(line.env).length === 0 && held.paths.length === 0,
      hidden: fences.hidden,
      readOnly: fences.readOnly,
      network: proxy ? { proxy: proxy.address } : 'none',
      limits: { outputBytes: MAX_OUTPUT_BYTES, ...line.limits },
      captureBytes: 0,
      onOutput(stream, chunk) {
        line.onOutput?.(stream, chunk);
        return captures[stream].push(chunk);
      },
    });
    const result = await withFences(scope, keeper, roots, fences, (held) => sandbox.run(specWith(held)));
    const outcome = outcomeOf(scope, result);
    const said = await stderr.finish();
    if (outcome.code !== 0) tellFences(scope, line.cmd, line.cwd, said.bytes);
    return { ...outcome, stdout: await stdout.finish(), stderr: said, connections };
  } finally {
    await proxy?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

const rootsOf = ({ root }: CallScope) => [{ path: root, writable: [root] }];

/** What keeps git from starting what the repositories of this workspace name. */
function environmentOf(
  scope: CallScope,
  { commands }: ShellListing,
  fences: () => Fences,
  contained: boolean,
): Readonly<Record<string, string>> {
  if (!startsGit(commands)) return GIT_WITHOUT_SURPRISES;
  const below = fences().found.flatMap(({ kind, path }) => (kind === 'git' ? [path] : []));
  const inside = (path: string) => path === scope.root || path.startsWith(`${scope.root}/`);
  const { env, missed } = gitEnvironment(commands, {
    entries: contained ? below : [...below, ...entriesAbove(scope.root)],
    // What lies outside is not in the sandbox.
    nameOf: (path) =>
      inside(path)
        ? toPrintable(path.slice(scope.root.length + 1))
        : contained
          ? undefined
          : 'a folder outside',
    contained,
  });
  if (missed.length > 0)
    scope.warn({
      reason: 'shell.wrapper',
      message: `Git ran without the programs that a repository names for files: ${missed.slice(0, 5).join(', ')}${missed.length > 5 ? ', …' : ''}`,
    });
  return env;
}

/** Without a sandbox git also looks in the folders above. */
function entriesAbove(root: string): string[] {
  const parent = dirname(root);
  return parent === root ? [] : [join(parent, '.git'), ...entriesAbove(parent)];
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
