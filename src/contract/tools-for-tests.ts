// Owns: for tests, contracts, tools of packs, installations and needs that are whole, where a test says only what it is about.
// Refuses: to be clever: every field has one plain value unless the test gives another.
import type { CredentialNeed } from './credentials.ts';
import type { JsonObject } from './json.ts';
import type { BoundTool, Installation } from './manifest.ts';
import type { ToolContract } from './tool.ts';

export const toolContract = (id: string, fields: Partial<ToolContract> = {}): ToolContract => ({
  id,
  version: '1.0.0',
  contract: 'v1',
  title: id,
  description: '',
  tags: [],
  input: true,
  output: true,
  deterministic: false,
  idempotent: false,
  mutates: false,
  limits: { timeoutMs: 30_000, maxInputBytes: 2 ** 20, maxOutputBytes: 2 ** 20 },
  ...fields,
});

export const boundTool = (
  id: string,
  adapter: string,
  target: JsonObject,
  contract: Partial<ToolContract> = {},
): BoundTool => ({ contract: toolContract(id, contract), binding: { adapter, target } });

export const installationOf = (name: string, config: JsonObject): Installation => ({
  name,
  origin: 'test',
  digest: '',
  config,
  enabled: true,
  health: { status: 'unverified', checkedTs: null },
});

export const credentialNeed = (fields: Partial<CredentialNeed> = {}): CredentialNeed => ({
  provider: 'github',
  scope: 'any',
  required: true,
  schema: true,
  env: {},
  headers: {},
  context: false,
  ...fields,
});
