// Owns: what the packs of a workspace are opened with.
// Refuses: to open anything.

import type { PolicyFile } from '../../contract/policy.ts';
import type { Clock, EventBus, Runtime, ToolNames } from '../../contract/runtime.ts';
import type { Store } from '../../contract/store.ts';

export interface PackSite {
  readonly runtime: Runtime;
  /** Told how the health of packs changes. */
  readonly events: EventBus;
  readonly clock: Clock;
  readonly store: Pick<Store, 'credentials' | 'installations' | 'toolNames'>;
  /** What MCP clients call tools. */
  readonly names: ToolNames;
  /** The workspace. */
  readonly root: string;
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Packs that are wrong are left out, and told here, instead of keeping the host from starting. */
  readonly onBroken?: ((message: string) => void) | undefined;
  /** Told whenever packs were opened or closed, before anybody is told of their tools. */
  readonly opened: () => Promise<void>;
  /** Fails where haft.lock, or haft.yaml, is one that nobody trusted. */
  readonly trusted: () => Promise<unknown>;
  readonly lock?: LockMode | undefined;
  /** Asks servers for their tools, also where they are known. */
  readonly fresh?: boolean | undefined;
  /** Told when there are other tools than before. */
  retooled?(): Promise<void>;
  /** The host stays, and takes over what changes meanwhile. */
  readonly living?: boolean | undefined;
  /** Below another workspace only what its policy names as well is opened, and it cannot name what was added here. */
  readonly below?: boolean | undefined;
  /** Instead of those that haft.yaml names and those that were added: for trying some out. */
  readonly packs?: PolicyFile['packs'] | undefined;
}

/**
 * What `haft.lock` is to the start. `hold`: tools that differ from it are quarantined. `frozen`: nothing may differ.
 * `ignore`: for whoever compares.
 */
export type LockMode = 'hold' | 'frozen' | 'ignore';
