// Owns: one denial of every kind, each with the policy that denies and the call that is denied.
// Refuses: to make the calls.
import { basename } from 'node:path';
import type { JsonObject } from '../../../src/index.ts';
import type { Workspace } from './workspace.ts';

export interface Site {
  readonly workspace: Workspace;
  readonly beside: Workspace;
  /** A server that nobody granted; another redirects to it. */
  readonly port: number;
  readonly redirecting: number;
}

export interface Denial {
  readonly reason: string;
  /** haft.yaml after `version: 1`. */
  readonly policy?: (site: Site) => string;
  readonly tool: string;
  readonly args?: (site: Site) => JsonObject;
}

export const args = (value: JsonObject) => () => value;
export const policy = (text: string) => () => text;
export const READ = { tool: 'file_read', args: args({ path: 'secrets/key' }) };
export const shell = (cmd: string) => ({ tool: 'shell_exec', args: args({ cmd }) });
export const get = (url: (site: Site) => string) => ({
  tool: 'curl',
  args: (site: Site) => ({ url: url(site) }),
});

export const DENIALS: Readonly<Record<string, Denial>> = {
  // Tools
  'a rule for a tool': {
    reason: 'policy.denied',
    policy: policy('tools:\n  rules:\n    - tool: file_read\n      decision: deny\n'),
    ...READ,
  },
  'a rule for many tools': {
    reason: 'policy.denied',
    policy: policy("tools:\n  rules:\n    - tool: 'file_*'\n      decision: deny\n"),
    ...READ,
  },
  'a rule for a tool and a path': {
    reason: 'policy.denied',
    policy: policy(
      "tools:\n  rules:\n    - tool: 'file_*'\n      paths:\n        - secrets\n        - 'gen/**'\n      decision: deny\n    - tool: 'file_*'\n      paths:\n        - other\n      decision: deny\n",
    ),
    ...READ,
  },
  'the default for tools': {
    reason: 'policy.denied',
    policy: policy('tools:\n  default: deny\n'),
    ...READ,
  },
  'a rule that asks': {
    reason: 'approval.pending',
    policy: policy('tools:\n  rules:\n    - tool: file_read\n      decision: ask\n'),
    ...READ,
  },
  'git push': { reason: 'policy.denied', tool: 'push' },
  'git push, said no to': {
    reason: 'policy.denied',
    policy: policy('git:\n  allow_push: false\n'),
    tool: 'push',
  },

  // Paths
  'a rule for reading': {
    reason: 'policy.denied',
    policy: policy('paths:\n  rules:\n    - path: secrets\n      read: deny\n      write: deny\n'),
    ...READ,
  },
  'a rule for writing': {
    reason: 'policy.denied',
    policy: policy('paths:\n  rules:\n    - path: secrets\n      read: deny\n      write: deny\n'),
    tool: 'file_write',
    args: args({ path: 'secrets/new', content: 'x' }),
  },
  'two rules, and one that asks': {
    reason: 'policy.denied',
    policy: policy(
      "paths:\n  rules:\n    - path: secrets\n      read: deny\n    - path: '**/key'\n      read: deny\n    - path: 'sec*/**'\n      read: ask\n",
    ),
    ...READ,
  },
  'a rule with examples': {
    reason: 'policy.denied',
    policy: policy(
      'paths:\n  rules:\n    - path: secrets\n      read: deny\n      examples:\n        deny:\n          - secrets/key\n',
    ),
    ...READ,
  },
  'a file in a folder that would be deleted': {
    reason: 'policy.denied',
    policy: policy('paths:\n  rules:\n    - path: secrets/key\n      write: deny\n'),
    tool: 'fs_delete',
    args: args({ path: 'secrets', recursive: true }),
  },
  'a file somewhere in a folder that would be deleted': {
    reason: 'policy.denied',
    policy: policy("paths:\n  rules:\n    - path: '**/key'\n      write: deny\n"),
    tool: 'fs_delete',
    args: args({ path: 'secrets', recursive: true }),
  },
  'what a link leads to': {
    reason: 'policy.denied',
    policy: policy('paths:\n  rules:\n    - path: secrets\n      read: deny\n'),
    tool: 'file_read',
    args: args({ path: 'link' }),
  },
  'a folder beside the workspace, absolute': {
    reason: 'path.outside_workspace',
    tool: 'file_read',
    args: ({ beside }) => ({ path: beside.path('d/f') }),
  },
  'a folder beside the workspace, relative': {
    reason: 'path.outside_workspace',
    tool: 'file_read',
    args: ({ beside }) => ({ path: `../${basename(beside.root)}/f` }),
  },
  'a folder beside the workspace, by a link': {
    reason: 'path.outside_workspace',
    tool: 'file_write',
    args: ({ beside }) => ({ path: beside.path('link/new'), content: 'x' }),
  },
  'two folders beside the workspace': {
    reason: 'path.outside_workspace',
    policy: ({ beside }) => `paths:\n  extra_roots:\n    - ${beside.path('other')}\n`,
    tool: 'fs_copy',
    args: ({ beside }) => ({ src: beside.path('other/f'), dst: beside.path('d/copy') }),
  },
  'a rule for a folder beside the workspace': {
    reason: 'policy.denied',
    policy: ({ beside }) =>
      `paths:\n  extra_roots:\n    - ${beside.path('d')}\n  rules:\n    - path: ${beside.path('d/f')}\n      read: deny\n`,
    tool: 'file_read',
    args: ({ beside }) => ({ path: beside.path('d/f') }),
  },

  // Commands
  'a command': { reason: 'shell.not_allowed', ...shell('ls -la src') },
  'a command with a subcommand, beside others': {
    reason: 'shell.not_allowed',
    policy: policy("shell_allow:\n  - '^ls(\\s|$)'\n"),
    ...shell('git log --oneline'),
  },
  'several commands at once': {
    reason: 'shell.not_allowed',
    ...shell('ls | wc -l && echo "it\'s $(cat secrets/key)" || test -e "odd name: #1"'),
  },
  'a command that an entry denies': {
    reason: 'policy.denied',
    policy: policy("shell_allow:\n  - '^ls(\\s|$)'\n  - pattern: '-a'\n    decision: deny\n"),
    ...shell('ls -a'),
  },
  'a command that an entry denies and none allows': {
    reason: 'policy.denied',
    policy: policy("shell_allow:\n  - pattern: '-a'\n    decision: deny\n"),
    ...shell('ls -a'),
  },
  'a command that is asked about': {
    reason: 'approval.pending',
    policy: policy("shell_allow:\n  - pattern: '^ls(\\s|$)'\n    decision: ask\n"),
    ...shell('ls'),
  },
  'a redirection': {
    reason: 'policy.denied',
    policy: policy(
      "shell_allow:\n  - '^echo(\\s|$)'\npaths:\n  rules:\n    - path: secrets\n      write: deny\n",
    ),
    ...shell('echo x > secrets/new'),
  },
  'everything at once': {
    reason: 'policy.denied',
    policy: policy(
      'tools:\n  rules:\n    - tool: shell_exec\n      decision: deny\npaths:\n  rules:\n    - path: secrets\n      read: deny\n      write: ask\n',
    ),
    tool: 'shell_exec',
    args: args({ cmd: 'cat < secrets/key > secrets/copy', allow_network: true }),
  },

  // Connections
  'a network for a program': {
    reason: 'http.not_allowed',
    policy: policy("shell_allow:\n  - '^true$'\n"),
    tool: 'shell_exec',
    args: args({ cmd: 'true', allow_network: true }),
  },
  'a loopback address': {
    reason: 'http.not_allowed',
    ...get(({ port }) => `http://127.0.0.1:${port}/`),
  },
  'localhost, beside other hosts': {
    reason: 'http.not_allowed',
    policy: policy('network:\n  allowed_domains:\n    - example.org\n'),
    ...get(({ port }) => `http://localhost:${port}/`),
  },
  'a host that an entry denies': {
    reason: 'policy.denied',
    policy: ({ port }) =>
      `network:\n  allowed_domains:\n    - domain: 127.0.0.1:${port}\n      decision: deny\n`,
    ...get(({ port }) => `http://127.0.0.1:${port}/`),
  },
  'a host that is asked about': {
    reason: 'approval.pending',
    policy: ({ port }) =>
      `network:\n  allowed_domains:\n    - domain: 127.0.0.1:${port}\n      decision: ask\n      private: true\n`,
    ...get(({ port }) => `http://127.0.0.1:${port}/`),
  },
  'a host that is named, but not as private': {
    reason: 'http.address',
    policy: ({ port }) => `network:\n  allowed_domains:\n    - 127.0.0.1:${port}\n`,
    ...get(({ port }) => `http://127.0.0.1:${port}/`),
  },
  'a redirect to another host': {
    reason: 'http.not_allowed',
    policy: ({ redirecting }) =>
      `network:\n  allowed_domains:\n    - domain: 127.0.0.1:${redirecting}\n      private: true\n`,
    ...get(({ redirecting }) => `http://127.0.0.1:${redirecting}/`),
  },

  // Budgets and limits
  'the budget of calls': {
    reason: 'budget.exhausted',
    policy: policy('budgets:\n  calls: 0\n'),
    ...READ,
  },
  'the budget of bytes': {
    reason: 'budget.exhausted',
    policy: policy('budgets:\n  wall_ms: 100000\n  bytes: 0\n'),
    ...READ,
  },
  'the budget of time': {
    reason: 'budget.exhausted',
    policy: policy('budgets:\n  wall_ms: 0\n'),
    ...READ,
  },
  'the size of arguments': {
    reason: 'input.too_large',
    policy: policy('limits:\n  max_input_bytes: 20\n'),
    tool: 'file_write',
    args: args({ path: 'a.txt', content: 'x'.repeat(100) }),
  },
  'the number of background shells': {
    reason: 'shell.limit',
    policy: policy('limits:\n  max_shells: 0\n'),
    tool: 'shell_start',
    args: args({ cmd: 'bash' }),
  },
  'the size of an answer': {
    reason: 'output.too_large',
    policy: policy('limits:\n  max_output_bytes: 20\n'),
    ...READ,
  },
};
