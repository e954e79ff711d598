// Owns: the table of MCP clients: where each keeps its servers, how it spells one, and how it is asked whether it connects.
// Not here: editing (json-config.ts, toml-config.ts) and asking (connects.ts). Adding a client is one entry.
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../../../contract/json.ts';

export const SCOPES = ['project', 'user'] as const;
export type Scope = (typeof SCOPES)[number];

/** A server as the configuration of a client has it. */
export type ServerEntry = Readonly<Record<string, Json>>;

export interface McpClient {
  readonly title: string;
  /** Where it looks, by scope. Of several files the first that exists is edited; where there is none, the first is created. */
  readonly files: Readonly<Record<Scope, (workspace: string) => readonly string[]>>;
  /** `json` takes neither comments nor trailing commas. */
  readonly format: 'json' | 'jsonc' | 'toml';
  /** The object or table that holds the servers by name. */
  readonly under: string;
  entry(command: readonly [string, ...string[]]): ServerEntry;
  /** Text that the client would replace by something else wherever it occurs in a path. */
  readonly expands?: RegExp;
  /** Lists the servers, one a line, with the state of each where the client tries them. */
  readonly lists?: readonly [program: string, ...args: string[]];
  /** What a person does next, by scope, where the client does not connect by itself. */
  readonly next: Readonly<Record<Scope, string>>;
}

const inHome = (...parts: string[]) => join(homedir(), ...parts);

const below =
  (...names: string[]) =>
  (folder: string) =>
    names.map((name) => join(folder, name));

/** Where programs of this platform keep settings. */
function settings(name: string): string {
  if (process.platform === 'darwin') return inHome('Library', 'Application Support', name);
  if (process.platform === 'win32') return join(process.env.APPDATA || inHome('AppData', 'Roaming'), name);
  return xdgConfig(name);
}

const xdgConfig = (name: string) => join(process.env.XDG_CONFIG_HOME || inHome('.config'), name);

const plain: McpClient['entry'] = ([command, ...args]) => ({ command, args });
const typed: McpClient['entry'] = ([command, ...args]) => ({ type: 'stdio', command, args });

export const MCP_CLIENTS: Readonly<Record<string, McpClient>> = {
  claude: {
    title: 'Claude Code',
    files: {
      project: below('.mcp.json'),
      user: () => [join(process.env.CLAUDE_CONFIG_DIR || homedir(), '.claude.json')],
    },
    format: 'json',
    under: 'mcpServers',
    entry: typed,
    expands: /\$\{/,
    lists: ['claude', 'mcp', 'list'],
    next: {
      project: 'start claude in this folder; it asks once whether to use the server',
      user: 'restart claude',
    },
  },
  codex: {
    title: 'Codex',
    files: {
      project: below('.codex/config.toml'),
      user: () => [join(process.env.CODEX_HOME || inHome('.codex'), 'config.toml')],
    },
    format: 'toml',
    under: 'mcp_servers',
    entry: plain,
    lists: ['codex', 'mcp', 'list'],
    next: {
      project: 'Codex reads this file only in folders that it trusts: start codex here and trust the folder',
      user: 'restart codex',
    },
  },
  gemini: {
    title: 'Gemini CLI',
    files: {
      project: below('.gemini/settings.json'),
      user: () => [join(process.env.GEMINI_CLI_HOME || homedir(), '.gemini/settings.json')],
    },
    format: 'jsonc',
    under: 'mcpServers',
    entry: plain,
    expands: /\$/,
    lists: ['gemini', 'mcp', 'list'],
    next: {
      project: 'start gemini in this folder and trust the folder',
      user: 'start gemini in this folder and trust the folder',
    },
  },
  opencode: {
    title: 'opencode',
    files: {
      project: below('opencode.json', 'opencode.jsonc'),
      user: () => below('opencode.json', 'opencode.jsonc')(xdgConfig('opencode')),
    },
    format: 'jsonc',
    under: 'mcp',
    entry: (command) => ({ type: 'local', command: [...command], enabled: true }),
    expands: /\{(env|file):/,
    lists: ['opencode', 'mcp', 'list'],
    next: { project: 'restart opencode in this folder', user: 'restart opencode' },
  },
  cursor: {
    title: 'Cursor',
    files: { project: below('.cursor/mcp.json'), user: () => [inHome('.cursor/mcp.json')] },
    format: 'jsonc',
    under: 'mcpServers',
    entry: plain,
    expands: /\$\{/,
    next: {
      project: 'open the folder in Cursor and switch the server on in its settings, under MCP',
      user: 'switch the server on in the settings of Cursor, under MCP',
    },
  },
  vscode: {
    title: 'VS Code',
    files: { project: below('.vscode/mcp.json'), user: () => [join(settings('Code'), 'User/mcp.json')] },
    format: 'jsonc',
    under: 'servers',
    entry: typed,
    expands: /\$\{/,
    next: {
      project: 'open the folder in VS Code; it asks whether to trust the server when it first starts it',
      user: 'start a chat in VS Code; it asks whether to trust the server when it first starts it',
    },
  },
  zed: {
    title: 'Zed',
    files: {
      project: below('.zed/settings.json'),
      user: () => [join(process.platform === 'win32' ? settings('Zed') : xdgConfig('zed'), 'settings.json')],
    },
    format: 'jsonc',
    under: 'context_servers',
    entry: plain,
    next: {
      project: 'open the folder in Zed and trust it; the Agent Panel lists the server',
      user: 'the Agent Panel of Zed lists the server',
    },
  },
};
