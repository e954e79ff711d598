// Owns: the contract of `shell_exec`: one shell line, every command of it allowed by policy, run in the sandbox.
// Refuses: what cannot be taken apart before it runs, and output beyond the answer's size (it is kept as an artifact).

import { once } from '../../base/once.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import type { ShellExecArgs, ShellExecData } from './run-shell-exec.ts';

const TEN_MINUTES = 600_000;

/** Not at the top: no other tool should wait for it. */
const load = once(() => import('./run-shell-exec.ts'));

export const shellExec = defineBuiltin<ShellExecArgs, ShellExecData>({
  id: 'shell_exec',
  title: 'Run a shell command',
  description:
    'Runs one bash line in a sandbox: the workspace is writable, the rest of the machine is not there, and there is no network. ' +
    'Every command in the line (also behind ;, &&, |, $() and wrappers such as timeout) must match shell_allow of haft.yaml; ' +
    'what cannot be known before it runs (a command name from a variable, eval, sh -c with an expansion) is refused. ' +
    'A refusal says which command and the line that would admit it. ' +
    'The answer has the exit code, and up to 5 MiB of each stream; all of a longer one is kept as an artifact. ' +
    'Background processes end with the line. What a command changes cannot be taken back with undo. Set allow_network to reach the hosts of network.allowed_domains, through a proxy.',
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
      cmd: { type: 'string', minLength: 1, maxLength: 65_536, description: 'The line, as bash reads it.' },
      cwd: { type: 'string', default: '.', description: 'Where it runs, relative to the workspace.' },
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
        description: 'Variables to add. Those that decide what runs (PATH, LD_PRELOAD, …) are refused.',
      },
      stdin: { type: ['string', 'null'], default: null, description: 'Text for standard input.' },
      allow_network: {
        type: 'boolean',
        default: false,
        description: 'Reach the hosts that policy allows, through a proxy.',
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
  // Taking a line apart needs a grammar, which comes with the first line.
  effects: async (args, site) => (await load()).shellExecEffects(args, site),
  run: async (args, ctx) => (await load()).runShellExec(args, ctx),
});
