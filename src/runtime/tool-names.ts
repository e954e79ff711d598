// Owns: what MCP clients call each tool: as it was kept, or the usual name of one that is new.
// Refuses: to give a name to another tool than the one that had it, also where that is gone: clients remember what they allowed.
import { clientName } from '../base/client-name.ts';
import type { ToolNames } from '../contract/runtime.ts';

export function createToolNames(): ToolNames {
  let byId: ReadonlyMap<string, string> = new Map();
  let byName: ReadonlyMap<string, string> = new Map();
  return {
    nameOf: (id) => byId.get(id) ?? clientName(id),
    ownerOf: (name) => byName.get(name),
    recall(kept) {
      byId = kept;
      byName = new Map([...kept].map(([id, name]) => [name, id]));
    },
  };
}
