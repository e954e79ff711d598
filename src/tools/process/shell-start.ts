// Owns: `shell_start`: a shell line that goes on by itself, for calls that read it and write to it.
// Refuses: what shell_exec refuses, and a process that ends with the call.
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import { ANY_CONNECTION } from '../../contract/shell-effects.ts';
import { defineBuiltin, type EffectSite } from '../../contract/tool.ts';
import { shellLineEffects } from './shell-exec.ts';
import { object, SHELL_LIMITS, TEXT } from './shell-fields.ts';

const HOUR = 3_600_000;

export interface ShellStartArgs {
  readonly cmd: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly timeout_ms: number;
  readonly allow_network: boolean;
}

export interface ShellStartData {
  readonly shell_id: string;
}

export const shellStart = defineBuiltin<ShellStartArgs, ShellStartData>({
  id: 'shell_start',
  title: 'Start a background shell',
  description:
    'Start a bash line that keeps running (a server, a watcher, a REPL) and return at once, under the rules of shell_exec. Follow it with shell_read, shell_write and shell_signal. ' +
    '"bash" alone starts a shell that keeps its folder and variables. It ends with the session.',
  tags: ['process', 'shell', 'write'],
  idempotent: false,
  mutates: true,
  limits: SHELL_LIMITS,
  input: () =>
    object(
      {
        cmd: { type: 'string', minLength: 1, maxLength: 65_536, description: 'For bash.' },
        cwd: { type: 'string', default: '.', description: 'Folder to run in.' },
        env: {
          type: 'object',
          additionalProperties: TEXT,
          default: {},
          description: 'Variables to add.',
        },
        name: { type: 'string', minLength: 1, maxLength: 80, description: 'For shell_list.' },
        timeout_ms: {
          type: 'integer',
          minimum: 1,
          maximum: 24 * HOUR,
          default: HOUR,
          description: 'Kill it after this.',
        },
        allow_network: {
          type: 'boolean',
          default: false,
          description: 'Reach hosts that haft.yaml allows.',
        },
      },
      ['cmd'],
    ),
  output: () => object({ shell_id: TEXT }),
  examples: [
    { title: 'A server', args: { cmd: 'npm run dev', name: 'dev' } },
    { title: 'A shell that keeps its folder', args: { cmd: 'bash' } },
  ],
  effects: shellStartEffects,
  async run({ cmd, cwd, env, name, timeout_ms, allow_network }, ctx) {
    const line = { cmd, cwd, env, name, timeoutMs: timeout_ms, allowNetwork: allow_network };
    const { id } = await ctx.shells.start(line);
    ctx.testify({ shell: id });
    return { shell_id: id };
  },
});

/** Another shell, or bash with options, to be talked to. */
const BARE_SHELL = /^\s*(?:bash|dash|sh|zsh|ksh|fish)(?:\s+-[il]+)?\s*$/;

function shellStartEffects(
  { cmd, cwd, allow_network }: ShellStartArgs,
  site: EffectSite,
): Promise<readonly Effect[]> | readonly Effect[] {
  // A plain shell runs nothing by itself: what it is given is decided then.
  if (cmd.trim() === 'bash') return allow_network ? [ANY_CONNECTION] : [];
  if (BARE_SHELL.test(cmd))
    throw fail('shell.wrapper', `Cannot start ${cmd.trim()}: what it reads is not decided; start "bash"`);
  return shellLineEffects({ cmd, cwd, allow_network }, site);
}
