// Owns: the table of operations: what people and programs can ask beside calling a tool. What is not in it does not exist.
// Refuses: to load any before it is asked for, and doors: each of them goes through this list.
import type { OperationEntry } from '../contract/operation.ts';

/**
 * By id. Not here, but commands of their own: what is a host (`serve`, `mcp`), the call itself, what is about the terminal
 * (`completion`, `help`), and what reads or writes files that a person names there, outside of any policy: `init`, `toolpack new`
 * and `check`, `tools check`, `runs collect`, `runs verify-bundle`.
 */
export const OPERATIONS: Readonly<Record<string, OperationEntry>> = {
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
};
