// Owns: packs that were added beside haft.yaml, which are disabled, and what MCP clients were told that each tool is called.
// Refuses: to add a pack that came along in a copy of the database, and to change a name that was given.
import { canonicalText } from '../../base/canonical-json.ts';
import type { InstallationRecord, InstallationStore, ToolNameStore } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const COLUMNS = 'name, home, entry, enabled, added_ts, changed_ts';
const PUT = `INSERT OR REPLACE INTO installations (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`;
const LIST = `SELECT ${COLUMNS} FROM installations ORDER BY name`;
const GET = `SELECT ${COLUMNS} FROM installations WHERE name = ?`;

export function createInstallations(
  connection: Connection,
  group: GroupCommit,
  /** Tells this database file from every copy of it. */
  home: string,
): InstallationStore {
  const toRecords = (row: unknown): InstallationRecord[] => {
    const { name, entry, enabled, added_ts, changed_ts, home: made } = row as InstallationColumns;
    const own = made === home;
    if (!own && enabled === 1) return [];
    const known = own && entry !== null ? JSON.parse(entry) : null;
    return [{ name, entry: known, enabled: enabled === 1, addedTs: added_ts, changedTs: changed_ts }];
  };
  return {
    put({ name, entry, enabled, addedTs, changedTs }) {
      const text = entry === null ? null : canonicalText(entry);
      return group.enqueue(() => {
        connection.sql(PUT).run(name, home, text, enabled ? 1 : 0, addedTs, changedTs);
      }, true);
    },
    async get(name) {
      const row = await connection.read(() => connection.sql(GET).get(name));
      return row && toRecords(row)[0];
    },
    async list() {
      return (await connection.read(() => connection.sql(LIST).all())).flatMap(toRecords);
    },
    remove: (name) =>
      group.enqueue(
        () => connection.sql('DELETE FROM installations WHERE name = ?').run(name).changes > 0,
        true,
      ),
  };
}

interface InstallationColumns {
  readonly name: string;
  readonly home: string;
  readonly entry: string | null;
  readonly enabled: number;
  readonly added_ts: number;
  readonly changed_ts: number;
}

const PUT_NAME = 'INSERT OR IGNORE INTO tool_names (tool, name) VALUES (?, ?)';

export function createToolNames(connection: Connection, group: GroupCommit): ToolNameStore {
  return {
    async all() {
      const rows = await connection.read(() => connection.sql('SELECT tool, name FROM tool_names').all());
      return new Map((rows as { tool: string; name: string }[]).map(({ tool, name }) => [tool, name]));
    },
    keep: (names) =>
      group.enqueue(() => {
        for (const [tool, name] of names) connection.sql(PUT_NAME).run(tool, name);
      }, false),
  };
}
