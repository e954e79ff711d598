// Owns: tools of a program that keeps running and speaks JSON lines: docs/reference/stdio.md has the protocol.
// Refuses: to send a call twice unless its tool is idempotent or the call provably never left.
//
// Wiring: `createStdioAdapter({ handlesFor })` once; `open(installation, tools)` for each installation, whose `config` fits
// `adapter.config`. `connection.discover(signal)` asks the program for its tools. Nothing is started before the first use.
import type { Adapter, AdapterConnection, HandlesFor, Invocation } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { programEffects } from '../../contract/program.ts';
import { attempt, RECONNECT } from '../attempts.ts';
import { type BreakerOptions, USUAL_BREAKER } from '../circuit-breaker.ts';
import { fillConfig, type SecretsFor } from '../config-filling.ts';
import { closedLink, createLink } from '../link.ts';
import { type Pace, SYSTEM_PACE } from '../pace.ts';
import { PROGRAM_CONFIG, type ProgramConfig, programConfig, programOf } from '../program-config.ts';
import { type Discovery, discoverTools } from './discover.ts';
import { openStdioSession } from './session.ts';

export interface StdioHandles {
  readonly handlesFor: HandlesFor;
  /** Without it, no config may name a secret. */
  readonly secretsFor?: SecretsFor;
  readonly pace?: Pace;
  readonly breaker?: BreakerOptions;
}

export interface StdioConnection extends AdapterConnection {
  /** What the program says about its tools. Rejects where it cannot be started. */
  discover(signal: AbortSignal): Promise<Discovery>;
}

const STDIO_CONFIG = {
  type: 'object',
  properties: PROGRAM_CONFIG,
  required: ['command'],
  additionalProperties: false,
} as const;

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

export interface StdioAdapter extends Adapter {
  open(installation: Installation, tools: readonly BoundTool[]): StdioConnection;
}

export function createStdioAdapter(handles: StdioHandles): StdioAdapter {
  const { handlesFor, secretsFor, pace = SYSTEM_PACE, breaker = USUAL_BREAKER } = handles;
  return {
    name: 'stdio',
    config: STDIO_CONFIG,
    effects({ installation, tool, site }) {
      const { needs } = programOf(programConfig(installation.name, installation.config));
      // That it may start programs was decided when it was started.
      const writes = tool.contract.mutates ? needs.writes : [];
      return programEffects({ needs: { ...needs, writes, subprocess: false } }, site.place);
    },
    open(installation, tools) {
      const { name } = installation;
      const config = programConfig(name, installation.config);
      const byId = new Map(tools.map((tool) => [tool.contract.id, tool]));
      const link = createLink({
        name,
        pace,
        breaker,
        idleMs: config.idle_ms,
        connect: async (signal) => {
          const program = programOf(await fillConfig(config, installation, secretsFor));
          return openStdioSession(name, handlesFor(installation).exec, program, {
            maxLineBytes: maxLineBytes(tools, config),
            ...(config.start_timeout_ms === undefined ? {} : { startTimeoutMs: config.start_timeout_ms }),
            signal,
          });
        },
      });
      const send = async ({ args, signal, progress }: Invocation, { binding }: BoundTool) => {
        const session = await link.open(signal);
        return session.call(String(binding.target.name), args, signal, progress);
      };
      return {
        invoke(invocation) {
          const { tool: id, signal } = invocation;
          const tool = byId.get(id);
          if (link.closed) return Promise.reject(closedLink(name));
          if (!tool)
            return Promise.reject(fail('tool.unknown', `Cannot call "${id}": "${name}" has no such tool`));
          const { idempotent } = tool.contract;
          return link.hold(() =>
            attempt(() => send(invocation, tool), { plan: RECONNECT, idempotent, signal, pace }),
          );
        },
        async health(signal) {
          try {
            await link.hold(async () => (await link.open(signal)).ping(signal));
            return { status: 'ready', checkedTs: Date.now() };
          } catch (thrown) {
            return { status: 'unhealthy', checkedTs: Date.now(), message: (thrown as Error).message };
          }
        },
        discover: (signal) =>
          link.hold(async () => discoverTools(installation, (await link.open(signal)).hello, config)),
        close: () => link.close(),
      };
    },
  };
}

/** Twice what an answer may be, for what JSON adds; beyond that a line is not held. */
function maxLineBytes(tools: readonly BoundTool[], config: ProgramConfig): number {
  const limits = tools.map(({ contract }) => contract.limits.maxOutputBytes);
  return 2 * Math.max(config.max_output_bytes ?? MAX_OUTPUT_BYTES, ...limits) + 64 * 1024;
}
