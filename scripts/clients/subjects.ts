// Owns: the programs that `npm run clients` tries: their packages, what they need beside Haft's entry, how they are driven.
// Not here: the configuration of Haft in them; that is written by `haft mcp install`.

/** Where one subject lives. All of it is in a temporary folder. */
export interface Site {
  readonly home: string;
  readonly workspace: string;
  /** Of the model. */
  readonly port: number;
}

export interface Subject {
  readonly title: string;
  readonly package: string;
  readonly program: string;
  /** Arguments of `haft mcp install`. */
  readonly install: readonly string[];
  /** Files that its user would have, below the home or the workspace: they lead to the model and answer first questions. */
  files?(site: Site): Readonly<Record<string, string>>;
  readonly env?: (site: Site) => Readonly<Record<string, string>>;
  /** Headless, with a prompt: the model makes the calls. */
  readonly drive: (site: Site) => readonly string[];
}

const PROMPT = 'Read the note, write the file, then read the environment.';
const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const url = ({ port }: Site, path = '') => `http://127.0.0.1:${port}${path}`;

export const AGENTS: readonly Subject[] = [
  {
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    program: 'claude',
    install: ['claude'],
    // A project's servers wait for their user's approval, which is this line.
    files: () => ({ 'home/.claude/settings.json': json({ enabledMcpjsonServers: ['haft'] }) }),
    env: (site) => ({
      ANTHROPIC_BASE_URL: url(site),
      ANTHROPIC_API_KEY: 'scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    drive: () => ['-p', PROMPT, '--allowedTools', 'mcp__haft'],
  },
  {
    title: 'Codex',
    package: '@openai/codex',
    program: 'codex',
    install: ['codex', '--scope', 'user'],
    files: (site) => ({
      'home/.codex/config.toml': `# As its user has it.
model = "scripted"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "${url(site, '/v1')}"
wire_api = "responses"
`,
    }),
    drive: () => [
      ...['exec', '--skip-git-repo-check', '-c', 'mcp_servers.haft.default_tools_approval_mode="approve"'],
      PROMPT,
    ],
  },
  {
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    program: 'gemini',
    install: ['gemini'],
    files: () => ({
      'home/.gemini/settings.json': json({
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      }),
    }),
    env: (site) => ({ GOOGLE_GEMINI_BASE_URL: url(site), GEMINI_API_KEY: 'scripted' }),
    drive: () => ['-m', 'gemini-2.5-flash', '--approval-mode', 'yolo', '-p', PROMPT],
  },
  {
    title: 'opencode',
    package: 'opencode-ai',
    program: 'opencode',
    install: ['opencode'],
    files: (site) => ({
      'home/.config/opencode/opencode.json': json({
        autoupdate: false,
        share: 'disabled',
        model: 'loopback/scripted',
        small_model: 'loopback/scripted',
        enabled_providers: ['loopback'],
        provider: {
          loopback: {
            npm: '@ai-sdk/openai-compatible',
            name: 'loopback',
            options: { baseURL: url(site, '/v1'), apiKey: 'scripted' },
            models: { scripted: { name: 'scripted', tool_call: true } },
          },
        },
      }),
    }),
    drive: () => ['run', PROMPT],
  },
];
