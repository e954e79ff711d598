// Owns: a row of the audit as every store keeps it, column by column, and the hash that chains it to the row before.
// Refuses: to depend on a database; equal rows have equal hashes in every store.
import { canonicalText } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import { fail } from '../contract/errors.ts';
import type { AuditEntry, AuditRow } from '../contract/store.ts';

/**
 * The columns in the order of `StoredRow`. Those marked `json` hold canonical JSON as text. A value that is not of
 * its column's type was not written by Haft.
 */
export const AUDIT_COLUMNS = {
  seq: 'integer',
  call_id: 'text',
  request_id: 'text',
  phase: 'text',
  tool: 'text',
  contract: 'text',
  args_hash: 'text',
  start_ts: 'integer',
  end_ts: 'integer?',
  session: 'text',
  attribution: 'json?',
  decision: 'json',
  effects: 'json',
  outcome: 'text',
  errors: 'json',
  policy_hash: 'text',
  run_id: 'text?',
  changes: 'json',
  bytes: 'integer',
  facts: 'json?',
  process: 'text',
  prev: 'text',
  hash: 'text',
} as const;

export type Stored = string | number | null;

/** One value for each of `AUDIT_COLUMNS`, in that order. */
export type StoredRow = Stored[];

/** What the first row calls the hash of the row before it. */
export const GENESIS = '0'.repeat(64);

const COLUMN_NAMES = Object.keys(AUDIT_COLUMNS);
const COLUMN_TYPES = Object.values(AUDIT_COLUMNS);
export const SEQ = 0;
export const PREV = COLUMN_NAMES.indexOf('prev');
export const HASH = COLUMN_NAMES.indexOf('hash');

/** The columns of an entry; its place in the chain (`seq`, `prev`, `hash`) is still to come. */
export function encodeEntry(entry: AuditEntry): StoredRow {
  return [
    0,
    text(entry.callId),
    text(entry.requestId),
    entry.phase,
    text(entry.tool),
    text(entry.contract),
    text(entry.argsHash),
    integer(entry.startTs),
    entry.endTs === null ? null : integer(entry.endTs),
    text(entry.session),
    entry.attribution === null ? null : canonicalText(entry.attribution),
    decision(entry.decision),
    list(entry.effects),
    entry.outcome,
    list(entry.errors),
    text(entry.policyHash),
    entry.runId === null ? null : text(entry.runId),
    list(entry.changes),
    integer(entry.bytes),
    entry.facts === null ? null : canonicalText(entry.facts),
    text(entry.process),
    '',
    '',
  ];
}

export function decodeRow(row: StoredRow): AuditRow {
  const value = row as never[];
  try {
    return {
      seq: value[0]!,
      callId: value[1]!,
      requestId: value[2]!,
      phase: value[3]!,
      tool: value[4]!,
      contract: value[5]!,
      argsHash: value[6]!,
      startTs: value[7]!,
      endTs: value[8]!,
      session: value[9]!,
      attribution: row[10] === null ? null : JSON.parse(value[10]!),
      decision: JSON.parse(value[11]!),
      effects: JSON.parse(value[12]!),
      outcome: value[13]!,
      errors: JSON.parse(value[14]!),
      policyHash: value[15]!,
      runId: value[16]!,
      changes: JSON.parse(value[17]!),
      bytes: value[18]!,
      facts: row[19] === null ? null : JSON.parse(value[19]!),
      process: value[20]!,
      prev: value[21]!,
      hash: value[22]!,
    };
  } catch {
    throw fail('audit.broken', `Cannot read row ${row[SEQ]} of the audit: it is not as it was written`);
  }
}

/**
 * `audit/v1` digest of the canonical JSON object of all columns but `hash`, as they are stored: a JSON column counts
 * as the text that it is, so not even a space can be added to it unseen.
 */
export function hashRow(row: StoredRow): string {
  return digest('audit/v1', rowBody(row));
}

/** What is hashed, its names in canonical order. JSON.stringify writes strings and integers as RFC 8785 does. */
export function rowBody(row: StoredRow): string {
  return JSON.stringify({
    args_hash: row[6],
    attribution: row[10],
    bytes: row[18],
    call_id: row[1],
    changes: row[17],
    contract: row[5],
    decision: row[11],
    effects: row[12],
    end_ts: row[8],
    errors: row[14],
    facts: row[19],
    outcome: row[13],
    phase: row[3],
    policy_hash: row[15],
    prev: row[PREV],
    process: row[20],
    request_id: row[2],
    run_id: row[16],
    seq: row[SEQ],
    session: row[9],
    start_ts: row[7],
    tool: row[4],
  });
}

/** The first column whose value is not of its type, or undefined. */
export function misfit(row: StoredRow): string | undefined {
  for (let i = 0; i < COLUMN_TYPES.length; i++) {
    const type = COLUMN_TYPES[i]!;
    const value = row[i];
    if (value === null && type.endsWith('?')) continue;
    if (type.startsWith('integer') ? !Number.isSafeInteger(value) : typeof value !== 'string')
      return COLUMN_NAMES[i];
  }
  return undefined;
}

/** Ids and names come from callers. A call must be recorded whatever it was called with, so lone surrogates are replaced. */
function text(value: string): string {
  return value.toWellFormed();
}

/** What canonicalText would write, at a quarter of its cost; every row has one. */
function decision({ rule, verdict }: AuditEntry['decision']): string {
  return `{"rule":${JSON.stringify(rule.toWellFormed())},"verdict":${JSON.stringify(verdict)}}`;
}

function list(values: readonly unknown[]): string {
  return values.length === 0 ? '[]' : canonicalText(values);
}

function integer(value: number): number {
  if (!Number.isSafeInteger(value))
    throw fail('input.not_canonical', `Cannot record the call: ${value} is not a whole number`);
  return value;
}
