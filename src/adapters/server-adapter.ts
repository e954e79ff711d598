// Owns: what an adapter of servers is given and what it is beside an adapter: its other side says which tools it has.
// Refuses: to know any of them; `src/preset/packs/sources/index.ts` lists them.
import type { Adapter, AdapterConnection, HandlesFor } from '../contract/adapter.ts';
import type { HealthStrategy } from '../contract/health.ts';
import type { JsonObject } from '../contract/json.ts';
import type { BoundTool, Installation } from '../contract/manifest.ts';
import type { ReadInputs } from '../contract/runs.ts';
import type { BreakerOptions } from './attempts.ts';
import type { LogFor } from './line-program.ts';
import type { SecretsFor, StartFor } from './program-config.ts';
import type { Scheduler } from './scheduler.ts';

export interface ServerDeps {
  readonly handlesFor: HandlesFor;
  /** Without it, no config may name a secret. */
  readonly secretsFor?: SecretsFor;
  /** Without it, programs run where they lie. */
  readonly startFor?: StartFor;
  /** Digests of what tools may read. Without it, one that may read anything is not replayed. */
  readonly readInputs?: ReadInputs;
  /** Without it, what programs write to stderr is kept nowhere. */
  readonly logFor?: LogFor;
  readonly scheduler?: Scheduler;
  readonly breaker?: BreakerOptions;
}

export type CreateServerAdapter = (deps: ServerDeps) => ServerAdapter;

export interface ServerAdapter extends Adapter {
  /** How the server is looked at, as one thing that is there or is not. */
  readonly strategy: HealthStrategy;
  /** What is wrong with a config that fits the schema: one sentence, which begins with the key. */
  problemOf?(config: JsonObject): string | undefined;
  open(installation: Installation, tools: readonly BoundTool[]): ServerConnection;
}

export interface ServerConnection extends AdapterConnection {
  /** The server's tools as they are now. Rejects where it cannot be reached. */
  discover(signal: AbortSignal): Promise<Discovery>;
  /** Told when it is time to discover again. Answers with the function that ends the subscription. */
  onChange(listener: () => void): () => void;
}

export interface Discovery {
  /** Sorted by id. */
  readonly tools: readonly BoundTool[];
  /** What was left out, and why, one sentence each. */
  readonly problems: readonly string[];
  /** The same, of those that have a name, by id. */
  readonly left?: { readonly [id: string]: string };
  /** What it says of itself, as far as its protocol lets it. */
  readonly server?: { readonly name?: string; readonly version?: string };
  readonly protocol?: string;
  /** What it says to models about its tools. It is a stranger's text. */
  readonly instructions?: string;
}
