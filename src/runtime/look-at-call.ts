// Owns: a builtin's own `run` up to the first thing that it would do: its paths are found through links, its edits planned, and the call
// that it makes in turn is explained.
// Refuses: to let it change, send, start or answer anything; and tools of others, whose code nobody can stop.
import type { ArtifactsHandle } from '../contract/artifacts.ts';
import type { FsHandle, ProcessHandle, ToolContext } from '../contract/capability.ts';
import type { CallRequest } from '../contract/envelope.ts';
import { fail, isFailure } from '../contract/errors.ts';
import type { ExecHandle } from '../contract/exec.ts';
import type { HttpHandle } from '../contract/http.ts';
import type { RunsHandle } from '../contract/runs-handle.ts';
import type { CallOptions, Explanation } from '../contract/runtime.ts';
import type { SearchHandle } from '../contract/search.ts';
import type { ShellsHandle } from '../contract/shells.ts';
import { contextFor } from './context.ts';
import type { Deadline } from './limits.ts';
import { type AuthorisedCall, execute, type PipelineSite } from './pipeline.ts';
import type { CallRecord } from './record.ts';
import { ownAttempts, refuseOtherTools } from './runs/runs-handle.ts';

interface Looking {
  readonly deadline: Deadline;
  /** Of the call that it makes in turn. */
  explain(request: CallRequest, options: Pick<CallOptions, 'backend' | 'placement'>): Promise<Explanation>;
}

/** Told by identity: here the call would do something. */
const LOOKED = new Error('what follows would be done');

/** Throws what policy would refuse. Returns what could not be looked at, a line each. */
export async function lookAtCall(
  site: PipelineSite,
  call: AuthorisedCall,
  record: CallRecord,
  { deadline, explain }: Looking,
): Promise<readonly string[]> {
  const { registered, engine, args, decision } = call;
  const { tool, origin } = registered;
  if (call.prepared) return ['what its run does: the backend holds it to the policy'];
  if (origin !== 'builtin') return [`what "${tool.id}" does itself: each access is decided when it is made`];
  const approved = decision.verdict === 'ask';
  const ctx = contextFor(site, record, args, { engine, approved, deadline, emit: () => {} });
  const unseen: string[] = [];
  const looking = {
    ...QUIET,
    callId: record.callId,
    requestId: record.requestId,
    sessionId: record.session,
    now: () => ctx.now(),
    get signal() {
      return ctx.signal;
    },
    get history() {
      return ctx.history;
    },
    get fs() {
      return filesOf(ctx.fs, tool.mutates);
    },
    get search() {
      const { search } = ctx;
      return stopped<SearchHandle>({
        search: async (query) => {
          await search.search({ ...query, maxResults: 0 });
          return stop();
        },
      });
    },
    get artifacts() {
      return stopped<ArtifactsHandle>({ importPath: (path) => lookAtSource(ctx.fs, path, unseen) });
    },
    get exec() {
      unseen.push('what the programs do: the sandbox holds them to the policy');
      const { exec } = ctx;
      return stopped<ExecHandle>({
        shell: async (line) => {
          await exec.check(line);
          return stop();
        },
      });
    },
    get shells() {
      unseen.push('what goes on in a background shell: the sandbox holds it to the policy');
      const { exec } = ctx;
      return stopped<ShellsHandle>({
        start: async (line) => {
          // What a plain shell is given is decided when it is given it.
          await exec.check({ ...line, cmd: line.cmd.trim() === 'bash' ? '' : line.cmd, captureBytes: 0 });
          return stop();
        },
      });
    },
    get http() {
      unseen.push(
        'which address a host name leads to, and redirects: each is decided when it is connected to',
      );
      return stopped<HttpHandle>();
    },
    processes: stopped<ProcessHandle>(),
    runs: runsOf(site, record, explain),
  } satisfies Partial<ToolContext>;
  try {
    // What is neither policy's nor a stop is no decision: the call would fail by itself.
    await execute(
      record,
      Promise.resolve(tool.run(args as never, looking as unknown as ToolContext)),
      deadline,
    );
  } catch (thrown) {
    if (isFailure(thrown) && thrown.code === 'E_POLICY') throw thrown;
    if (!isFailure(thrown) && thrown !== LOOKED) throw thrown;
    if (isFailure(thrown) && thrown.reason === 'time.deadline')
      unseen.push('the rest of what it touches: to look takes longer than the call may take');
  } finally {
    deadline.clear();
  }
  return unseen;
}

const stop = (): never => {
  throw LOOKED;
};
const stopLater = async (): Promise<never> => stop();

/** A handle of which nothing more can be looked at than what the call declared, and policy decided that; but for `own`. */
const stopped = <T extends object>(own: Partial<T> = {}): T =>
  new Proxy(own as T, { get: (_, name) => Reflect.get(own, name) ?? stopLater });

/** What is told while it runs reaches nobody. */
const QUIET = {
  progress: () => {},
  output: () => {},
  testify: () => {},
  warn: () => {},
  show: () => {},
  intend: async () => {},
} as const;

/** Reads are real where a change depends on them; else a file is found and opened, and nothing of it read. */
function filesOf(fs: FsHandle, mutates: boolean): FsHandle {
  return {
    stat: (path) => fs.stat(path),
    check: (edits) => fs.check(edits),
    // A dry run goes on to read what it shows.
    preview: (edits) => fs.preview(edits),
    mutate: async (edits) => {
      await fs.check(edits);
      return stop();
    },
    async read(path, options) {
      if (mutates) return fs.read(path, options);
      await fs.read(path, { ...options, range: { start: 0, end: 0 } });
      return stop();
    },
    async open(path) {
      await (await fs.open(path)).close();
      return stop();
    },
    // Where the walk would begin: what is below that may not be seen is left out of answers, and refused to nobody.
    async list(query) {
      await fs.list({ ...query, maxResults: 0 });
      return stop();
    },
    async tree(path) {
      await fs.tree(path);
      return stop();
    },
  };
}

async function lookAtSource(fs: FsHandle, path: string, unseen: string[]): Promise<never> {
  await fs.stat(path);
  try {
    await (await fs.open(path)).close();
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.reason !== 'path.is_directory') throw thrown;
    unseen.push(`what lies below "${path}": each file is decided when it is read`);
    await fs.tree(path);
  }
  return stop();
}

function runsOf(site: PipelineSite, { session }: CallRecord, explain: Looking['explain']): RunsHandle {
  return {
    look: stopLater,
    collect: stopLater,
    async cancel(runId) {
      await ownAttempts(site.runs, runId, session === site.sessions.defaultId ? null : session);
      return stop();
    },
    async submit({ tool, args, backend, placement }) {
      refuseOtherTools(tool, site.registry.get(tool)?.tool);
      const place = { backend, ...(placement ? { placement } : {}) };
      refuseInner(await explain({ tool, args, sessionId: session }, place));
      return stop();
    },
  };
}

/** The inner call is one of its own: what refuses it, or waits for a person, ends the outer one as well. */
function refuseInner({ decision, approval }: Explanation): void {
  const { verdict, message, rule, reason = 'policy.denied', admit } = decision;
  if (verdict === 'allow' || (verdict === 'ask' && approval?.status === 'granted')) return;
  throw fail(reason, message, { rule, ...(admit ? { admit } : {}) });
}
