// Owns: names of tools in the SQLite store: what MCP clients were told that each is called.
// Refuses: to change one that was given.
import type { ToolNameStore } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const PUT = 'INSERT OR IGNORE INTO tool_names (tool, name) VALUES (?, ?)';

export function createToolNames(connection: Connection, group: GroupCommit): ToolNameStore {
  return {
    async all() {
      const rows = await connection.read(() => connection.sql('SELECT tool, name FROM tool_names').all());
      return new Map((rows as { tool: string; name: string }[]).map(({ tool, name }) => [tool, name]));
    },
    keep: (names) =>
      group.enqueue(() => {
        for (const [tool, name] of names) connection.sql(PUT).run(tool, name);
      }, false),
  };
}
