// Owns: the one table of errors, and how a failure is built, recognised and shown to a caller.
// Refuses: a code outside the ten of the SDK spec, and a reason that is not a row here.
import { lazyTable } from '../base/once.ts';
import { type ErrorCode, row } from './error-codes.ts';
import type { Json } from './json.ts';

export type { ErrorCode } from './error-codes.ts';

/** Every reason there is. The reference page is generated from this table. */
const rows = () => ({
  // Finding the tool
  'tool.unknown': row('E_VALIDATION_FAIL', 'No tool of this name is installed.', { http: 404, native: 4 }),
  'tool.disabled': row(
    'E_POLICY',
    'The tool is there, and it or its pack is disabled; the message says by what, and what enables it.',
  ),
  'tool.unhealthy': row('E_INTERNAL', 'The tool is installed but its health check fails.', {
    retryable: true,
    http: 503,
  }),
  'tool.changed': row(
    'E_POLICY',
    'The tool is not the one that haft.lock pins; a person must accept the difference first.',
  ),
  'tool.failed': row('E_INTERNAL', 'The tool ran and reported a failure of its own.', { http: 502 }),

  // What the caller sent
  'input.not_json': row('E_VALIDATION_FAIL', 'The text is not JSON (or is not UTF-8).', {
    http: 400,
    rpc: -32700,
  }),
  'input.not_canonical': row('E_VALIDATION_FAIL', 'The value has no canonical JSON form.'),
  'input.schema': row('E_VALIDATION_FAIL', "The arguments do not fit the tool's input schema."),
  'input.refused': row(
    'E_VALIDATION_FAIL',
    'The arguments fit the input schema, and the toolpack refuses them; the details say which and why.',
  ),
  'input.too_large': row('E_VALIDATION_FAIL', 'The request is larger than the limit.', { http: 413 }),
  'input.slow': row('E_TIMEOUT', 'The request did not arrive in time.', { http: 408 }),
  'input.envelope': row('E_VALIDATION_FAIL', 'The message is not a ToolRequest.', { http: 400, rpc: -32600 }),
  'input.glob': row('E_VALIDATION_FAIL', 'The glob cannot be understood.'),
  'input.pattern': row('E_VALIDATION_FAIL', 'The regular expression cannot be understood.'),
  'input.encoding': row('E_VALIDATION_FAIL', 'The text cannot be decoded or encoded as asked.'),
  'input.range': row('E_VALIDATION_FAIL', 'The range lies outside of the content.'),
  usage: row('E_VALIDATION_FAIL', 'The command line or request is not one that this door takes.', {
    http: 400,
  }),

  // Output
  'output.schema': row('E_INTERNAL', "The tool's answer does not fit its own output schema.", { http: 502 }),
  'output.too_large': row('E_INTERNAL', "The tool's answer is larger than the limit.", { http: 502 }),

  // Policy
  'policy.denied': row('E_POLICY', 'A policy rule denies this call.'),
  'policy.undeclared': row('E_POLICY', 'The tool touched something that it had not declared.'),
  'policy.quarantined': row(
    'E_POLICY',
    'A program made what it may not make; it was moved to .haft/quarantine.',
  ),
  'policy.invalid': row(
    'E_VALIDATION_FAIL',
    'The policy in haft.yaml has problems; each is listed with its place.',
  ),
  'policy.untrusted': row(
    'E_POLICY',
    'Nobody on this machine has trusted the policy of this workspace as it is now.',
  ),
  'policy.widens': row('E_POLICY', 'A session registry may narrow what the host grants, never widen it.'),
  'rule.unavailable': row('E_VALIDATION_FAIL', 'A validator set to blocking is not built into this version.'),
  'rule.lowered': row('E_VALIDATION_FAIL', 'A security rule is always blocking and cannot be lowered.'),
  'rule.violated': row('E_VALIDATION_FAIL', 'A blocking rule found a violation.'),
  'approval.pending': row(
    'E_POLICY',
    'The call waits for approval; make the same call again once it is granted.',
    { retryable: true, http: 202, exit: 75 },
  ),
  'approval.refused': row('E_POLICY', 'A person refused this call.'),
  'approval.unknown': row('E_VALIDATION_FAIL', 'No approval has this id, or it is already answered.', {
    http: 404,
  }),
  'budget.exhausted': row('E_POLICY', 'The session has used up its budget.', { http: 429, native: 5 }),
  'session.unknown': row('E_VALIDATION_FAIL', 'No session has this id.', { http: 404 }),
  'session.expired': row('E_POLICY', 'The session has ended.', { http: 401 }),
  'auth.required': row('E_POLICY', 'The request carries no valid token.', { http: 401 }),
  'auth.origin': row('E_POLICY', 'The Host or Origin header is not one that this server answers to.'),

  // Credentials
  'credentials.missing': row('E_POLICY', 'The tool needs a credential that nobody has set.'),
  'credentials.schema': row('E_VALIDATION_FAIL', 'A credential is not what its provider wants.'),
  'credentials.key': row(
    'E_INTERNAL',
    'The key of the credentials is not there, cannot be used, or is not the one that they were encrypted with.',
    { http: 503 },
  ),
  'credentials.tampered': row(
    'E_INTERNAL',
    'A stored credential is damaged or was changed by somebody else than Haft.',
  ),

  // Paths and files
  'path.invalid': row('E_FILE_IO', 'The path cannot name anything.', { http: 422 }),
  'path.outside_workspace': row('E_POLICY', 'The path leads outside of the workspace.'),
  'path.protected': row(
    'E_POLICY',
    "The path belongs to Haft or to git's own machinery; tools never touch it.",
  ),
  'path.not_found': row('E_FILE_IO', 'Nothing is at this path.', { http: 404, native: 4 }),
  'path.exists': row('E_FILE_IO', 'Something is already at this path.'),
  'path.not_regular': row('E_FILE_IO', 'The path is neither a regular file nor a directory.'),
  'path.is_directory': row('E_FILE_IO', 'The path is a directory where a file was meant.'),
  'path.not_directory': row('E_FILE_IO', 'The path is not a directory where one was meant.'),
  'path.not_empty': row('E_FILE_IO', 'The directory is not empty.'),
  'path.raced': row('E_FILE_IO', 'The path kept changing while it was opened.', { retryable: true }),
  'path.denied_by_os': row('E_FILE_IO', 'The operating system refuses the access.'),
  'file.too_large': row('E_FILE_IO', 'The file is larger than the limit.', { http: 413 }),
  'file.conflict': row('E_FILE_IO', 'The file is not the version that the caller expected.'),
  'file.no_space': row('E_FILE_IO', 'The disk is full.', { http: 507, retryable: true }),
  'file.read_only': row('E_FILE_IO', 'The file system is read-only.'),
  'file.io': row('E_FILE_IO', 'The operating system reported an input or output error.', { http: 500 }),

  // Patches and undo
  'patch.malformed': row(
    'E_VALIDATION_FAIL',
    'The text is neither a unified diff nor a "*** Begin Patch", or not a whole one.',
  ),
  'patch.empty': row('E_VALIDATION_FAIL', 'The patch or edit changes nothing.'),
  'patch.combined': row(
    'E_VALIDATION_FAIL',
    'The patch is a combined diff of a merge; those cannot be applied.',
  ),
  'patch.binary': row('E_VALIDATION_FAIL', 'The patch is binary; those cannot be applied.'),
  'patch.exists': row('E_FILE_IO', 'The patch creates a file that is already there.'),
  'patch.stale': row(
    'E_FILE_IO',
    'The lines of a hunk, or the text to replace, are not in the file, or the change is there already.',
  ),
  'patch.ambiguous': row(
    'E_FILE_IO',
    'The lines of a hunk, or the text to replace, are in the file another number of times, or at a place that is not certain.',
  ),
  'patch.overlap': row('E_FILE_IO', 'Two hunks of a patch, or two edits, overlap.'),
  'patch.wrong_file': row('E_VALIDATION_FAIL', 'The patch names another file than the one given.'),
  'undo.unknown': row('E_VALIDATION_FAIL', 'No call of this id can be undone.', { http: 404 }),
  'file.not_kept': row('E_FILE_IO', 'The owner or permission bits of a file could not be kept.'),
  'undo.already': row('E_VALIDATION_FAIL', 'The call was undone already.', { http: 409 }),
  'undo.not_known': row(
    'E_VALIDATION_FAIL',
    'The call ran a program or a tool of a pack: what it changed is not known, and cannot be taken back.',
    { http: 409 },
  ),
  'undo.given_up': row(
    'E_VALIDATION_FAIL',
    'What the call replaced is kept no longer: it is older than undo.keep says, or newer calls took its place.',
    { http: 410 },
  ),
  'undo.too_large': row('E_FILE_IO', 'The call would need more undo space than undo.max_bytes.', {
    http: 413,
  }),
  'undo.conflict': row(
    'E_FILE_IO',
    'Something changed since that call; undoing it would destroy other work.',
  ),
  'lock.busy': row('E_FILE_IO', 'Another call counts on this path as it is; try again when it has ended.', {
    retryable: true,
    http: 423,
  }),

  // Shell, sandbox, network
  'shell.unparsable': row('E_POLICY', 'The command cannot be parsed, so it cannot be allowed.'),
  'shell.dynamic': row('E_POLICY', 'What the command would run is not known before it runs.'),
  'shell.wrapper': row('E_POLICY', 'The command would start another one that cannot be checked.'),
  'shell.not_allowed': row('E_POLICY', 'A command in the line matches no shell_allow entry.'),
  'shell.unknown': row('E_VALIDATION_FAIL', 'The session has no background shell of this id.', {
    http: 404,
    native: 4,
  }),
  'shell.ended': row('E_SHELL', 'The background shell has ended, or its standard input is closed.', {
    http: 409,
  }),
  'shell.full': row('E_SHELL', 'The program does not read its standard input as fast as it is written.', {
    retryable: true,
    http: 503,
  }),
  'shell.limit': row(
    'E_POLICY',
    'The session has as many background shells as limits.max_shells lets it have.',
    {
      http: 429,
      native: 5,
    },
  ),
  'shell.host': row(
    'E_SHELL',
    'The process ends with the call, and a background shell with it; call haft serve or haft mcp instead.',
    { http: 409 },
  ),
  'shell.failed': row('E_SHELL', 'The program could not be started.'),
  'sandbox.unavailable': row('E_SHELL', 'No sandbox can be had on this machine, and policy requires one.', {
    http: 503,
  }),
  'sandbox.unfenceable': row(
    'E_POLICY',
    'What must be kept from the program cannot be: there is too much of it, or it cannot be looked at.',
  ),
  'sandbox.fence_fell': row(
    'E_POLICY',
    'What was kept from the program was replaced while it ran, so that it could be reached.',
  ),
  'sandbox.limit': row('E_SHELL', 'The program was ended because it reached a limit.'),
  'http.not_allowed': row('E_POLICY', 'The host is not on the domain allowlist.'),
  'http.address': row('E_POLICY', 'The address is private, loopback, link-local or otherwise not public.'),
  'http.url': row('E_VALIDATION_FAIL', 'The URL is not one that can be requested.'),
  'http.header': row('E_VALIDATION_FAIL', 'The header is not one that callers may set, or is not a header.'),
  'http.downgrade': row('E_POLICY', 'A redirect leads from https to http.'),
  'http.redirect_body': row('E_POLICY', 'A redirect would carry the body to another origin.'),
  'http.redirects': row('E_HTTP', 'There were more than three redirects.'),
  'http.failed': row('E_HTTP', 'The request did not get an answer.', { retryable: true }),
  'http.rate': row('E_HTTP', 'The host is asked too often.', { retryable: true, http: 429, native: 5 }),

  // Time, state, the rest
  'time.deadline': row('E_TIMEOUT', 'The call ran longer than its time limit.'),
  'time.cancelled': row('E_TIMEOUT', 'The caller cancelled the call.', {
    http: 499,
    retryable: false,
    exit: 130,
  }),
  'call.outcome_unknown': row('E_INTERNAL', 'The call left, and nobody can say whether it took effect.', {
    http: 502,
  }),
  'store.corrupt': row('E_INTERNAL', 'The database is damaged or is not a Haft database.'),
  'store.newer': row('E_INTERNAL', 'The database was written by a newer version of Haft.'),
  'store.unwritable': row('E_FILE_IO', 'The state folder cannot be written.', { http: 507 }),
  'store.busy': row('E_INTERNAL', 'Another process kept the database locked for too long.', {
    retryable: true,
    http: 503,
  }),
  'audit.broken': row('E_INTERNAL', 'The audit chain does not verify.', { exit: 1 }),
  'bundle.altered': row(
    'E_INTERNAL',
    'A run bundle is not what was signed; each part that was altered is named.',
    { exit: 1 },
  ),
  'policy.differs': row('E_POLICY', 'Under the other policy some calls would be decided otherwise.', {
    exit: 1,
  }),
  'object.missing': row('E_INTERNAL', 'The object store has no object of this digest.', {
    http: 404,
    native: 4,
  }),
  'object.corrupt': row('E_INTERNAL', 'The bytes of an object no longer match its digest.'),
  'artifact.unknown': row('E_VALIDATION_FAIL', 'No artifact has this id.', { http: 404, native: 4 }),
  // Runs and toolpacks
  'run.unknown': row('E_VALIDATION_FAIL', 'No run has this id.', { http: 404, native: 4 }),
  'run.state': row('E_VALIDATION_FAIL', 'The run is not in a state that allows what was asked for.', {
    http: 409,
  }),
  'run.failed': row('E_SHELL', 'The program of the run failed; its log says why.'),
  'run.limit': row('E_SHELL', 'The run was ended because it reached a limit; nothing of it is kept.'),
  'run.outputs': row('E_SHELL', 'The run did not make exactly the outputs that its tool declares.'),
  'run.infrastructure': row(
    'E_INTERNAL',
    'The engine failed the run, not the program; it can be tried again.',
    { retryable: true, http: 503 },
  ),
  'run.attempt_lost': row('E_INTERNAL', 'The attempt was started and nobody can say how it ended.', {
    retryable: true,
    http: 503,
  }),
  'run.cancelled': row('E_TIMEOUT', 'The run was cancelled.', { http: 499, retryable: false, exit: 130 }),
  'run.differs': row(
    'E_VALIDATION_FAIL',
    'Executed again, the run made other outputs, or answered another result.',
    { exit: 1 },
  ),
  'run.changed': row(
    'E_VALIDATION_FAIL',
    'The same call is another run by now, so the earlier one cannot be executed again; what changed since is named.',
    { http: 409 },
  ),
  'image.unpinned': row(
    'E_POLICY',
    'No engine that policy lets runs go to has images, and no entry of runs.images has a digest for the name.',
  ),
  'toolpack.abi': row('E_INTERNAL', 'The toolpack broke a rule of its ABI; the details name each.', {
    http: 502,
  }),
  'toolpack.unstable': row(
    'E_INTERNAL',
    'The toolpack made two different runs, or two different results, of one call; what differs is named.',
    { http: 502 },
  ),
  'toolpack.failed': row('E_INTERNAL', 'The toolpack threw, ended or did not answer in time.', { http: 502 }),

  'pack.invalid': row('E_VALIDATION_FAIL', 'A pack has problems; each is listed with its place.', {
    native: 6,
  }),
  'lockfile.invalid': row('E_VALIDATION_FAIL', 'The file haft.lock is not one that Haft wrote.'),
  'lockfile.drift': row('E_POLICY', 'The tools are not as haft.lock has them, and nothing may differ.'),
  'pack.unknown': row('E_VALIDATION_FAIL', 'No pack of this name is installed.', { http: 404, native: 4 }),
  'node.too_old': row('E_INTERNAL', 'This Node.js is older than the one Haft needs.', { exit: 69 }),
  'internal.unexpected': row('E_INTERNAL', 'Something went wrong inside Haft; this is a bug.'),
});

/** Made when somebody looks at it: a start that goes well never does, and would pay for every row. */
export const ERRORS: Readonly<ReturnType<typeof rows>> = lazyTable(rows);

export type Reason = keyof typeof ERRORS;

/** An entry of `errors[]` in a response. */
export interface ErrorEntry {
  readonly code: ErrorCode;
  readonly reason: Reason;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: { readonly [key: string]: Json };
}

/** What is thrown inside Haft. Compare `reason` or `code`; never use `instanceof`. */
export type Failure = Error & ErrorEntry;

/** Builds a failure from its row. `message` says the action first and the fact second. */
export function fail(reason: Reason, message: string, details?: { readonly [key: string]: Json }): Failure {
  const { code, retryable } = ERRORS[reason];
  return Object.assign(new Error(message), { code, reason, retryable }, details ? { details } : {});
}

export function isFailure(thrown: unknown): thrown is Failure {
  return (
    thrown instanceof Error &&
    'reason' in thrown &&
    typeof thrown.reason === 'string' &&
    Object.hasOwn(ERRORS, thrown.reason)
  );
}

/** What a caller is shown. Anything that is not a failure is a bug, and its message stays inside. */
export function toErrorEntry(thrown: unknown): ErrorEntry {
  if (!isFailure(thrown)) {
    return toErrorEntry(
      fail('internal.unexpected', 'Cannot finish the call: an internal error occurred (see the log)'),
    );
  }
  const { reason, message, details } = thrown;
  const { code, retryable } = ERRORS[reason];
  return { code, reason, message, retryable, ...(details ? { details } : {}) };
}
