// Owns: what to do about each reason of the error table, for people and for models, and a failure as a terminal shows it.
// Not here: the rows themselves (errors.ts). A start that goes well does not load this file.
import type { ErrorEntry, Reason } from './errors.ts';
import { describeError } from './terminal-text.ts';

/** The error as a terminal shows it: what happened, then what to do. */
export function explainError(error: ErrorEntry): string {
  const remedy = remedyOf(error);
  return remedy === undefined ? describeError(error) : `${describeError(error)}  Try: ${remedy}\n`;
}

/** What to do, unless the error says it: in its message, as a hint, or as lines for haft.yaml. */
export function remedyOf({ reason, message, details }: ErrorEntry): string | undefined {
  if (typeof details?.admit === 'string' || typeof details?.approval_id === 'string') return undefined;
  if (typeof details?.hint === 'string' && details.hint !== '') return undefined;
  const fact = message.slice(message.lastIndexOf(': ') + 1);
  if (ADVICE.test(fact) || LAST_LINE.test(message)) return undefined;
  const tool = /^Cannot call "([\w.:-]+)": /.exec(message)?.[1];
  return tool === undefined ? REMEDIES[reason] : REMEDIES[reason].replace('TOOL', tool);
}

/** A message gives its own advice last: after a semicolon, in brackets, as what is taken, or on a line of its own. */
const ADVICE = /; |\((?:see|usage|haft) |\btakes? /;
const LAST_LINE = /\nTo [^\n]+$/;

/** One sentence for each reason. It must be true at the terminal and behind MCP. */
export const REMEDIES: Readonly<Record<Reason, string>> = {
  'tool.unknown': 'Check the name; "haft tools list" shows every tool.',
  'tool.disabled': 'Have it enabled; "haft tools show TOOL" says what disables it.',
  'tool.unhealthy': 'Try again later; "haft tools health" and "haft tools logs PACK" say what is wrong.',
  'tool.changed': 'Look at what changed with "haft tools lock", then add --accept to accept it.',
  'tool.failed': 'Read the message of the tool, and change the arguments if they caused it.',

  'input.not_json': 'Check quotes and commas, or write the arguments as name=value.',
  'input.not_canonical':
    'Leave out what JSON cannot hold exactly: duplicate keys, broken characters, NaN, huge numbers.',
  'input.schema': 'Change the arguments to fit; "haft tools show TOOL" lists them.',
  'input.refused': 'Change the arguments that the message names.',
  'input.too_large': 'Send less at once, or put large content into a file first.',
  'input.slow': 'Send the request again, without pauses.',
  'input.envelope': 'Send an object with "tool" and "args", as docs/reference/http.md shows.',
  'input.glob': 'Correct the glob; * matches within a folder, ** across folders, {a,b} either.',
  'input.pattern': 'Correct the regular expression, or escape what is meant as plain text.',
  'input.encoding': 'Name the encoding that the text has, or use base64 for bytes.',
  'input.range': 'Ask for a range inside the file; its size is in the answer to a call without one.',
  usage: 'Run the command with --help to see its arguments and examples.',

  'output.schema': 'Report this to the author of the tool; its answer does not match its own description.',
  'output.too_large': 'Ask for less: a smaller range, fewer results, a narrower path.',

  'policy.denied':
    'Do it another way, or have it allowed in haft.yaml; "haft policy explain TOOL ARGUMENTS" names the rule.',
  'policy.undeclared': 'Report this to the author of the tool; it must declare everything it touches.',
  'policy.quarantined': 'Look at the files in .haft/quarantine, and move back by hand what is wanted.',
  'policy.invalid': 'Correct the lines that are listed; "haft policy check" checks haft.yaml again.',
  'policy.untrusted': 'Read haft.yaml, then run "haft trust".',
  'policy.widens': 'Ask for no more than haft.yaml grants, or change haft.yaml first.',
  'rule.unavailable': 'Remove the rule from haft.yaml, or install a version of Haft that has it.',
  'rule.lowered': 'Remove the line that lowers the rule.',
  'rule.violated': 'Correct what the rule found, and make the call again.',
  'approval.pending': 'A person answers it with "haft approvals grant ID"; then make the same call again.',
  'approval.refused': 'Do it another way, or ask whoever refused it.',
  'approval.unknown': 'List the open ones with "haft approvals list".',
  'budget.exhausted': 'Open a new session, or one with a larger budget.',
  'session.unknown': 'List the sessions with "haft sessions list", or open one.',
  'session.expired': 'Open a new session with "haft sessions open".',
  'auth.required': 'Send the header "Authorization: Bearer TOKEN" with the token that haft serve printed.',
  'auth.origin': 'Use the address that haft serve printed, from the same machine.',

  'credentials.missing': 'Set it with "haft credentials set PROVIDER".',
  'credentials.schema':
    'Give each field the value that the provider expects; "haft credentials set --help" shows how.',
  'credentials.key': 'Restore the key file from a backup, or set the credentials again.',
  'credentials.tampered': 'Remove the credential and set it again: "haft credentials remove", then "set".',

  'path.invalid': 'Use a relative path such as src/main.ts.',
  'path.outside_workspace':
    'Use a path below the workspace, or have the folder added to paths.extra_roots of haft.yaml.',
  'path.protected': 'No tool may do this; it has to be done by hand.',
  'path.not_found': 'Check the spelling; fs_list shows which files there are.',
  'path.exists': 'Choose another name, or remove what is there first.',
  'path.not_regular': 'Name a regular file or a folder; devices, sockets and pipes cannot be used.',
  'path.is_directory': 'Name a file in it; fs_list shows which there are.',
  'path.not_directory': 'Name a folder instead of a file.',
  'path.not_empty': 'Empty the folder first, or ask for its contents to be deleted too.',
  'path.raced': 'Try again when nothing else changes the path.',
  'path.denied_by_os': 'Check the owner and the permissions of the file and its folder.',
  'file.too_large': 'Read a part of it, or raise the limit.',
  'file.conflict': 'Read the file again, and repeat the change on what is there now.',
  'file.no_space': 'Free some disk space ("haft gc" cleans up the state), then try again.',
  'file.read_only': 'Use a place that can be written, or mount it writable.',
  'file.io': 'Check the disk and the system log, then try again.',

  'patch.malformed': 'Send a whole unified diff or "*** Begin Patch" block, or use file_edit.',
  'patch.empty': 'Leave the call out, or send the change that was meant.',
  'patch.combined': 'Make the diff against one parent: "git diff PARENT".',
  'patch.binary': 'Write the whole file with file_write and base64.',
  'patch.exists': 'Change the file that is there, or delete it first.',
  'patch.stale': 'Read the file again, and make the change from what it holds now.',
  'patch.ambiguous': 'Add more lines of context, so that only one place fits.',
  'patch.overlap': 'Join the changes that overlap into one.',
  'patch.wrong_file': 'Use the path that the patch names, or correct the patch.',
  'undo.unknown': 'List what can be undone with "haft undo --list".',
  'file.not_kept': 'Set the owner and the permissions by hand, or run as the owner of the file.',
  'undo.already': 'Nothing is left to do; "haft undo --list" shows what can be undone.',
  'undo.not_known': 'Take the change back by hand, or with git.',
  'undo.given_up': 'Restore the file from git or a backup; undo.keep of haft.yaml sets how long it is kept.',
  'undo.too_large': 'Change less in one call, or raise undo.max_bytes in haft.yaml.',
  'undo.conflict': 'Undo the later change first, or edit the file by hand.',
  'lock.busy': 'Try again in a moment.',

  'shell.unparsable': 'Write a simpler command, and check its quotes.',
  'shell.dynamic': 'Write the command out, without variables or substitutions in what is run.',
  'shell.wrapper': 'Run the inner command directly.',
  'shell.not_allowed': 'Use an allowed command, or have this one added to shell_allow of haft.yaml.',
  'shell.unknown': 'List the background shells with shell_list.',
  'shell.ended': 'Read what it printed with shell_read, or start another with shell_start.',
  'shell.full': 'Wait until the program has read, then write the rest.',
  'shell.limit': 'End one with shell_signal, or raise limits.max_shells in haft.yaml.',
  'shell.host': 'Use shell_exec, or start "haft serve" or "haft mcp" and call it there.',
  'shell.failed': 'Check that the program is installed and may be executed.',
  'sandbox.unavailable': 'Run "haft doctor"; it says what is missing.',
  'sandbox.unfenceable': 'Run it in a smaller folder, or make the folder readable.',
  'sandbox.fence_fell': 'Find out which program replaced it before running the command again.',
  'sandbox.limit': 'Make it use less, or raise the limit in haft.yaml.',
  'http.not_allowed': 'Have the host added to network.allowed_domains of haft.yaml.',
  'http.address': 'Use a public address.',
  'http.url': 'Use a whole URL such as https://example.com/page.',
  'http.header': 'Leave the header out, or correct it.',
  'http.downgrade': 'Ask for the https address that is meant.',
  'http.redirect_body': 'Send the request to the final address.',
  'http.redirects': 'Ask for the final address directly.',
  'http.failed': 'Check the address and the network, then try again.',
  'http.rate': 'Wait, then try again less often.',

  'time.deadline': 'Ask for less work at once, or set a longer timeout.',
  'time.cancelled': 'Make the call again if it is still wanted.',
  'call.outcome_unknown': 'Check at the other side whether it took effect before repeating it.',
  'store.corrupt': 'Move .haft away and restore it from a backup; without one, start with a new one.',
  'store.newer': 'Install the newer version of Haft again.',
  'store.unwritable': 'Check the owner, the permissions and the free space of .haft.',
  'store.busy': 'Try again when the other process has finished.',
  'audit.broken': 'Keep a copy of .haft, and find out who changed it.',
  'bundle.altered': 'Get the bundle again from where it was made.',
  'policy.differs': 'Look at the listed calls, and change one of the policies if they should agree.',
  'object.missing': 'Restore .haft from a backup, or make the content again.',
  'object.corrupt': 'Restore .haft from a backup, and check the disk.',
  'artifact.unknown': 'List the artifacts with "haft artifacts list".',

  'run.unknown': 'List the runs with "haft runs list".',
  'run.state': 'Look at its state with "haft runs show RUN".',
  'run.failed': 'Read its log with "haft runs watch RUN".',
  'run.limit': 'Give the run larger limits, or less to do.',
  'run.outputs': 'Correct the program or the outputs that the tool declares.',
  'run.infrastructure': 'Try again; "haft doctor" checks the engine.',
  'run.attempt_lost': 'Look at "haft runs show RUN", then "haft runs retry RUN".',
  'run.cancelled': 'Start it again with "haft runs retry RUN" if it is still wanted.',
  'run.differs': 'Compare the outputs; the program depends on more than its inputs.',
  'run.changed': 'Call the tool again to get a new run, or restore what changed.',
  'image.unpinned': 'Add the image with its digest to runs.images of haft.yaml.',
  'toolpack.abi': 'Report it to the author; "haft toolpack check FOLDER" shows each broken rule.',
  'toolpack.unstable': 'Report it to the author; a call must depend on its arguments alone.',
  'toolpack.failed': 'Read its log with "haft tools logs PACK".',

  'pack.invalid': 'Correct what is listed; "haft tools check FOLDER" checks the pack again.',
  'lockfile.invalid': 'Restore haft.lock from git, or write it again with "haft tools lock".',
  'lockfile.drift': 'Look at the differences with "haft tools lock", then add --accept to accept them.',
  'pack.unknown': 'Check the name; "haft tools health" lists the packs.',
  'node.too_old': 'Install a newer Node.js from https://nodejs.org.',
  'internal.unexpected': 'Report it as a bug; with HAFT_DEBUG=1 the command prints more.',
};
