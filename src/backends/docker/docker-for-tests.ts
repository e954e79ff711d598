// Owns: a docker backend on a private engine, with folders of its own, for tests; and an engine that does not obey.
// Refuses: to be in the build.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { DockerEngine } from '../../../scripts/engines/docker.ts';
import type { EngineForTests } from '../../../scripts/engines/engine-for-tests.ts';
import { newId } from '../../base/new-id.ts';
import type { Attempt, AttemptEnd, Backend } from '../../contract/backend.ts';
import { type BackendEnvironment, makeAttempt } from '../../testing/backend-suite.ts';
import { createDockerBackend, type DockerOptions } from './docker-backend.ts';

export interface DockerEnvironment extends BackendEnvironment {
  readonly scope: string;
  /** Makes an attempt and runs it to its end. */
  run(
    script: string,
    wanted?: Parameters<typeof makeAttempt>[2],
  ): Promise<{ readonly attempt: Attempt; readonly end: AttemptEnd }>;
}

type OpenOptions = Partial<DockerOptions> & { readonly root?: string; readonly image?: string };

/** Opens a backend for one test, which closes it. */
export const openerOn =
  (docker: EngineForTests<DockerEngine>) =>
  async (test: TestContext, options: OpenOptions = {}): Promise<DockerEnvironment> => {
    const env = await openDocker(await docker.engine(), options);
    test.after(env.close);
    return env;
  };

export async function openDocker(
  { socket, images }: Pick<DockerEngine, 'socket' | 'images'>,
  options: OpenOptions = {},
): Promise<DockerEnvironment> {
  const { root = mkdtempSync(join(tmpdir(), 'haft-docker-test-')), image = images.busybox, ...own } = options;
  const scope = own.scope ?? newId('scope');
  const opened: Backend[] = [];
  const reopen = () => {
    const backend = createDockerBackend({ socket, scope, images: [image], ...own });
    opened.push(backend);
    return backend;
  };
  const backend = reopen();
  return {
    backend,
    scope,
    reopen: async () => reopen(),
    root,
    image,
    async run(script, wanted) {
      const attempt = await makeAttempt({ root, image }, script, wanted);
      const handle = await backend.start(attempt);
      return { attempt, end: await handle.wait(AbortSignal.timeout(60_000)) };
    },
    async close() {
      await reopen()
        .reap(async () => false)
        .catch(() => {});
      await Promise.all(opened.map((one) => one.close()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

type Spec = { HostConfig: Record<string, unknown> } & Record<string, unknown>;

/** Leaves a container that was created and not started, as a process does that dies between the two. */
export async function dieBeforeStart(
  { socket }: Pick<DockerEngine, 'socket'>,
  { scope, image = '' }: DockerEnvironment,
  attempt: Attempt,
): Promise<void> {
  const asked = Promise.withResolvers<void>();
  const between = await disobedientEngine(
    socket,
    () => {},
    (path) => {
      if (!path.endsWith('/start')) return false;
      asked.resolve();
      return true;
    },
  );
  const backend = createDockerBackend({ socket: between.socket, scope, images: [image] });
  backend.start(attempt).catch(() => {});
  await asked.promise;
  await backend.close();
  await between.close();
}

/** Hands requests on to an engine, changes what containers are created as, and loses what it is told to lose. */
export async function disobedientEngine(
  socket: string,
  change: (spec: Spec) => void,
  loses: (path: string) => boolean = () => false,
): Promise<{ readonly socket: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'haft-engine-'));
  const own = join(folder, 'engine.sock');
  const server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk);
    let body = Buffer.concat(chunks);
    if (asked.url?.startsWith('/containers/create')) {
      const spec = JSON.parse(body.toString()) as Spec;
      change(spec);
      body = Buffer.from(JSON.stringify(spec));
    }
    const { method, url: path = '' } = asked;
    if (loses(path)) return;
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const onward = request({ socketPath: socket, method, path, headers }, (heard) => {
      answer.writeHead(heard.statusCode ?? 500, heard.headers);
      heard.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    onward.end(body);
  });
  await new Promise<void>((done) => server.listen(own, done));
  return {
    socket: own,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      rmSync(folder, { recursive: true });
    },
  };
}
