// Owns: the tables of haft.db, version by version, and bringing a database to the newest of them.
// Refuses: to be loaded where the database is up to date.
import { fail } from '../../contract/errors.ts';
import { APPLICATION_ID, type Connection, SCHEMA_VERSION, versionOf } from './connection.ts';

/** Each brings the schema one version further. Never edit one that was released: add the next. */
const MIGRATIONS = [
  `
  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    call_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    start_ts INTEGER NOT NULL,
    end_ts INTEGER,
    session TEXT NOT NULL,
    attribution TEXT,
    decision TEXT NOT NULL,
    effects TEXT NOT NULL,
    outcome TEXT NOT NULL,
    errors TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    run_id TEXT,
    changes TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    facts TEXT,
    process TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
  CREATE TRIGGER audit_keeps_values BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

  -- The rows of calls that meant to change something, for undo. A small table to walk instead of an index: call ids
  -- are random, and an index over them would touch one more page for every row (measured: 40 % fewer calls a second).
  CREATE TABLE changing_calls (
    seq INTEGER PRIMARY KEY,
    call_id TEXT NOT NULL
  ) STRICT;

  -- Intents that have no outcome yet: those of calls under way, and those that a dead process left.
  CREATE TABLE open_intents (
    call_id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A session that was never opened by name has a row as well, from its first call on: its usage must be counted.
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    opened INTEGER NOT NULL,
    created_ts INTEGER NOT NULL,
    expires_ts INTEGER,
    attribution TEXT,
    registry TEXT,
    budget TEXT,
    calls INTEGER NOT NULL DEFAULT 0,
    wall_ms INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    session TEXT NOT NULL,
    -- Which database file this was asked in: one that came along in a clone or an archive grants nothing.
    home TEXT NOT NULL,
    status TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    expires_ts INTEGER NOT NULL,
    decided_ts INTEGER,
    decided_by TEXT,
    rule TEXT NOT NULL,
    effects TEXT NOT NULL,
    admit TEXT
  ) STRICT;
  CREATE INDEX approvals_open ON approvals (params_hash)
    WHERE status IN ('pending', 'granted', 'refused');

  CREATE TABLE locks (
    path TEXT NOT NULL,
    ticket INTEGER NOT NULL,
    tree INTEGER NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (path, ticket)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX locks_by_ticket ON locks (ticket);

  CREATE TABLE small_objects (
    n INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
  ) STRICT;
  `,
  `
  -- The secret itself is in the box, under a key that is not in the workspace.
  CREATE TABLE credentials (
    provider TEXT NOT NULL,
    owner TEXT NOT NULL,
    fields TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    updated_ts INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    box TEXT NOT NULL,
    PRIMARY KEY (provider, owner)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- When somebody last stored an object, or said that it is about to be referred to: a sweep leaves such alone.
  ALTER TABLE small_objects ADD COLUMN used_ts INTEGER NOT NULL DEFAULT 0;
  UPDATE small_objects SET used_ts = unixepoch() * 1000;
  CREATE TABLE object_uses (
    sha256 BLOB PRIMARY KEY,
    used_ts INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE artifacts (
    n INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    files INTEGER NOT NULL,
    created_ts INTEGER NOT NULL,
    used_ts INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- What lists show of the newest attempt is kept with the run, so that a list reads one table.
  CREATE TABLE runs (
    n INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    state TEXT NOT NULL,
    preimage TEXT NOT NULL,
    args TEXT,
    plan TEXT,
    inputs TEXT NOT NULL,
    result_json TEXT,
    result_call TEXT,
    result_outputs TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    backend TEXT,
    message TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    updated_ts INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_tool ON runs (tool, n);
  CREATE INDEX runs_by_state ON runs (state, n);

  CREATE TABLE attempts (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    state TEXT NOT NULL,
    backend TEXT NOT NULL,
    owner TEXT NOT NULL,
    call_id TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    started_ts INTEGER,
    ended_ts INTEGER,
    failure TEXT,
    cause TEXT,
    exit_code INTEGER,
    message TEXT NOT NULL,
    observed TEXT,
    checkpoint TEXT,
    cancel_ts INTEGER,
    UNIQUE (run_id, number)
  ) STRICT;
  CREATE UNIQUE INDEX attempts_open ON attempts (run_id, purpose)
    WHERE state IN ('intended', 'queued', 'running');

  CREATE TABLE run_outputs (
    n INTEGER PRIMARY KEY,
    attempt_id TEXT NOT NULL,
    role TEXT NOT NULL,
    type TEXT NOT NULL,
    label TEXT NOT NULL,
    artifact TEXT NOT NULL,
    size INTEGER NOT NULL,
    UNIQUE (attempt_id, role)
  ) STRICT;
  `,
  `
  CREATE TABLE installations (
    name TEXT PRIMARY KEY,
    -- Which database file it was added in: one that came along in a clone or an archive adds nothing.
    home TEXT NOT NULL,
    entry TEXT,
    enabled INTEGER NOT NULL,
    added_ts INTEGER NOT NULL,
    changed_ts INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Which run made an artifact; and what a sweep looks for.
  CREATE INDEX run_outputs_by_artifact ON run_outputs (artifact);
  `,
  `
  -- Whose call began it: only that session may end it.
  ALTER TABLE attempts ADD COLUMN session TEXT;
  `,
  `
  -- What MCP clients call a tool whose id has dots. One that was given stays given.
  CREATE TABLE tool_names (
    tool TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What a person sees of the call, while it can be judged.
  ALTER TABLE approvals ADD COLUMN details TEXT;
  `,
  `
  -- Rows that left the table "audit": which of them are in which file, and where the chain is before and after them.
  CREATE TABLE IF NOT EXISTS audit_segments (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    prev TEXT NOT NULL,
    first_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL
  ) STRICT;
  CREATE TRIGGER IF NOT EXISTS audit_segments_keep_rows BEFORE DELETE ON audit_segments
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
  CREATE TRIGGER IF NOT EXISTS audit_segments_keep_values BEFORE UPDATE ON audit_segments
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
  DROP TRIGGER IF EXISTS audit_keeps_rows;
  CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
    WHEN OLD.seq > coalesce((SELECT last FROM audit_segments ORDER BY first DESC LIMIT 1), 0)
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

  -- What undo would restore from, by the row of the intent. Filled when somebody cleans up, never by a call.
  CREATE TABLE IF NOT EXISTS preimages (
    seq INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    size INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    PRIMARY KEY (seq, sha256)
  ) STRICT, WITHOUT ROWID;

  -- How far cleaning up has come, and who is at it.
  CREATE TABLE IF NOT EXISTS retention (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Calls under way in sessions that may make so many and no more.
  CREATE TABLE IF NOT EXISTS reserved_calls (
    session TEXT NOT NULL,
    call_id TEXT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (session, call_id)
  ) STRICT, WITHOUT ROWID;
  `,
] as const satisfies { readonly length: typeof SCHEMA_VERSION };

/** May find the database locked by another process; then it can simply be called again. */
export function migrateSchema(connection: Connection): void {
  const { journal_mode: mode } = connection.sql('PRAGMA journal_mode = WAL').get() as {
    journal_mode: string;
  };
  if (mode !== 'wal')
    throw fail(
      'store.unwritable',
      'Cannot open the state: this file system cannot hold a shared SQLite database',
    );
  connection.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have done it all while this one waited.
    for (const migration of MIGRATIONS.slice(versionOf(connection))) connection.exec(migration);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    connection.exec('COMMIT');
  } catch (thrown) {
    connection.rollBack();
    throw thrown;
  }
}
