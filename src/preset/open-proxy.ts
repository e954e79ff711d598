// Owns: bringing the egress proxy of the HTTP capability to the sandbox of the exec capability.
// Refuses: decisions; the call that wants the network brings them.
import type { OpenProxy } from '../contract/exec.ts';

export const openProxy: OpenProxy = async ({ socket, allow, record }) => {
  const { createEgressProxy } = await import('../capabilities/http/egress-proxy.ts');
  return createEgressProxy({ listen: { socket }, allow, record });
};
