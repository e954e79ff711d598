// Owns: `shell_exec`: one shell line, every command of it allowed by policy, run in the sandbox, and its answer.
// Refuses: what cannot be taken apart before it runs, and output beyond the answer's size (it is kept as an artifact).
import { once } from '../../base/once.ts';
import type { Redactor } from '../../base/redact/create-redactor.ts';
import type { ToolContext } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import type { CapturedStream } from '../../contract/exec.ts';
import type { JsonObject } from '../../contract/json.ts';
import { shellEffects, shellPlace } from '../../contract/shell-effects.ts';
import { toWire } from '../../contract/spelling.ts';
import { defineBuiltin, type EffectSite } from '../../contract/tool.ts';

const TEN_MINUTES = 600_000;

/** Taking a line apart comes with the first line: no other tool should wait for it. */
const loadAnalysis = once(() => import('../../base/shell/analyze-shell.ts'));

interface ShellExecArgs {
  readonly cmd: string;
  readonly cwd: string;
  readonly timeout_ms: number;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly allow_network: boolean;
}

interface ShellExecData {
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

export const shellExec = defineBuiltin<ShellExecArgs, ShellExecData>({
  id: 'shell_exec',
  title: 'Run a shell command',
  description:
    'Run one bash command line in a sandbox that sees only the workspace, without network. ' +
    'Every command in it must match shell_allow of haft.yaml: keep lines simple; commands made at run time ($VAR as a command, eval) are refused. Nothing keeps running after it ends. Its changes cannot be undone.',
  tags: ['process', 'shell', 'write'],
  idempotent: false,
  // What a program changes cannot be taken back; only what redirections name is locked.
  mutates: true,
  limits: {
    timeoutMs: TEN_MINUTES + 5_000,
    maxInputBytes: 8 * 1024 * 1024,
    maxOutputBytes: 32 * 1024 * 1024,
  },
  input: () => ({
    type: 'object',
    properties: {
      cmd: { type: 'string', minLength: 1, maxLength: 65_536, description: 'For bash.' },
      cwd: { type: 'string', default: '.', description: 'Folder to run in.' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: TEN_MINUTES,
        default: TEN_MINUTES,
        description: 'The line and everything it started is ended after this time.',
      },
      env: {
        type: 'object',
        additionalProperties: { type: 'string' },
        default: {},
        description: 'Variables to add; PATH and the like are refused.',
      },
      stdin: { type: ['string', 'null'], default: null, description: 'Standard input.' },
      allow_network: {
        type: 'boolean',
        default: false,
        description: 'Reach hosts that haft.yaml allows.',
      },
    },
    required: ['cmd'],
    additionalProperties: false,
  }),
  output: () => ({
    type: 'object',
    properties: {
      code: { type: ['integer', 'null'], description: 'The exit code; 128 + n where signal n ended it.' },
      signal: { type: ['string', 'null'] },
      stdout: { type: 'string' },
      stderr: { type: 'string' },
      timed_out: { type: 'boolean' },
      limit: {
        type: 'string',
        description: 'The limit that ended it: memory, processes, cpu, file_size, bytes_written or output.',
      },
      stdout_artifact: {
        type: 'string',
        description: 'Where all of stdout is kept, when it is longer than 5 MiB.',
      },
      stderr_artifact: { type: 'string' },
      connections: {
        type: 'array',
        description: 'Every connection that was tried, refused ones too.',
        items: { type: 'object' },
      },
      sandbox: {
        type: ['object', 'null'],
        description: 'What was seen from inside; null where policy let it run without one.',
      },
    },
    required: ['code', 'signal', 'stdout', 'stderr', 'timed_out', 'connections', 'sandbox'],
    additionalProperties: false,
  }),
  examples: [{ title: 'Run the tests', args: { cmd: 'npm test', timeout_ms: 120_000 } }],
  effects: shellExecEffects,
  run: runShellExec,
});

const CAPTURE_BYTES = 5 * 1024 * 1024;

async function shellExecEffects(
  { cmd, cwd, allow_network }: ShellExecArgs,
  { place }: EffectSite,
): Promise<readonly Effect[]> {
  const { analyzeShell } = await loadAnalysis();
  const analysis = await analyzeShell(cmd);
  if (!analysis.ok) throw fail(analysis.reason, analysis.message, { ...analysis.at });
  return shellEffects(analysis, shellPlace(cwd, place), allow_network, place);
}

async function runShellExec(
  { cmd, cwd, timeout_ms, env, stdin, allow_network }: ShellExecArgs,
  ctx: ToolContext,
): Promise<ShellExecData> {
  const redactor = Object.keys(env).length === 0 ? undefined : await redactorFor(env);
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

/** Of the values of variables whose names say that they are secret. */
async function redactorFor(env: ShellExecArgs['env']): Promise<Redactor | undefined> {
  const [{ createRedactor }, { isSecretKey }] = await Promise.all([
    import('../../base/redact/create-redactor.ts'),
    import('../../base/redact/secret-keys.ts'),
  ]);
  const secrets = Object.entries(env).filter(([name, value]) => isSecretKey(name) && value.length > 3);
  return secrets.length === 0
    ? undefined
    : createRedactor({ secrets: secrets.map(([, value]) => value), guess: false });
}
