// Owns: the list of capabilities, in the order in which they are told of changes.
// Refuses: to start anything: a capability begins with the first call that needs it.
import { createArtifactsCapability } from '../capabilities/artifacts/capability.ts';
import { createExecCapability } from '../capabilities/exec/capability.ts';
import { createFsCapability } from '../capabilities/fs/handle.ts';
import { createHttpCapability } from '../capabilities/http/handle.ts';
import { createProcessHandle } from '../capabilities/processes/handle.ts';
import { createSearchCapability } from '../capabilities/search/capability.ts';
import type { ArtifactStore } from '../contract/artifacts.ts';
import type { Capability } from '../contract/capability.ts';
import type { OpenProxy } from '../contract/exec.ts';
import { isAlive } from '../stores/process-identity.ts';

export interface CapabilityParts {
  /** This process, as locks know it. */
  readonly process: string;
  artifacts(): Promise<ArtifactStore>;
}

export function defaultCapabilities({ process, artifacts }: CapabilityParts): readonly Capability[] {
  const fs = createFsCapability({ isAlive });
  const exec = createExecCapability(openProxy, { self: process, isAlive });
  const http = createHttpCapability();
  const search = createSearchCapability({ files: fs });
  return [
    { name: 'fs', handle: fs },
    { name: 'exec', handle: exec.open, close: exec.close },
    exec.shells,
    { name: 'http', handle: http.open, close: http.close },
    { name: 'search', handle: search.open, close: search.close },
    { name: 'processes', handle: createProcessHandle },
    { name: 'artifacts', handle: createArtifactsCapability({ store: artifacts, files: fs }) },
  ];
}

/** The egress proxy of the HTTP capability, for the sandbox of the exec capability: a leaf names no other. */
export const openProxy: OpenProxy = async ({ socket, allow, record }) => {
  const { createEgressProxy } = await import('../capabilities/http/egress-proxy.ts');
  return createEgressProxy({ listen: { socket }, allow, record });
};
