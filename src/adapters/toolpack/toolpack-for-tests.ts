// Owns: for tests, toolpacks made of a few lines, opened in the real sandbox.
// Refuses: to leave anything behind, and to hold tests of its own.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { createExecCapability } from '../../capabilities/exec/capability.ts';
import { type CallScope, NO_FENCES } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { ExecHandle } from '../../contract/exec.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { PreparedRun, RunExecutor } from '../../contract/runs.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { type FolderSite, openToolpackFolder } from '../../preset/runs/toolpack-folder.ts';
import { isAlive, processIdentity } from '../../stores/process-identity.ts';

export const TEXT = Buffer.from('three short words\n');
export const TEXT_ID: ObjectId = `sha256:${sha256Hex(TEXT)}`;
export const OTHER_ID: ObjectId = `sha256:${sha256Hex('other')}`;
export const IMAGE = `haft/text@sha256:${'a'.repeat(64)}`;

/** A good definition; each case says what it changes, in the module's own words. */
export const GOOD: Readonly<Record<string, string>> = {
  abiVersion: "'v1'",
  toolName: "'text_stats'",
  contractVersion: "'v1'",
  planKind: "'docker'",
  description: "'Counts words'",
  input:
    "{ type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: true }",
  declaredOutputs: "[{ role: 'stats', type: 'text/plain', label: 'Counts', srcRelpath: 'out/stats.txt' }]",
  canonicalize: `async (args, ctx) => ({
    canonicalParams: {}, inputsToLink: [{ artifactId: args.text, role: 'text' }],
    plan: { kind: 'docker', image: '${IMAGE}', argv: ['wc', 'in/text.txt'], inputs: [{ role: 'text', artifactId: args.text, destName: 'text.txt' }] },
  })`,
  run: 'runPlan',
};

/** The text of a module with these fields changed; `undefined` leaves one out. */
export function moduleText(changes: Readonly<Record<string, string | undefined>> = {}, head = ''): string {
  const fields = Object.entries({ ...GOOD, ...changes }).filter(([, value]) => value !== undefined);
  return `import { defineTool, runPlan } from 'haft/toolpack';\n${head}\nexport default defineTool({\n${fields
    .map(([key, value]) => `  ${key}: ${value},\n`)
    .join('')}});\n`;
}

export interface PackFixture {
  readonly root: string;
  /** Opens a pack of these files; `toolpack.ts` is its module. */
  open(files: Readonly<Record<string, string>>, site?: Partial<FolderSite>): Promise<LoadResult<OpenPack>>;
  prepare(pack: OpenPack, args?: object, tool?: string): Promise<PreparedRun>;
  readonly pinned: string[];
  readonly programs: ExecHandle;
}

export const NO_RUNS: RunExecutor = { execute: () => Promise.reject(new Error('no runs here')) };

export async function withPacks<T>(use: (fixture: PackFixture) => Promise<T>): Promise<T> {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-packs-')));
  const capability = createExecCapability(() => Promise.reject(new Error('no proxy')), {
    self: processIdentity(),
    isAlive,
  });
  const exec: ExecHandle = capability.open(scopeOf(root));
  const opened: OpenPack[] = [];
  const pinned: string[] = [];
  let count = 0;
  const fixture: PackFixture = {
    root,
    pinned,
    programs: exec,
    async open(files, site = {}) {
      count += 1;
      const folder = join(root, `pack${count}`);
      const whole = { 'package.json': PACKAGE, ...files };
      for (const [name, content] of Object.entries(whole)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), content);
      }
      const result = await openToolpackFolder(folder, `pack${count}`, {
        handlesFor: () => ({ exec, http: undefined as never }),
        runs: NO_RUNS,
        schemas: createSchemaCompiler(),
        ...site,
      });
      if (result.value) opened.push(result.value);
      return result;
    },
    async prepare({ adapter, installation, tools }, args = { text: TEXT_ID }, name?: string) {
      const prepared = await adapter.prepare?.({
        installation,
        tool: tools.find(({ contract }) => contract.id === name) ?? tools[0]!,
        args,
        site: {
          signal: new AbortController().signal,
          artifacts: {
            async hold(ids) {
              const absent = ids.find((id) => id !== TEXT_ID);
              if (absent) throw fail('artifact.unknown', `Cannot find ${absent}: there is no such artifact`);
              return ids.map((id) => ({
                id,
                kind: 'file',
                size: TEXT.length,
                files: 1,
                createdTs: 0,
                usedTs: 0,
              }));
            },
            read: async (_id, { start, end } = {}) => ({
              bytes: TEXT.subarray(start, end),
              size: TEXT.length,
            }),
          },
          pinImage: async (reference) => {
            pinned.push(reference);
            if (reference === 'nowhere:1')
              throw fail('image.unpinned', 'Cannot pin the image: nobody has any');
            if (reference === 'absent:1') throw fail('run.infrastructure', 'Cannot pin the image: absent');
            return `${reference}@sha256:${'b'.repeat(64)}`;
          },
        },
      });
      return prepared as PreparedRun;
    },
  };
  try {
    return await use(fixture);
  } finally {
    for (const pack of opened) await (await pack.adapter.open(pack.installation, pack.tools)).close();
    await capability.close();
    rmSync(root, { recursive: true, force: true });
  }
}

export const PACKAGE = JSON.stringify({
  name: 'pack',
  version: '1.2.3',
  type: 'module',
  haft: { toolpack: 'toolpack.ts' },
});

function scopeOf(root: string): CallScope {
  return {
    callId: 'call_test',
    root,
    extraRoots: [],
    signal: new AbortController().signal,
    objects: undefined as never,
    undo: { keep: false, maxBytes: 0 },
    admit() {},
    place: (path) => path,
    policy: NO_FENCES,
    visible: () => true,
    intend: async () => {},
    warn() {},
  };
}
