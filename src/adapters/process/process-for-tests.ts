// Owns: for tests of the process adapter, a pack that is open on it, the functions that its tools name, and its programs.
// Refuses: to stand in for anything: the loader, the adapter and the sandbox are the real ones.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProgramFixture, withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import type { AdapterConnection, Invocation, InvocationResult } from '../../contract/adapter.ts';
import type { Effect } from '../../contract/effect.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import { handlesOn, invocationOf, runningPrograms } from '../fixtures-for-tests.ts';
import { bindYamlTool } from '../yaml-filling.ts';
import { createProcessAdapter, type ProcessAdapterHandles } from './process.ts';

export interface OpenedPack {
  readonly connection: AdapterConnection;
  readonly fixture: ProgramFixture;
  readonly tools: readonly BoundTool[];
  call(id: string, input?: unknown, rest?: Partial<Invocation>): Promise<InvocationResult>;
  effects(id: string, input?: unknown): Promise<readonly Effect[]>;
}

export async function withPack<T>(
  files: Readonly<Record<string, string>>,
  use: (opened: OpenedPack) => Promise<T>,
  { config = {}, ...handles }: Partial<ProcessAdapterHandles> & { config?: JsonObject } = {},
): Promise<T> {
  return withPrograms(files, async (fixture) => {
    const loader = new ToolpackLoader();
    await loader.loadDir(join(fixture.root, 'packs/p'));
    const tools = loader.list().flatMap(bindYamlTool);
    const adapter = createProcessAdapter({ handlesFor: handlesOn(fixture), ...handles });
    const installation = installationOf('pack', config);
    const connection = await adapter.open(installation, tools);
    try {
      return await use({
        connection,
        fixture,
        tools,
        call: (id, input = {}, rest = {}) => connection.invoke(invocationOf(id, input, rest)),
        async effects(id, args = {}) {
          const tool = tools.find(({ contract }) => contract.id === id) as BoundTool;
          return (
            (await adapter.effects?.({ installation, tool, args, site: { place: (path) => path } })) ?? []
          );
        },
      });
    } finally {
      await connection.close();
    }
  });
}

/** The same for tests that open and close at different places. */
export async function openPack(
  files: Readonly<Record<string, string>>,
): Promise<OpenedPack & { close(): Promise<void> }> {
  const over = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<OpenedPack>();
  const closed = withPack(files, (one) => {
    opened.resolve(one);
    return over.promise;
  });
  closed.catch(opened.reject);
  return {
    ...(await opened.promise),
    close() {
      over.resolve();
      return closed;
    },
  };
}

/** Interpreters that were started for this workspace; their environment tells whose they are. */
export function ownPrograms({ root }: ProgramFixture, program = 'python3'): number[] {
  return runningPrograms(program, '"progress"').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(root);
    } catch {
      return false;
    }
  });
}

export const PYTHON_TOOLS = `
import json, time

def echo(input):
    print("this is no part of the answer")
    return input

def fail(input):
    raise ValueError("failed as asked")

def big(input):
    return {"text": "x" * 256 * 1024}

def wait(input, context):
    context["progress"](50)
    time.sleep(600)

async def later(input):
    import asyncio
    await asyncio.sleep(0)
    return {"later": True}

class Box:
    @staticmethod
    def inner(input, context):
        print(json.dumps({"progress": {"pct": 5, "message": "printed"}}))
        return {"action": context["action"], "config": context["config"]}

count = 0
def counted(input):
    global count
    count += 1
    return count

def leave(input):
    raise SystemExit(3)

def crash(input):
    import os
    os._exit(9)

def nan(input):
    return float("nan")
`;

export const NODE_TOOLS = `
export const echo = (input) => { console.log('this is no part of the answer'); return input; };
export const fail = () => { throw new TypeError('failed as asked'); };
export const big = () => ({ text: 'x'.repeat(256 * 1024) });
export const wait = (_, { progress }) => { progress(50); return new Promise(() => setInterval(() => {}, 1000)); };
export const later = async () => { await null; return { later: true }; };
let count = 0;
export const counted = () => ++count;
`;
