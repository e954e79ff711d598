// Owns: one shell line: taking it apart once more, admitting each part, running it in the sandbox, its output (the beginning for the
// answer, all of it as an artifact when it is longer), and why it could not write or read a path that policy closes.
// Refuses: to trust the tool that asks, to run uncontained unless policy says that this machine may, and to hold more than the
// beginning of an output in memory; the program waits while the rest is written.
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type BoundedBuffer, createBoundedBuffer } from '../../base/bounded-buffer.ts';
import { toPrintable } from '../../base/byte-path.ts';
import { followLinks } from '../../base/follow-links.ts';
import { isUnder } from '../../base/rel-path.ts';
import type { ShellListing } from '../../base/shell/analysis.ts';
import { analyzeShell, shellArgv } from '../../base/shell/analyze-shell.ts';
import { variableRisk } from '../../base/shell/risky-variables.ts';
import type { CallScope } from '../../contract/capability.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { CapturedStream, OpenProxy, ShellLine, ShellOutcome } from '../../contract/exec.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';
import type { SandboxHandle, SandboxNetwork, SandboxResult, SandboxSpec } from '../../contract/sandbox.ts';
import { shellEffects, shellPlace } from '../../contract/shell-effects.ts';
import type { Fences } from './fences/find-fences.ts';
import type { Held } from './fences/placeholders.ts';
import { type FenceKeeper, watchFences, withFences, withoutFences } from './fences/with-fences.ts';
import { GIT_WITHOUT_SURPRISES, gitEnvironment } from './git-environment.ts';
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
  const { background } = line;
  const analysis = await checkShell(scope, line);

  if (background) await mustContain(sandbox);
  else if (!(await isContained(scope, sandbox, 'command'))) {
    const git = environmentOf(scope, analysis, () => keeper.find(scope, rootsOf(scope)), false);
    await scope.intend([]);
    const { runBareLine } = await import('./run-bare.ts');
    const bare = { ...line, env: { ...git, ...line.env } };
    return withoutFences(scope, keeper, rootsOf(scope), () =>
      runBareLine(scope, bare, capturesFor(scope, line)),
    );
  }

  const roots = rootsOf(scope);
  const fences = keeper.find(scope, roots);
  const git = environmentOf(scope, analysis, () => fences, true);
  // A program's changes are not known before it runs, but that it runs is recorded before it does.
  const intended = scope.intend([]);
  intended.catch(() => {}); // whoever waits for it learns of it
  const connections: EgressConnection[] = [];
  const network = await openNetwork(
    line.allowNetwork ? openProxy : undefined,
    () => scope,
    (one) => connections.push(one),
  );
  try {
    const captures = capturesFor(scope, line);
    const { stdout, stderr } = captures;
    const specWith = (held: Held): SandboxSpec => ({
      argv: shellArgv(background?.plain ?? line.cmd) as [string, ...string[]],
      cwd: line.cwd,
      env: { ...sandbox.baseEnv, ...git, ...line.env },
      ...(line.stdin === undefined ? {} : { stdin: line.stdin }),
      ...(background && { ...background, standing: true }),
      timeoutMs: line.timeoutMs,
      signal: scope.signal,
      awaits: intended,
      // What a call sets for itself ends with it.
      // Nor can what is held for it wait for another.
      expectAnother: !background && Object.keys(line.env).length === 0 && held.paths.length === 0,
      hidden: fences.hidden,
      readOnly: fences.readOnly,
      network: network.network,
      limits: background ? { ...line.limits } : { outputBytes: MAX_OUTPUT_BYTES, ...line.limits },
      captureBytes: 0,
      onOutput(stream, chunk) {
        line.onOutput?.(stream, chunk);
        return background ? undefined : captures[stream].push(chunk);
      },
    });
    const result = await withFences(scope, keeper, roots, fences, (held) => {
      const watch = background && watchFences(scope.root, fences, background.onFallen);
      return sandbox.run(specWith(held)).finally(() => watch?.stop());
    });
    const outcome = outcomeOf(checkedResult(scope, result, 'command', scope.signal));
    const said = await stderr.finish();
    if (outcome.code !== 0) tellFences(scope, line.cmd, line.cwd, said.bytes);
    return { ...outcome, stdout: await stdout.finish(), stderr: said, connections };
  } finally {
    await network.close();
  }
}

/** All that a line can be refused for before anything is started. */
export async function checkShell(scope: CallScope, line: ShellLine): Promise<ShellListing> {
  // What a plain shell is given is decided when it is given it.
  const analysis = await analyzeShell(line.background?.plain === undefined ? line.cmd : '');
  if (!analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  for (const effect of shellEffects(analysis, line.cwd, line.allowNetwork, scope.place)) scope.admit(effect);
  checkEnvironment(line.env);
  admitStart(scope, shellPlace(line.cwd, scope.place));
  return analysis;
}

/** Links lead on: the folder in which it really starts is asked about as well. What is in a circle is not there. */
function admitStart({ root, admit }: CallScope, cwd: string): void {
  if (cwd === '.') return;
  const led = followLinks(join(root, cwd), [root], readlinkSync);
  if (led === undefined) return;
  if (!isUnder(led, root))
    throw fail('path.outside_workspace', `Cannot start in "${cwd}": it leads out of the workspace`);
  const real = led === root ? '.' : led.slice(root.length + 1);
  if (real !== cwd) admit({ kind: 'fs.read', path: cwd }, { kind: 'fs.read', path: real });
}

const capturesFor = ({ spills, objects }: CallScope, { captureBytes }: ShellLine) => ({
  stdout: createCapture(captureBytes, spills ?? objects),
  stderr: createCapture(captureBytes, spills ?? objects),
});

export const rootsOf = ({ root }: CallScope) => [{ path: root, writable: [root] }];

/** What keeps git from starting what the repositories of this workspace name. */
export function environmentOf(
  scope: CallScope,
  { commands }: Pick<ShellListing, 'commands'>,
  fences: () => Fences,
  contained: boolean,
): Readonly<Record<string, string>> {
  const git = commands.filter(({ words }) => basename(words[0] ?? '') === 'git');
  if (git.length === 0) return GIT_WITHOUT_SURPRISES;
  const below = fences().found.flatMap(({ kind, path }) => (kind === 'git' ? [path] : []));
  const inside = (path: string) => path === scope.root || path.startsWith(`${scope.root}/`);
  const { env, missed } = gitEnvironment(git, {
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

const outcomeOf = (result: SandboxResult): Omit<ShellOutcome, 'stdout' | 'stderr' | 'connections'> => ({
  code: result.code,
  signal: result.signal,
  timedOut: result.timedOut,
  ...(result.limitHit ? { limitHit: result.limitHit } : {}),
  wallMs: result.usage.wallMs,
  ...(result.observed ? { sandbox: result.observed } : {}),
});

/** Throws where there is no sandbox and policy requires one; says so where it does not. */
export async function isContained(
  scope: CallScope,
  sandbox: SandboxHandle,
  what: 'command' | 'program',
): Promise<boolean> {
  const available = await sandbox.available();
  if (available.ok) return true;
  const { reason, hint } = available;
  if (!scope.policy.sandboxOptional)
    throw fail('sandbox.unavailable', `Cannot run the ${what}: ${reason}`, { hint });
  scope.warn({ reason: 'sandbox.unavailable', message: `The ${what} ran without a sandbox: ${reason}` });
  return false;
}

/** What outlives its call would outlive its host, too. */
async function mustContain(sandbox: SandboxHandle): Promise<void> {
  const available = await sandbox.available();
  if (!available.ok)
    throw fail('sandbox.unavailable', `Cannot start a background shell: ${available.reason}`, {
      hint: available.hint,
    });
}

/** Throws what kept a program from an end of its own. */
export function checkedResult(
  scope: CallScope,
  result: SandboxResult,
  what: 'command' | 'program',
  signal: AbortSignal,
): SandboxResult {
  if (result.refused) {
    const { reason, message, hint } = result.refused;
    throw fail(reason, message, hint ? { hint } : undefined);
  }
  if (result.aborted) throw signal.reason;
  // Whoever fills its memory with files takes its keeper along; what ended it is known all the same.
  if (result.lost && result.limitHit === undefined)
    throw fail(
      'call.outcome_unknown',
      `Cannot say how the ${what} ended: its keeper was killed from outside`,
    );
  for (const path of result.disturbed)
    scope.warn({
      reason: 'path.protected',
      message: `${path} changed while the ${what} ran; look at it before you trust it`,
    });
  return result;
}

/** Without a proxy none. `scope` is asked for every connection: a program that serves several calls has another one each time. */
export async function openNetwork(
  openProxy: OpenProxy | undefined,
  scope: () => CallScope,
  record: (connection: EgressConnection) => void,
): Promise<{ readonly network: SandboxNetwork; close(): Promise<void> }> {
  if (!openProxy) return { network: 'none', close: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'haft-proxy-'));
  const proxy = await openProxy({
    socket: join(folder, 'proxy'),
    allow: (target) => decideConnection(scope(), target),
    record,
  });
  return {
    network: { proxy: proxy.address },
    async close() {
      await proxy.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Each connection is one more access: the same policy, asked while the program runs. */
function decideConnection(scope: CallScope, target: { scheme: string; host: string; port: number }) {
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

type Spills = Pick<ObjectStore, 'putStream'>;

interface Capture {
  /** Pending while the artifact cannot take more. */
  push(chunk: Uint8Array): void | Promise<void>;
  finish(): Promise<CapturedStream>;
}

export function createCapture(cap: number, objects: Spills): Capture {
  const kept: BoundedBuffer = createBoundedBuffer(cap);
  let spill: Spill | undefined;
  return {
    push(chunk) {
      const rest = kept.push(chunk);
      if (rest.length === 0) return;
      spill ??= startSpill(kept.bytes(), objects);
      return spill.push(rest);
    },
    async finish() {
      const artifact = await spill?.finish();
      return { bytes: kept.bytes(), total: kept.total, ...(artifact ? { artifact } : {}) };
    },
  };
}

interface Spill {
  push(chunk: Uint8Array): Promise<void>;
  finish(): Promise<ObjectId>;
}

/** Hands chunks to `putStream` one at a time: whoever pushes waits until the last one was taken. */
function startSpill(beginning: Uint8Array, objects: Spills): Spill {
  let next = Promise.withResolvers<Uint8Array | undefined>();
  let taken = Promise.withResolvers<void>();
  let broken: { readonly error: unknown } | undefined;
  let last: Promise<void> = Promise.resolve();
  async function* chunks() {
    yield beginning;
    for (;;) {
      const chunk = await next.promise;
      next = Promise.withResolvers();
      taken.resolve();
      if (!chunk) return;
      yield chunk;
    }
  }
  const stored = objects.putStream(chunks());
  stored.catch((error) => {
    broken = { error };
    taken.reject(error);
  });
  taken.promise.catch(() => {});
  const give = (chunk: Uint8Array | undefined): Promise<void> => {
    if (broken) throw broken.error;
    taken = Promise.withResolvers();
    next.resolve(chunk);
    return taken.promise;
  };
  // In order, also for those who do not wait: a stream may be over before its last piece was taken.
  const hand = (chunk: Uint8Array | undefined): Promise<void> => {
    last = last.then(() => give(chunk));
    last.catch(() => {});
    return last;
  };
  return {
    push: (chunk) => hand(Uint8Array.from(chunk)),
    async finish() {
      await hand(undefined);
      return (await stored).id;
    },
  };
}
