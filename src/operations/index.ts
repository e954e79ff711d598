// Owns: the table of operations: what people and programs can ask beside calling a tool. What is not in it does not exist.
// Refuses: to load any before it is asked for, and doors: each of them goes through this list.
import type { OperationEntry } from '../contract/operation.ts';

/**
 * By id. Not here, but commands of their own: what is a host (`serve`, `mcp`), the call itself, what is about the terminal
 * (`completion`, `help`), and what reads or writes files that a person names there, outside of any policy: `init`, `toolpack new`
 * and `check`, `tools check`, `runs collect`, `runs verify-bundle`.
 */
export const OPERATIONS: Readonly<Record<string, OperationEntry>> = {
  status: op(
    'Show the workspace, its policy and what to do next',
    async () => (await import('./status.ts')).status,
  ),
  trust: op(
    'Trust the policy of this workspace on this machine',
    async () => (await import('./trust.ts')).trust,
  ),
  'tools.list': op('List the installed tools', async () => (await import('./tools.ts')).toolsList),
  'tools.show': op('Show one tool', async () => (await import('./tools.ts')).toolsShow),
  'tools.search': op('Find tools by what they do', async () => (await import('./tools.ts')).toolsSearch),
  'tools.add': op('Add a server as a pack', async () => (await import('./packs.ts')).toolsAdd),
  'tools.remove': op('Remove a pack that was added', async () => (await import('./packs.ts')).toolsRemove),
  'tools.config': op(
    'Show or change what a pack needs',
    async () => (await import('./packs.ts')).toolsConfig,
  ),
  'tools.enable': op('Enable a pack that was disabled', async () => (await import('./packs.ts')).toolsEnable),
  'tools.disable': op('Disable a pack', async () => (await import('./packs.ts')).toolsDisable),
  'tools.health': op(
    'Check that the packs can be reached',
    async () => (await import('./packs.ts')).toolsHealth,
  ),
  'tools.logs': op(
    'Show what a server wrote to its standard error',
    async () => (await import('./packs.ts')).toolsLogs,
  ),
  'tools.lock': op('Pin the tools of packs in haft.lock', async () => (await import('./packs.ts')).toolsLock),
  'policy.check': op('Check haft.yaml', async () => (await import('./policy.ts')).policyCheck),
  'policy.explain': op(
    'Show which rule decides a call',
    async () => (await import('./policy.ts')).policyExplain,
  ),
  'policy.suggest': op(
    'Suggest lines for haft.yaml from denied calls',
    async () => (await import('./policy.ts')).policySuggest,
  ),
  'policy.diff': op(
    'Compare haft.yaml with what was trusted',
    async () => (await import('./policy.ts')).policyDiff,
  ),
  'policy.hash': op("Print the policy's hash", async () => (await import('./policy.ts')).policyHash),
  'policy.replay': op(
    'Decide past calls under another policy',
    async () => (await import('./policy.ts')).policyReplay,
  ),
  'approvals.list': op(
    'List the calls that wait',
    async () => (await import('./approvals.ts')).approvalsList,
  ),
  'approvals.show': op(
    'Show one with what it would do',
    async () => (await import('./approvals.ts')).approvalsShow,
  ),
  'approvals.grant': op(
    'Grant one: its call is allowed once',
    async () => (await import('./approvals.ts')).approvalsGrant,
  ),
  'approvals.refuse': op(
    'Refuse one: its call is denied',
    async () => (await import('./approvals.ts')).approvalsRefuse,
  ),
  'credentials.set': op(
    'Store a secret, encrypted',
    async () => (await import('./credentials.ts')).credentialsSet,
  ),
  'credentials.list': op(
    'List the secrets, without values',
    async () => (await import('./credentials.ts')).credentialsList,
  ),
  'credentials.remove': op(
    'Delete a secret',
    async () => (await import('./credentials.ts')).credentialsRemove,
  ),
  'credentials.check': op(
    'Check that each secret can be decrypted',
    async () => (await import('./credentials.ts')).credentialsCheck,
  ),
  'sessions.open': op(
    'Open a session with its own policy and budget',
    async () => (await import('./sessions.ts')).sessionsOpen,
  ),
  'sessions.list': op('List the sessions', async () => (await import('./sessions.ts')).sessionsList),
  'sessions.show': op(
    'Show a session and the rest of its budget',
    async () => (await import('./sessions.ts')).sessionsShow,
  ),
  'sessions.end': op('End a session', async () => (await import('./sessions.ts')).sessionsEnd),
  'audit.list': op('List the newest rows', async () => (await import('./audit.ts')).auditList),
  'audit.tail': op('Print rows as they are written', async () => (await import('./audit.ts')).auditTail),
  'audit.head': op(
    'Print the number of rows and the last hash',
    async () => (await import('./audit.ts')).auditHead,
  ),
  'audit.verify': op('Recompute the hash chain', async () => (await import('./audit.ts')).auditVerify),
  'audit.checkpoint': op(
    'Print a signed checkpoint',
    async () => (await import('./audit.ts')).auditCheckpoint,
  ),
  'audit.export': op('Write every row as JSON', async () => (await import('./audit.ts')).auditExport),
  'runs.list': op('List the newest runs', async () => (await import('./runs.ts')).runsList),
  'runs.show': op(
    'Show a run with its attempts and outputs',
    async () => (await import('./runs.ts')).runsShow,
  ),
  'runs.watch': op(
    'Print the log of a run until it ends',
    async () => (await import('./runs-again.ts')).runsWatch,
  ),
  'runs.cancel': op('Cancel a run', async () => (await import('./runs-again.ts')).runsCancel),
  'runs.retry': op('Call the tool of a run again', async () => (await import('./runs-again.ts')).runsRetry),
  'runs.verify': op(
    'Execute a run again and compare the outputs',
    async () => (await import('./runs-again.ts')).runsVerify,
  ),
  'runs.explain': op('Show why two runs differ', async () => (await import('./runs.ts')).runsExplain),
  'runs.export': op(
    'Export a run with its proof as one file',
    async () => (await import('./runs-again.ts')).runsExport,
  ),
  'artifacts.import': op(
    'Import a file, a folder or standard input',
    async () => (await import('./artifacts.ts')).artifactsImport,
  ),
  'artifacts.list': op(
    'List the newest artifacts',
    async () => (await import('./artifacts.ts')).artifactsList,
  ),
  'artifacts.show': op('Show an artifact', async () => (await import('./artifacts.ts')).artifactsShow),
  'artifacts.cat': op('Print or copy an artifact', async () => (await import('./artifacts.ts')).artifactsCat),
  'artifacts.verify': op(
    'Check the hashes of artifacts',
    async () => (await import('./artifacts.ts')).artifactsVerify,
  ),
  'artifacts.gc': op(
    'Remove artifacts that nothing uses',
    async () => (await import('./artifacts.ts')).artifactsGc,
  ),
  gc: op('Clean up the state', async () => (await import('./upkeep.ts')).gc),
  undo: op('Undo what a call changed', async () => (await import('./undo.ts')).undo),
  doctor: op('Check this machine and workspace', async () => (await import('./upkeep.ts')).doctor),
};

function op(summary: string, load: OperationEntry['load']): OperationEntry {
  return { summary, load };
}
