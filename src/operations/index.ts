// Owns: the table of operations: what people and programs can ask beside calling a tool. What is not in it does not exist.
// Refuses: to load any before it is asked for, and doors: each of them goes through this list.
import type { OperationEntry } from '../contract/operation.ts';

/**
 * By id. Not here, but commands of their own: what is a host (`serve`, `mcp`), the call itself, what is about the terminal
 * (`completion`, `help`), and what reads or writes files that a person names there, outside of any policy: `init`, `toolpack new`
 * and `check`, `tools check`, `runs collect`, `runs verify-bundle`.
 */
export const OPERATIONS: Readonly<Record<string, OperationEntry>> = {
  trust: {
    summary: 'Trust the policy of this workspace on this machine',
    load: async () => (await import('./trust.ts')).trust,
  },
  'tools.list': {
    summary: 'List the installed tools',
    load: async () => (await import('./tools.ts')).toolsList,
  },
  'tools.show': {
    summary: 'Show one tool',
    load: async () => (await import('./tools.ts')).toolsShow,
  },
  'tools.search': {
    summary: 'Find tools by what they do',
    load: async () => (await import('./tools.ts')).toolsSearch,
  },
  'tools.add': {
    summary: 'Add a server as a pack',
    load: async () => (await import('./packs.ts')).toolsAdd,
  },
  'tools.remove': {
    summary: 'Remove a pack that was added',
    load: async () => (await import('./packs.ts')).toolsRemove,
  },
  'tools.config': {
    summary: 'Show or change what a pack needs',
    load: async () => (await import('./packs.ts')).toolsConfig,
  },
  'tools.enable': {
    summary: 'Let the tools of a pack be called again',
    load: async () => (await import('./packs.ts')).toolsEnable,
  },
  'tools.disable': {
    summary: 'Leave a pack out',
    load: async () => (await import('./packs.ts')).toolsDisable,
  },
  'tools.health': {
    summary: 'Look whether the packs can be reached',
    load: async () => (await import('./packs.ts')).toolsHealth,
  },
  'tools.logs': {
    summary: 'Show what a server wrote to its standard error',
    load: async () => (await import('./packs.ts')).toolsLogs,
  },
  'tools.lock': {
    summary: 'Pin the tools of packs in haft.lock',
    load: async () => (await import('./packs.ts')).toolsLock,
  },
  'policy.check': {
    summary: 'Check haft.yaml',
    load: async () => (await import('./policy.ts')).policyCheck,
  },
  'policy.explain': {
    summary: 'Say what decides a call',
    load: async () => (await import('./policy.ts')).policyExplain,
  },
  'policy.suggest': {
    summary: 'Propose lines from denied calls',
    load: async () => (await import('./policy.ts')).policySuggest,
  },
  'policy.diff': {
    summary: 'Compare haft.yaml with what was trusted',
    load: async () => (await import('./policy.ts')).policyDiff,
  },
  'policy.hash': {
    summary: "Print the policy's hash",
    load: async () => (await import('./policy.ts')).policyHash,
  },
  'policy.replay': {
    summary: 'Decide past calls under another policy',
    load: async () => (await import('./policy.ts')).policyReplay,
  },
  'approvals.list': {
    summary: 'List them',
    load: async () => (await import('./approvals.ts')).approvalsList,
  },
  'approvals.show': {
    summary: 'Show one of them',
    load: async () => (await import('./approvals.ts')).approvalsShow,
  },
  'approvals.grant': {
    summary: 'Let one through, once',
    load: async () => (await import('./approvals.ts')).approvalsGrant,
  },
  'approvals.refuse': {
    summary: 'Refuse one',
    load: async () => (await import('./approvals.ts')).approvalsRefuse,
  },
  'credentials.set': {
    summary: 'Keep one, encrypted',
    load: async () => (await import('./credentials.ts')).credentialsSet,
  },
  'credentials.list': {
    summary: 'List them, without values',
    load: async () => (await import('./credentials.ts')).credentialsList,
  },
  'credentials.remove': {
    summary: 'Forget one',
    load: async () => (await import('./credentials.ts')).credentialsRemove,
  },
  'credentials.check': {
    summary: 'Check that each can be opened',
    load: async () => (await import('./credentials.ts')).credentialsCheck,
  },
  'sessions.open': {
    summary: 'Open one, with terms of its own',
    load: async () => (await import('./sessions.ts')).sessionsOpen,
  },
  'sessions.list': {
    summary: 'List them',
    load: async () => (await import('./sessions.ts')).sessionsList,
  },
  'sessions.show': {
    summary: 'Show one and what remains of it',
    load: async () => (await import('./sessions.ts')).sessionsShow,
  },
  'sessions.end': {
    summary: 'End one',
    load: async () => (await import('./sessions.ts')).sessionsEnd,
  },
  'audit.list': {
    summary: 'List the newest rows',
    load: async () => (await import('./audit.ts')).auditList,
  },
  'audit.tail': {
    summary: 'Print rows as they are written',
    load: async () => (await import('./audit.ts')).auditTail,
  },
  'audit.head': {
    summary: 'Print count and hash',
    load: async () => (await import('./audit.ts')).auditHead,
  },
  'audit.verify': {
    summary: 'Recompute the hash chain',
    load: async () => (await import('./audit-verify.ts')).auditVerify,
  },
  'audit.checkpoint': {
    summary: 'Print a signed checkpoint',
    load: async () => (await import('./audit-verify.ts')).auditCheckpoint,
  },
  'audit.export': {
    summary: 'Write every row as JSON',
    load: async () => (await import('./audit.ts')).auditExport,
  },
  'runs.list': {
    summary: 'List the newest',
    load: async () => (await import('./runs.ts')).runsList,
  },
  'runs.show': {
    summary: 'Show one with its attempts and outputs',
    load: async () => (await import('./runs.ts')).runsShow,
  },
  'runs.watch': {
    summary: 'Print its log until it ends',
    load: async () => (await import('./runs-again.ts')).runsWatch,
  },
  'runs.cancel': {
    summary: 'End what is under way of it',
    load: async () => (await import('./runs-again.ts')).runsCancel,
  },
  'runs.retry': {
    summary: 'Make its call again',
    load: async () => (await import('./runs-again.ts')).runsRetry,
  },
  'runs.verify': {
    summary: 'Execute it again and compare',
    load: async () => (await import('./runs-again.ts')).runsVerify,
  },
  'runs.explain': {
    summary: 'Say why two are not the same',
    load: async () => (await import('./runs.ts')).runsExplain,
  },
  'runs.export': {
    summary: 'Write one with its proof into a file',
    load: async () => (await import('./runs-again.ts')).runsExport,
  },
  'artifacts.import': {
    summary: 'Keep a file, a folder or standard input',
    load: async () => (await import('./artifacts.ts')).artifactsImport,
  },
  'artifacts.list': {
    summary: 'List the newest',
    load: async () => (await import('./artifacts.ts')).artifactsList,
  },
  'artifacts.show': {
    summary: 'Show one',
    load: async () => (await import('./artifacts.ts')).artifactsShow,
  },
  'artifacts.cat': {
    summary: 'Print or copy one',
    load: async () => (await import('./artifacts.ts')).artifactsCat,
  },
  'artifacts.verify': {
    summary: 'Hash them again',
    load: async () => (await import('./artifacts.ts')).artifactsVerify,
  },
  'artifacts.gc': {
    summary: 'Remove what nothing needs any more',
    load: async () => (await import('./artifacts.ts')).artifactsGc,
  },
  gc: {
    summary: 'Clean up the state',
    load: async () => (await import('./upkeep.ts')).gc,
  },
  undo: {
    summary: 'Take back what a call changed',
    load: async () => (await import('./upkeep.ts')).undo,
  },
  doctor: {
    summary: 'Check this machine and workspace',
    load: async () => (await import('./upkeep.ts')).doctor,
  },
};
