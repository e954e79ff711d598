// Owns: tools of a program that keeps running and speaks JSON lines: docs/reference/stdio.md has the protocol.
// Refuses: to send a call twice unless its tool is idempotent or the call provably never left.
//
// Wiring: `createStdioAdapter({ handlesFor })` once; `open(installation, tools)` for each installation, whose `config` fits
// `adapter.config`. `connection.discover(signal)` asks the program for its tools. Nothing is started before the first use.
import type { Adapter, AdapterConnection, HandlesFor, Invocation } from '../../contract/adapter.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { passedVariables } from '../../contract/own-variable.ts';
import { programEffects } from '../../contract/program.ts';
import type { ReadInputs } from '../../contract/runs.ts';
import { type BreakerOptions, USUAL_BREAKER } from '../circuit-breaker.ts';
import { fillConfig, type SecretsFor } from '../config-filling.ts';
import type { LogFor } from '../line-program.ts';
import { createLink } from '../link.ts';
import { linkedConnection, longestMessage } from '../linked-connection.ts';
import { type Pace, SYSTEM_PACE } from '../pace.ts';
import { callNeeds, PROGRAM_CONFIG, programConfig, programOf, type StartFor } from '../program-config.ts';
import { withReads } from '../run-reads.ts';
import { type Discovery, discoverTools } from './discover.ts';
import { openStdioSession } from './session.ts';

export interface StdioHandles {
  readonly handlesFor: HandlesFor;
  /** Without it, no config may name a secret. */
  readonly secretsFor?: SecretsFor;
  /** Without it, programs run where they lie. */
  readonly startFor?: StartFor;
  /** Digests of what tools may read. Without it, one that may read anything is not replayed. */
  readonly readInputs?: ReadInputs;
  /** Without it, what programs write to stderr is kept nowhere. */
  readonly logFor?: LogFor;
  readonly pace?: Pace;
  readonly breaker?: BreakerOptions;
}

export interface StdioConnection extends AdapterConnection {
  /** What the program says about its tools. Rejects where it cannot be started. */
  discover(signal: AbortSignal): Promise<Discovery>;
  /** Told when it was lost and found: it may be another by then. Answers with the function that ends that. */
  onChange(listener: () => void): () => void;
}

/** JSON Schema of `installation.config`. */
export const STDIO_CONFIG = {
  type: 'object',
  properties: PROGRAM_CONFIG,
  required: ['command'],
  additionalProperties: false,
} as const;

export interface StdioAdapter extends Adapter {
  open(installation: Installation, tools: readonly BoundTool[]): StdioConnection;
}

export function createStdioAdapter(handles: StdioHandles): StdioAdapter {
  const {
    handlesFor,
    secretsFor,
    startFor,
    logFor,
    readInputs,
    pace = SYSTEM_PACE,
    breaker = USUAL_BREAKER,
  } = handles;
  return {
    name: 'stdio',
    config: STDIO_CONFIG,
    needs: ({ installation: { name, config }, site }) =>
      programEffects(programOf(programConfig(name, config)), site.place),
    effects({ installation, tool, site }) {
      const config = programConfig(installation.name, installation.config);
      return programEffects({ needs: callNeeds(config, tool.contract.mutates) }, site.place);
    },
    runIdentity({ installation: { name, config: given, digest }, tool }) {
      const { env = {}, caps = {} } = programConfig(name, given);
      const names = env.passthrough ?? [];
      const set = passedVariables(names, process.env);
      const passed = Object.fromEntries(names.map((variable) => [variable, set[variable] ?? null]));
      const paths = caps.filesystem?.read ?? [];
      // Its whole config is in the digest of the installation.
      return withReads({ code: digest }, { code: tool.pins?.code, paths, passed, config: {} }, readInputs);
    },
    open(installation, tools) {
      const { name } = installation;
      const config = programConfig(name, installation.config);
      const listeners = new Set<() => void>();
      let met = false;
      const link = createLink({
        name,
        pace,
        breaker,
        idleMs: config.idle_ms,
        connect: async (signal) => {
          const program = programOf(
            await fillConfig(config, installation, secretsFor),
            process.env,
            startFor?.(installation),
          );
          const session = await openStdioSession(name, handlesFor(installation).exec, program, {
            maxLineBytes: longestMessage(tools, config.max_output_bytes),
            ...(config.start_timeout_ms === undefined ? {} : { startTimeoutMs: config.start_timeout_ms }),
            signal,
            log: logFor?.(installation, program.env),
          });
          if (met) for (const listener of listeners) listener();
          met = true;
          return session;
        },
      });
      const send = async (invocation: Invocation, { binding }: BoundTool) => {
        const session = await link.open(invocation.signal);
        return session.call(String(binding.target.name), invocation);
      };
      return {
        ...linkedConnection({
          name,
          tools,
          link,
          pace,
          send,
          ping: (session, signal) => session.ping(signal),
        }),
        discover: (signal) =>
          link.hold(async () => discoverTools(installation, (await link.open(signal)).tools, config)),
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      };
    },
  };
}
