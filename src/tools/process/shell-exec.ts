// Owns: `shell_exec`: one shell line, every command of it allowed by policy, run in the sandbox, and its answer.
// Refuses: what cannot be taken apart before it runs, and output beyond the answer's size (it is kept as an artifact).
import { once } from '../../base/once.ts';
import type { Redactor } from '../../base/redact/create-redactor.ts';
import { redactorOfVariables } from '../../base/redact/redactor-of-variables.ts';
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

const loadPrinted = once(() => import('../../contract/printed.ts'));

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
    'Every command in it must match shell_allow of haft.yaml: keep lines simple; commands made at run time ($VAR as a command, eval) are refused. Nothing keeps running after it ends (for servers use shell_start). Its changes cannot be undone.',
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
        description: 'The line and all it started is ended then; what was printed is in the failure.',
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
    required: ['code', 'signal', 'stdout', 'stderr', 'connections', 'sandbox'],
    additionalProperties: false,
  }),
  examples: [{ title: 'Run the tests', args: { cmd: 'npm test', timeout_ms: 120_000 } }],
  effects: shellLineEffects,
  run: runShellExec,
});

const CAPTURE_BYTES = 5 * 1024 * 1024;

/** What a line would run and touch. */
export async function shellLineEffects(
  { cmd, cwd, allow_network }: Pick<ShellExecArgs, 'cmd' | 'cwd' | 'allow_network'>,
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
  const redactor = Object.keys(env).length === 0 ? undefined : await redactorOfVariables(env);
  const printed = (await loadPrinted()).createPrinted();
  const ended = (thrown: unknown) => printed.into(thrown, (text) => redactor?.text(text) ?? text);
  const outcome = await ctx.exec
    .shell({
      cmd,
      cwd,
      env,
      stdin: stdin ?? undefined,
      timeoutMs: timeout_ms,
      allowNetwork: allow_network,
      captureBytes: CAPTURE_BYTES,
      onOutput(stream, chunk) {
        printed.push(stream, chunk);
        ctx.output(stream, textOf(chunk, redactor));
      },
    })
    .catch((thrown: unknown) => {
      throw ended(thrown);
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
  const artifacts = { ...artifactOf('stdout_artifact', stdout), ...artifactOf('stderr_artifact', stderr) };
  if (outcome.timedOut) {
    const message = `Cannot finish the command: it ran longer than ${timeout_ms} ms, and was ended`;
    throw ended(fail('time.deadline', message, { timeout_ms, ...artifacts }));
  }
  return {
    code: outcome.code,
    signal: outcome.signal,
    stdout: textOf(stdout.bytes, redactor),
    stderr: textOf(stderr.bytes, redactor),
    ...(limitHit ? { limit: limitHit } : {}),
    ...artifacts,
    connections,
    sandbox,
  };
}

const artifactOf = (name: string, { artifact }: CapturedStream) => (artifact ? { [name]: artifact } : {});

function textOf(bytes: Uint8Array, redactor: Redactor | undefined): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return redactor ? redactor.text(text) : text;
}
