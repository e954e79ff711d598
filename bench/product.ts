// Owns: where the built product is, and how the benchmarks start it.
// Refuses: to measure sources: what users run is what `npm run build` made.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/contract/json.ts';
import type { CallOptions } from '../src/contract/runtime.ts';
import type { DefaultRuntime } from '../src/preset/default.ts';
import type { ServerCommand } from './mcp-client.ts';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
export const HAFT = join(ROOT, 'dist/bin/haft.cjs');
const FILESYSTEM = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');

type Preset = typeof import('../src/preset/default.ts');

/** The runtime as the package exports it. */
export async function openRuntime(workspace: string): Promise<DefaultRuntime> {
  const { createDefaultRuntime } = (await import(join(ROOT, 'dist/preset/default.js'))) as Preset;
  return createDefaultRuntime({ workspace });
}

/** One call whose success is taken for granted. */
export async function mustCall(
  runtime: DefaultRuntime,
  tool: string,
  args: JsonObject,
  options?: CallOptions,
): Promise<unknown> {
  const { ok, data, errors } = await runtime.call({ tool, args }, options);
  if (!ok) throw new Error(`${tool} failed: ${JSON.stringify(errors)}`);
  return data;
}

export const SERVERS = {
  haft: (workspace: string): ServerCommand => ({ args: [HAFT, 'mcp', '--workspace', workspace] }),
  sdkEcho: (): ServerCommand => ({ args: [join(ROOT, 'bench/peers/sdk-echo.mjs')] }),
  filesystem: (workspace: string): ServerCommand => ({ args: [FILESYSTEM, workspace] }),
  filesystemWithSync: (workspace: string): ServerCommand => ({
    args: ['--import', join(ROOT, 'bench/peers/flush-writes.mjs'), FILESYSTEM, workspace],
  }),
} as const;
