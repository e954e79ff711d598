// Owns: what `shell_exec` does: the effects of a line, and the answer of a run.
// Refuses: to be loaded before the first line.
import { createRedactor, type Redactor } from '../../base/redact/create-redactor.ts';
import { isSecretKey } from '../../base/redact/secret-keys.ts';
import { analyzeShell } from '../../base/shell/analyze-shell.ts';
import type { ToolContext } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import type { CapturedStream } from '../../contract/exec.ts';
import type { JsonObject } from '../../contract/json.ts';
import { shellEffects, shellPlace } from '../../contract/shell-effects.ts';
import { toWire } from '../../contract/spelling.ts';
import type { EffectSite } from '../../contract/tool.ts';

export interface ShellExecArgs {
  readonly cmd: string;
  readonly cwd: string;
  readonly timeout_ms: number;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly allow_network: boolean;
}

export interface ShellExecData {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timed_out: boolean;
  readonly limit?: string;
  readonly stdout_artifact?: string;
  readonly stderr_artifact?: string;
  readonly connections: readonly JsonObject[];
  readonly sandbox: JsonObject | null;
}

const CAPTURE_BYTES = 5 * 1024 * 1024;

export async function shellExecEffects(
  { cmd, cwd, allow_network }: ShellExecArgs,
  { place }: EffectSite,
): Promise<readonly Effect[]> {
  const analysis = await analyzeShell(cmd);
  if (!analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  return shellEffects(analysis, shellPlace(cwd, place), allow_network, place);
}

export async function runShellExec(
  { cmd, cwd, timeout_ms, env, stdin, allow_network }: ShellExecArgs,
  ctx: ToolContext,
): Promise<ShellExecData> {
  const secrets = Object.entries(env).filter(([name, value]) => isSecretKey(name) && value.length > 3);
  const redactor =
    secrets.length > 0
      ? createRedactor({ secrets: secrets.map(([, value]) => value), guess: false })
      : undefined;
  const outcome = await ctx.exec.shell({
    cmd,
    cwd,
    env,
    stdin: stdin ?? undefined,
    timeoutMs: timeout_ms,
    allowNetwork: allow_network,
    captureBytes: CAPTURE_BYTES,
    onOutput: (stream, chunk) => ctx.output(stream, textOf(chunk, redactor)),
  });
  const { stdout, stderr, limitHit } = outcome;
  const connections = outcome.connections.map((one) => toWire(one) as JsonObject);
  const sandbox = outcome.sandbox ? (toWire(outcome.sandbox) as JsonObject) : null;
  ctx.testify({
    exit: outcome.code,
    signal: outcome.signal,
    timed_out: outcome.timedOut,
    limit: limitHit ?? null,
    sandbox,
    connections,
  });
  for (const [name, stream] of Object.entries({ stdout, stderr })) {
    if (stream.artifact === undefined) continue;
    const message = `${name} is ${stream.total} bytes; the first ${stream.bytes.length} are in the answer, all of it is ${stream.artifact}`;
    ctx.warn({ reason: 'output.truncated', message, artifact: stream.artifact });
  }
  return {
    code: outcome.code,
    signal: outcome.signal,
    stdout: textOf(stdout.bytes, redactor),
    stderr: textOf(stderr.bytes, redactor),
    timed_out: outcome.timedOut,
    ...(limitHit ? { limit: limitHit } : {}),
    ...artifactOf('stdout_artifact', stdout),
    ...artifactOf('stderr_artifact', stderr),
    connections,
    sandbox,
  };
}

const artifactOf = (name: string, { artifact }: CapturedStream) => (artifact ? { [name]: artifact } : {});

function textOf(bytes: Uint8Array, redactor: Redactor | undefined): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return redactor ? redactor.text(text) : text;
}
