// Owns: calling one tool on a real temporary workspace, without a policy, a store or an audit around it.
// Refuses: to be lenient: arguments, declared effects and answers are checked as the pipeline checks them.
import { deepEqual } from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { normalizeRelPath } from '../base/rel-path.ts';
import type {
  CallScope,
  Capabilities,
  CapabilityFactories,
  Change,
  ToolContext,
} from '../contract/capability.ts';
import { NO_FENCES } from '../contract/capability.ts';
import { covers, describeEffect, type Effect } from '../contract/effect.ts';
import type { Warning } from '../contract/envelope.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { JsonObject, MaybePromise, SchemaCompiler } from '../contract/json.ts';
import type { ObjectStore } from '../contract/object-store.ts';
import type { RunsHandle } from '../contract/runs-handle.ts';
import type { EffectSite, Tool } from '../contract/tool.ts';

export interface ToolHarnessParts {
  /** Those that the tools under test use. */
  readonly capabilities: Partial<CapabilityFactories>;
  /** Opens the object store that pre-images go to; the folder exists and is empty. */
  openObjects(folder: string): MaybePromise<ObjectStore>;
  readonly schemas: SchemaCompiler;
  /** By default none: whatever asks for one is refused. */
  readonly runs?: RunsHandle;
}

interface ToolCall<Data> {
  readonly callId: string;
  readonly data: Data;
  readonly effects: readonly Effect[];
  readonly warnings: readonly Warning[];
  /** What the intent announced; empty when nothing was to change. */
  readonly changes: readonly Change[];
}

export interface ToolHarness {
  /** The workspace, resolved. */
  readonly root: string;
  readonly objects: ObjectStore;
  /** Calls a tool with these arguments. Throws what the tool throws. */
  call<Data>(tool: Tool<never, Data>, args: JsonObject, options?: HarnessOptions): Promise<ToolCall<Data>>;
  /** The same for a call that must be refused; throws when it succeeds, or leaves anything else behind it. */
  refuse(tool: Tool<never, unknown>, args: JsonObject, options?: HarnessOptions): Promise<Failure>;
  /** Puts a file there, with the folders above it. */
  put(path: string, content: string | Uint8Array, mode?: number): void;
  text(path: string): string;
  /** Everything in the workspace: `path → type, permission bits, content (one byte a character) or target`. */
  tree(): Record<string, string>;
  /** Removes the workspace. */
  close(): void;
}

interface HarnessOptions {
  readonly signal?: AbortSignal;
  /** Effects that policy would deny. */
  denies?(effect: Effect): boolean;
  /** Hosts that policy would name with `private: true`. By default none. */
  readonly privateHost?: NonNullable<CallScope['privateHost']>;
  readonly undoMaxBytes?: number;
}

export async function createToolHarness(parts: ToolHarnessParts): Promise<ToolHarness> {
  const home = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-tool-')));
  const root = join(home, 'workspace');
  const kept = join(home, 'objects');
  mkdirSync(root);
  mkdirSync(kept);
  const objects = await parts.openObjects(kept);
  const history = new Map<string, { tool: string; changes: readonly Change[] }>();
  const facts = new Map<string, JsonObject>();
  let calls = 0;
  const site: EffectSite = {
    history: { changes: async (callId) => known(history, callId) },
    place: (path) => place(root, path),
  };

  const harness: ToolHarness = {
    root,
    objects,
    put(path, content, mode = 0o644) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
      chmodSync(join(root, path), mode);
    },
    text: (path) => readFileSync(join(root, path), 'utf8'),
    tree: () => treeOf(root),
    async refuse(tool, args, options) {
      const before = treeOf(root);
      const failure = await harness.call(tool, args, options).then(
        ({ data }) => new Error(`${tool.id} was not refused: ${JSON.stringify(data)}`),
        (thrown) => thrown,
      );
      if (!isFailure(failure)) throw failure;
      deepEqual(treeOf(root), before, `${tool.id} was refused, yet it changed something`);
      return failure;
    },
    async call<Data>(tool: Tool<never, Data>, sent: JsonObject, options: HarnessOptions = {}) {
      const args = structuredClone(sent) as never;
      await check(parts.schemas, tool.input, args, 'input.schema');
      const effects = await tool.effects(args, site);
      const refused = effects.find((effect) => options.denies?.(effect));
      if (refused) throw fail('policy.denied', `Cannot ${describeEffect(refused)}: policy denies it`);
      const callId = `call_${++calls}`;
      const warnings: Warning[] = [];
      const signal = options.signal ?? new AbortController().signal;
      const scope: CallScope = {
        callId,
        root,
        extraRoots: [],
        signal,
        objects,
        undo: { keep: (sent.no_undo ?? false) !== true, maxBytes: options.undoMaxBytes ?? 64 * 1024 * 1024 },
        admit(effect, actual = effect) {
          if (!effects.some((declared) => covers(declared, effect))) {
            throw fail(
              'policy.undeclared',
              `Cannot ${describeEffect(effect)}: "${tool.id}" did not declare it`,
            );
          }
          if (options.denies?.(actual)) throw fail('policy.denied', `Cannot ${describeEffect(actual)}`);
        },
        place: site.place,
        policy: NO_FENCES,
        visible: (path) => !options.denies?.({ kind: 'fs.read', path }),
        privateHost: options.privateHost ?? (() => false),
        async intend(changes) {
          history.set(callId, { tool: tool.id, changes: JSON.parse(JSON.stringify(changes)) });
        },
        warn: (warning) => void warnings.push(warning),
      };
      const data = await tool.run(args, contextOf(parts, scope, site, facts));
      await check(parts.schemas, tool.output, data, 'output.schema');
      return { callId, data, effects, warnings, changes: history.get(callId)?.changes ?? [] };
    },
    close: () => rmSync(home, { recursive: true, force: true }),
  };
  return harness;
}

/** Of larger files the content is not told. */
const LARGE = 16 * 1024 * 1024;

function treeOf(root: string, below = '.', tree: Record<string, string> = {}): Record<string, string> {
  for (const name of readdirSync(join(root, below)).sort()) {
    const path = join(below, name);
    const stat = lstatSync(join(root, path));
    const bits = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) tree[path] = `link ${readlinkSync(join(root, path))}`;
    else if (stat.size > LARGE) tree[path] = `file ${bits} ${stat.size} bytes of ${stat.mtimeMs}`;
    else if (stat.isFile()) tree[path] = `file ${bits} ${readFileSync(join(root, path), 'latin1')}`;
    else tree[path] = `${stat.isDirectory() ? 'dir' : 'other'} ${bits}`;
    if (stat.isDirectory()) treeOf(root, path, tree);
  }
  return tree;
}

type History = ReadonlyMap<string, { readonly tool: string; readonly changes: readonly Change[] }>;

function known(history: History, callId: string) {
  const call = history.get(callId);
  return call && { callId, ...call, finished: true };
}

function contextOf(
  parts: ToolHarnessParts,
  scope: CallScope,
  site: EffectSite,
  facts: Map<string, JsonObject>,
): ToolContext {
  const { callId, signal, warn, objects } = scope;
  return {
    callId,
    requestId: callId,
    sessionId: 'session',
    signal,
    now: Date.now,
    progress() {},
    output() {},
    testify: (seen) => void facts.set(callId, seen),
    intend: () => scope.intend([]),
    warn,
    show() {},
    runs: parts.runs ?? NO_RUNS,
    history: {
      changes: site.history.changes,
      async content(id, path, side) {
        scope.admit({ kind: 'fs.read', path });
        const state = (await site.history.changes(id))?.changes.find((one) => one.path === path)?.[side];
        if (state?.type !== 'file' || (await objects.size(state.object)) === undefined) return undefined;
        return objects.get(state.object);
      },
      async undoneBy(id) {
        const undoing = (of: string): string | undefined =>
          [...facts].findLast(([by, { undoes }]) => undoes === of && undoing(by) === undefined)?.[0];
        return undoing(id);
      },
    },
    ...handlesOf(parts, scope),
  };
}

const noRuns = () => Promise.reject(fail('run.unknown', 'Cannot find the run: the harness has none'));
const NO_RUNS: RunsHandle = { submit: noRuns, look: noRuns, collect: noRuns, cancel: noRuns };

function handlesOf({ capabilities }: ToolHarnessParts, scope: CallScope): Capabilities {
  const made = Object.entries(capabilities).map(([name, make]) => [name, make(scope)]);
  return Object.fromEntries(made) as Capabilities;
}

function place(root: string, path: string): string {
  const below = path === root ? '.' : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  const normal = normalizeRelPath(below);
  if (normal.ok) return normal.path;
  throw fail(normal.reason, normal.message);
}

async function check(
  schemas: SchemaCompiler,
  schema: Tool['input'],
  value: unknown,
  reason: 'input.schema' | 'output.schema',
): Promise<void> {
  const problems = await (await schemas.compile(schema))(value);
  if (problems.length === 0) return;
  throw fail(reason, problems.map((one) => `${one.path} ${one.message}`).join('; '));
}
