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
  'tool.disabled': row('E_POLICY', 'The tool is installed, but it or its pack is disabled.'),
  'tool.unhealthy': row('E_INTERNAL', 'The tool is installed but its health check fails.', {
    retryable: true,
    http: 503,
  }),
  'tool.changed': row('E_POLICY', 'The tool differs from the version that haft.lock pins.'),
  'tool.failed': row('E_INTERNAL', 'The tool ran and reported a failure.', { http: 502 }),

  // What the caller sent
  'input.not_json': row('E_VALIDATION_FAIL', 'The text is not valid JSON, or not UTF-8.', {
    http: 400,
    rpc: -32700,
  }),
  'input.not_canonical': row('E_VALIDATION_FAIL', 'The value cannot be written as canonical JSON.'),
  'input.schema': row('E_VALIDATION_FAIL', "The arguments do not match the tool's input schema."),
  'input.refused': row(
    'E_VALIDATION_FAIL',
    'The arguments match the schema, but the toolpack does not accept them.',
  ),
  'input.too_large': row('E_VALIDATION_FAIL', 'The request is larger than the limit.', { http: 413 }),
  'input.slow': row('E_TIMEOUT', 'The request did not arrive in time.', { http: 408 }),
  'input.envelope': row('E_VALIDATION_FAIL', 'The message is not a ToolRequest.', { http: 400, rpc: -32600 }),
  'input.glob': row('E_VALIDATION_FAIL', 'The glob is not valid.'),
  'input.pattern': row('E_VALIDATION_FAIL', 'The regular expression is not valid.'),
  'input.encoding': row('E_VALIDATION_FAIL', 'The text cannot be decoded or encoded as asked.'),
  'input.range': row('E_VALIDATION_FAIL', 'The range is outside of the content.'),
  usage: row('E_VALIDATION_FAIL', 'The command line or the request is not valid.', {
    http: 400,
  }),

  // Output
  'output.schema': row('E_INTERNAL', "The tool's answer does not match its own output schema.", {
    http: 502,
  }),
  'output.too_large': row('E_INTERNAL', "The tool's answer is larger than the limit.", { http: 502 }),

  // Policy
  'policy.denied': row('E_POLICY', 'A policy rule denies this call.'),
  'policy.undeclared': row('E_POLICY', 'The tool used something that it did not declare.'),
  'policy.quarantined': row(
    'E_POLICY',
    'A program created a file that it may not create; the file was moved to .haft/quarantine.',
  ),
  'policy.invalid': row(
    'E_VALIDATION_FAIL',
    'The policy in haft.yaml has problems; each is listed with its place.',
  ),
  'policy.untrusted': row('E_POLICY', 'The policy of this workspace has not been trusted on this machine.'),
  'policy.widens': row('E_POLICY', 'The policy of the session would allow more than that of the host.'),
  'rule.unavailable': row(
    'E_VALIDATION_FAIL',
    'A rule that is set to blocking does not exist in this version.',
  ),
  'rule.lowered': row('E_VALIDATION_FAIL', 'A security rule was lowered, but is always blocking.'),
  'rule.violated': row('E_VALIDATION_FAIL', 'A blocking rule found a violation.'),
  'approval.pending': row('E_POLICY', 'The call waits for approval by a person.', {
    retryable: true,
    http: 202,
    exit: 75,
  }),
  'approval.refused': row('E_POLICY', 'A person refused this call.'),
  'approval.unknown': row('E_VALIDATION_FAIL', 'No open approval has this id.', {
    http: 404,
  }),
  'budget.exhausted': row('E_POLICY', 'The session has used up its budget.', { http: 429, native: 5 }),
  'session.unknown': row('E_VALIDATION_FAIL', 'No session has this id.', { http: 404 }),
  'session.expired': row('E_POLICY', 'The session has ended.', { http: 401 }),
  'auth.required': row('E_POLICY', 'The request carries no valid token.', { http: 401 }),
  'auth.origin': row('E_POLICY', 'The Host or Origin header is not one that this server accepts.'),

  // Credentials
  'credentials.missing': row('E_POLICY', 'The tool needs a credential that is not set.'),
  'credentials.schema': row(
    'E_VALIDATION_FAIL',
    'A credential does not have the fields that its provider needs.',
  ),
  'credentials.key': row(
    'E_INTERNAL',
    'The key that encrypts the credentials is missing, unusable or not the right one.',
    { http: 503 },
  ),
  'credentials.tampered': row('E_INTERNAL', 'A stored credential is damaged, or was not written by Haft.'),

  // Paths and files
  'path.invalid': row('E_FILE_IO', 'The path is not valid.', { http: 422 }),
  'path.outside_workspace': row('E_POLICY', 'The path is outside of the workspace.'),
  'path.protected': row(
    'E_POLICY',
    "The path belongs to Haft or to git's internals, which tools may not touch.",
  ),
  'path.not_found': row('E_FILE_IO', 'There is no file or folder at this path.', { http: 404, native: 4 }),
  'path.exists': row('E_FILE_IO', 'There is already a file or folder at this path.'),
  'path.not_regular': row('E_FILE_IO', 'The path is neither a regular file nor a directory.'),
  'path.is_directory': row('E_FILE_IO', 'The path is a directory, but a file is needed.'),
  'path.not_directory': row('E_FILE_IO', 'The path is not a directory, but one is needed.'),
  'path.not_empty': row('E_FILE_IO', 'The directory is not empty.'),
  'path.raced': row('E_FILE_IO', 'The path kept changing while it was opened.', { retryable: true }),
  'path.denied_by_os': row('E_FILE_IO', 'The operating system denies access.'),
  'file.too_large': row('E_FILE_IO', 'The file is larger than the limit.', { http: 413 }),
  'file.conflict': row('E_FILE_IO', 'The file has changed since the version that the caller expected.'),
  'file.no_space': row('E_FILE_IO', 'The disk is full.', { http: 507, retryable: true }),
  'file.read_only': row('E_FILE_IO', 'The file system is read-only.'),
  'file.io': row('E_FILE_IO', 'The operating system reported an input or output error.', { http: 500 }),

  // Patches and undo
  'patch.malformed': row(
    'E_VALIDATION_FAIL',
    'The patch is neither a unified diff nor a "*** Begin Patch" block, or it is incomplete.',
  ),
  'patch.empty': row('E_VALIDATION_FAIL', 'The patch or edit changes nothing.'),
  'patch.combined': row(
    'E_VALIDATION_FAIL',
    'The patch is the combined diff of a merge, which cannot be applied.',
  ),
  'patch.binary': row('E_VALIDATION_FAIL', 'The patch is binary, which cannot be applied.'),
  'patch.exists': row('E_FILE_IO', 'The patch creates a file that already exists.'),
  'patch.stale': row(
    'E_FILE_IO',
    'The lines of a hunk, or the text to replace, are not in the file; or the change was made already.',
  ),
  'patch.ambiguous': row(
    'E_FILE_IO',
    'The lines of a hunk, or the text to replace, occur more or less often than expected, or their place is not certain.',
  ),
  'patch.overlap': row('E_FILE_IO', 'Two hunks of a patch, or two edits, overlap.'),
  'patch.wrong_file': row('E_VALIDATION_FAIL', 'The patch names another file than the one given.'),
  'undo.unknown': row('E_VALIDATION_FAIL', 'No call with this id can be undone.', { http: 404 }),
  'file.not_kept': row('E_FILE_IO', 'The owner or permission bits of a file could not be kept.'),
  'undo.already': row('E_VALIDATION_FAIL', 'The call was already undone.', { http: 409 }),
  'undo.not_known': row(
    'E_VALIDATION_FAIL',
    'The call ran a program or a tool of a pack; what it changed is not known.',
    { http: 409 },
  ),
  'undo.given_up': row('E_VALIDATION_FAIL', 'The content that the call replaced is no longer kept.', {
    http: 410,
  }),
  'undo.too_large': row('E_FILE_IO', 'The call would need more undo space than undo.max_bytes.', {
    http: 413,
  }),
  'undo.conflict': row('E_FILE_IO', 'Files changed after that call; undoing it would destroy that work.'),
  'lock.busy': row('E_FILE_IO', 'Another call is using this path.', {
    retryable: true,
    http: 423,
  }),

  // Shell, sandbox, network
  'shell.unparsable': row('E_POLICY', 'The command cannot be parsed, so it cannot be allowed.'),
  'shell.dynamic': row('E_POLICY', 'The command computes what to run, so it cannot be checked.'),
  'shell.wrapper': row('E_POLICY', 'The command starts another command that cannot be checked.'),
  'shell.not_allowed': row('E_POLICY', 'A command in the line matches no shell_allow entry.'),
  'shell.unknown': row('E_VALIDATION_FAIL', 'The session has no background shell of this id.', {
    http: 404,
    native: 4,
  }),
  'shell.ended': row('E_SHELL', 'The background shell has ended, or its standard input is closed.', {
    http: 409,
  }),
  'shell.full': row('E_SHELL', 'The program does not read its input fast enough.', {
    retryable: true,
    http: 503,
  }),
  'shell.limit': row('E_POLICY', 'The session has reached limits.max_shells background shells.', {
    http: 429,
    native: 5,
  }),
  'shell.host': row('E_SHELL', 'A background shell would end with this process, which ends after the call.', {
    http: 409,
  }),
  'shell.failed': row('E_SHELL', 'The program could not be started.'),
  'sandbox.unavailable': row(
    'E_SHELL',
    'No sandbox is available on this machine, and the policy requires one.',
    {
      http: 503,
    },
  ),
  'sandbox.unfenceable': row(
    'E_POLICY',
    'Files that must be hidden from the program cannot be hidden: too many, or not readable.',
  ),
  'sandbox.fence_fell': row(
    'E_POLICY',
    'A hidden file was replaced while the program ran, and became visible to it.',
  ),
  'sandbox.limit': row('E_SHELL', 'The program was stopped because it reached a limit.'),
  'http.not_allowed': row('E_POLICY', 'The host is not on the domain allowlist.'),
  'http.address': row('E_POLICY', 'The address is private, loopback, link-local or otherwise not public.'),
  'http.url': row('E_VALIDATION_FAIL', 'The URL is not valid, or cannot be requested.'),
  'http.header': row('E_VALIDATION_FAIL', 'The header is not valid, or callers may not set it.'),
  'http.downgrade': row('E_POLICY', 'A redirect leads from https to http.'),
  'http.redirect_body': row('E_POLICY', 'A redirect would send the body to another origin.'),
  'http.redirects': row('E_HTTP', 'There were more than three redirects.'),
  'http.failed': row('E_HTTP', 'The server did not answer the request.', { retryable: true }),
  'http.rate': row('E_HTTP', 'The host received too many requests.', {
    retryable: true,
    http: 429,
    native: 5,
  }),

  // Time, state, the rest
  'time.deadline': row('E_TIMEOUT', 'The call ran longer than its time limit.'),
  'time.cancelled': row('E_TIMEOUT', 'The caller cancelled the call.', {
    http: 499,
    retryable: false,
    exit: 130,
  }),
  'call.outcome_unknown': row(
    'E_INTERNAL',
    'The call was sent, but it is not known whether it took effect.',
    {
      http: 502,
    },
  ),
  'store.corrupt': row('E_INTERNAL', 'The database is damaged or is not a Haft database.'),
  'store.newer': row('E_INTERNAL', 'The database was written by a newer version of Haft.'),
  'store.unwritable': row('E_FILE_IO', 'The state folder cannot be written.', { http: 507 }),
  'store.busy': row('E_INTERNAL', 'Another process kept the database locked for too long.', {
    retryable: true,
    http: 503,
  }),
  'audit.broken': row('E_INTERNAL', 'The audit chain does not verify.', { exit: 1 }),
  'bundle.altered': row('E_INTERNAL', 'A run bundle was altered after it was signed.', { exit: 1 }),
  'policy.differs': row('E_POLICY', 'The other policy would decide some calls differently.', {
    exit: 1,
  }),
  'object.missing': row('E_INTERNAL', 'The object store has no object with this digest.', {
    http: 404,
    native: 4,
  }),
  'object.corrupt': row('E_INTERNAL', 'The bytes of an object no longer match its digest.'),
  'artifact.unknown': row('E_VALIDATION_FAIL', 'No artifact has this id.', { http: 404, native: 4 }),
  // Runs and toolpacks
  'run.unknown': row('E_VALIDATION_FAIL', 'No run has this id.', { http: 404, native: 4 }),
  'run.state': row('E_VALIDATION_FAIL', 'The state of the run does not allow this.', {
    http: 409,
  }),
  'run.failed': row('E_SHELL', 'The program of the run failed.'),
  'run.limit': row('E_SHELL', 'The run was stopped because it reached a limit.'),
  'run.outputs': row('E_SHELL', 'The run did not write exactly the outputs that its tool declares.'),
  'run.infrastructure': row('E_INTERNAL', 'The engine failed, not the program of the run.', {
    retryable: true,
    http: 503,
  }),
  'run.attempt_lost': row('E_INTERNAL', 'The attempt was started, but it is not known how it ended.', {
    retryable: true,
    http: 503,
  }),
  'run.cancelled': row('E_TIMEOUT', 'The run was cancelled.', { http: 499, retryable: false, exit: 130 }),
  'run.differs': row('E_VALIDATION_FAIL', 'Executed again, the run had other outputs or another result.', {
    exit: 1,
  }),
  'run.changed': row(
    'E_VALIDATION_FAIL',
    'Something that the run depends on has changed, so it cannot be executed again.',
    { http: 409 },
  ),
  'image.unpinned': row(
    'E_POLICY',
    'The image has no digest: neither an allowed engine nor runs.images knows one.',
  ),
  'toolpack.abi': row('E_INTERNAL', 'The toolpack broke a rule of its ABI.', {
    http: 502,
  }),
  'toolpack.unstable': row('E_INTERNAL', 'The toolpack made different runs or results from the same call.', {
    http: 502,
  }),
  'toolpack.failed': row('E_INTERNAL', 'The toolpack threw an error, exited or did not answer in time.', {
    http: 502,
  }),

  'pack.invalid': row('E_VALIDATION_FAIL', 'A pack has problems; each is listed with its place.', {
    native: 6,
  }),
  'lockfile.invalid': row('E_VALIDATION_FAIL', 'The file haft.lock is damaged, or was not written by Haft.'),
  'lockfile.drift': row('E_POLICY', 'The tools differ from haft.lock, and --frozen allows no difference.'),
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
