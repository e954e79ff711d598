// Owns: sealed credentials in the SQLite store.
// Refuses: keys and values; what it keeps was sealed before it came.
import type { CredentialRows, SealedCredential } from '../../contract/credentials.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const COLUMNS = 'provider, owner, fields, created_ts, updated_ts, key_id, box';

export function createCredentialRows(connection: Connection, group: GroupCommit): CredentialRows {
  const PUT = `INSERT OR REPLACE INTO credentials (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`;
  const GET = `SELECT ${COLUMNS} FROM credentials WHERE provider = ? AND owner = ?`;
  const LIST = `SELECT ${COLUMNS} FROM credentials ORDER BY provider, owner`;
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
