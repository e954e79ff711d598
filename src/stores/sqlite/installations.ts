// Owns: packs that were added beside haft.yaml, which are disabled, what MCP clients were told that each tool is called, and sealed credentials.
// Refuses: to add a pack that came along in a copy of the database, to change a name that was given, and keys: what is sealed was so before it came.
import { canonicalText } from '../../base/canonical-json.ts';
import type { CredentialRows, SealedCredential } from '../../contract/credentials.ts';
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

const SEALED_COLUMNS = 'provider, owner, fields, created_ts, updated_ts, key_id, box';

export function createCredentialRows(connection: Connection, group: GroupCommit): CredentialRows {
  const PUT = `INSERT OR REPLACE INTO credentials (${SEALED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`;
  const GET = `SELECT ${SEALED_COLUMNS} FROM credentials WHERE provider = ? AND owner = ?`;
  const LIST = `SELECT ${SEALED_COLUMNS} FROM credentials ORDER BY provider, owner`;
  return {
    put({ provider, owner, fields, createdTs, updatedTs, keyId, box }) {
      const names = JSON.stringify(fields);
      return group.enqueue(() => {
        connection.sql(PUT).run(provider, owner, names, createdTs, updatedTs, keyId, box);
      }, true);
    },
    async get({ provider, owner }) {
      const row = await connection.read(() => connection.sql(GET).get(provider, owner));
      return row && toSealed(row as unknown as CredentialColumns);
    },
    async list() {
      const rows = await connection.read(() => connection.sql(LIST).all());
      return rows.map((row) => toSealed(row as unknown as CredentialColumns));
    },
    remove: ({ provider, owner }) =>
      group.enqueue(() => {
        const sql = 'DELETE FROM credentials WHERE provider = ? AND owner = ?';
        return connection.sql(sql).run(provider, owner).changes > 0;
      }, true),
  };
}

interface CredentialColumns {
  readonly provider: string;
  readonly owner: string;
  readonly fields: string;
  readonly created_ts: number;
  readonly updated_ts: number;
  readonly key_id: string;
  readonly box: string;
}

const toSealed = (row: CredentialColumns): SealedCredential => ({
  provider: row.provider,
  owner: row.owner,
  fields: fieldsOf(row.fields),
  createdTs: row.created_ts,
  updatedTs: row.updated_ts,
  keyId: row.key_id,
  box: row.box,
});

/** What was changed to no list of names reads as none; opening it then says that it was changed. */
function fieldsOf(text: string): readonly string[] {
  try {
    const fields: unknown = JSON.parse(text);
    return Array.isArray(fields) ? fields.map(String) : [];
  } catch {
    return [];
  }
}
