// Owns: a workspace with a runtime on it, and short words for what tests of governance do with them.
// Refuses: to leave a runtime open or a workspace behind.
import {
  type CallResponse,
  createRuntime,
  type DefaultRuntime,
  type RuntimeOptions,
} from '../../../src/index.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** The reason of a refusal, or `ok`. */
export const reasonOf = ({ errors }: CallResponse) => errors[0]?.reason ?? 'ok';

export interface Stage {
  readonly workspace: Workspace;
  readonly runtime: DefaultRuntime;
  /** Another runtime on the same workspace, as another process would have it. */
  second(): Promise<DefaultRuntime>;
  read(path: string, sessionId?: string, runtime?: DefaultRuntime): Promise<string>;
  write(path: string, content: string, sessionId?: string): Promise<string>;
}

/** A workspace with these files and a runtime on it, for as long as `work` takes. */
export async function staged(
  files: Record<string, string>,
  work: (stage: Stage) => Promise<void>,
  options: RuntimeOptions = {},
): Promise<void> {
  const workspace = makeWorkspace({ 'a.txt': 'a\n', ...files });
  const open: DefaultRuntime[] = [];
  const start = async () => {
    const runtime = await createRuntime({ ...options, workspace: workspace.root });
    open.push(runtime);
    return runtime;
  };
  try {
    const runtime = await start();
    await work({
      workspace,
      runtime,
      second: start,
      read: async (path, sessionId, by = runtime) =>
        reasonOf(await by.call({ tool: 'file_read', args: { path }, sessionId })),
      write: async (path, content, sessionId) =>
        reasonOf(await runtime.call({ tool: 'file_write', args: { path, content }, sessionId })),
    });
  } finally {
    for (const runtime of open) await runtime.close();
    workspace.remove();
  }
}

/** A tool that does this and answers. */
export function waitTool(work: () => void | Promise<void>) {
  return {
    id: 'wait',
    version: '1.0.0',
    contract: 'v1',
    title: 'Wait',
    description: 'Waits.',
    tags: [],
    deterministic: false,
    idempotent: true,
    mutates: false,
    limits: { timeoutMs: 60_000, maxInputBytes: 1000, maxOutputBytes: 1000 },
    input: { type: 'object', additionalProperties: false },
    output: { type: 'object' },
    effects: () => [],
    async run() {
      await work();
      return {};
    },
  } as const;
}
