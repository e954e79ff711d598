// Owns: writing what a person changed outside of calls into the audit of a workspace, also where no runtime is open.
// Refuses: to undo the change where it cannot be recorded: it says that it was made.
import { type Failure, fail, toErrorEntry } from '../contract/errors.ts';
import type { AuditStore } from '../contract/store.ts';
import { type ManagementAct, recordAct } from '../runtime/management.ts';
import { openAuditHeads } from '../stores/machine/audit-heads.ts';
import { processIdentity } from '../stores/process-identity.ts';
import { openSqliteStore, type SqliteStore } from '../stores/sqlite/open-sqlite-store.ts';

export { localPerson } from '../runtime/management.ts';

/** The state of a workspace without a runtime; what is appended to its audit is kept outside as well. */
export function openState(workspace: string, folder = `${workspace}/.haft`): Promise<SqliteStore> {
  return openSqliteStore({
    folder,
    process: processIdentity(),
    clock: Date,
    onProgress: (progress) => openAuditHeads({ env: process.env, workspace }).keep(progress),
  });
}

/** Takes the state that is open, or opens it. */
export async function recordManagement(
  workspace: string,
  act: ManagementAct,
  audit?: Pick<AuditStore, 'append'>,
): Promise<void> {
  let opened: SqliteStore | undefined;
  try {
    opened = audit ? undefined : await openState(workspace);
    await recordAct(audit ?? (opened as SqliteStore).audit, act, {
      process: processIdentity(),
      now: Date.now,
    });
  } catch (thrown) {
    throw unrecorded(act, thrown);
  } finally {
    await opened?.close();
  }
}

function unrecorded({ action }: ManagementAct, thrown: unknown): Failure {
  const { reason, message } = toErrorEntry(thrown);
  return fail(reason, `${message} ("${action}" took effect, but could not be recorded in the audit)`);
}
