// Owns: the docker backend: attempts as containers of an engine reached over its socket, Docker's or Podman's.
// Refuses: the docker command, images that policy does not name, and a container that nobody can look at from inside.
import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { admitsImage, digestOf, fullName, goesBy, repositoryOf } from '../../base/image-reference.ts';
import { orAborted } from '../../base/or-aborted.ts';
import type { Attempt, AttemptEnd, Backend, BackendHandle, PinnedImage } from '../../contract/backend.ts';
import { failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { imagesFor } from '../../contract/policy-match.ts';
import { parseImageEnv, type Variables } from '../../contract/run-environment.ts';
import { BUSYBOX_PLACES } from '../entry-script.ts';
import { readJson } from '../write-once.ts';
import { attemptFiles, chooseUser, recordEnd } from './attempt-folder.ts';
import { createReaders, followLog, type Readers } from './attempt-log.ts';
import { type Conduct, conduct } from './conduct.ts';
import {
  endOfTrouble,
  inspectContainer,
  listContainers,
  patiently,
  removeContainer,
  withoutEngine,
} from './container.ts';
import { containerName, type DockerOptions, LABELS, resolveOptions, type Site } from './container-spec.ts';
import { createEngineApi, type EngineApi, isEngineTrouble } from './engine-api.ts';

export type { DockerOptions };

export function createDockerBackend(given: DockerOptions): Backend {
  const options = resolveOptions(given);
  const api = createEngineApi(options.socket);
  const readers = createReaders();
  const closing = new AbortController();
  const removals = new Set<Promise<void>>();
  const desk = {
    api,
    options,
    readers,
    closing: closing.signal,
    onRemoving(removal: Promise<void>) {
      removals.add(removal);
      void removal.finally(() => removals.delete(removal));
    },
  };
  const patience = <T>(action: () => Promise<T>) =>
    patiently(action, { ms: options.patienceMs, closing: closing.signal });
  const siteOf = siteFinder(api, options);

  /** One for each attempt of this process, however many ask. */
  const conducts = new Map<string, Promise<Conduct>>();
  const join = (attempt: Attempt): Promise<Conduct> => {
    const known = conducts.get(attempt.id);
    if (known) return known;
    const joined = patience(() => siteOf(attempt)).then((site) => conduct(desk, attempt, site));
    conducts.set(attempt.id, joined);
    const forget = () => conducts.delete(attempt.id);
    joined.then(({ ended }) => ended).then(forget, forget);
    return joined;
  };
  const underWay = async (attempt: Attempt): Promise<BackendHandle> => {
    const { begun, ended, cancel } = await join(attempt);
    await begun;
    return attemptHandle(desk, attempt, ended, cancel);
  };
  const over = (attempt: Attempt, end: AttemptEnd): BackendHandle =>
    attemptHandle(desk, attempt, Promise.resolve(end), async () => {});
  const endedBefore = async (attempt: Attempt): Promise<BackendHandle | undefined> => {
    if (!/^[A-Za-z0-9][\w.-]*$/.test(attempt.id))
      throw fail('usage', `Cannot use the attempt "${attempt.id}": its id names no container`);
    const end = await readJson<AttemptEnd>(attemptFiles(attempt.folder).end);
    return end && over(attempt, end);
  };

  return {
    name: 'docker',
    async start(attempt) {
      const ended = await endedBefore(attempt);
      if (ended) return ended;
      try {
        if (await patience(() => requireImage(api, attempt, options.images))) return await underWay(attempt);
        const end = failedEnd('infrastructure.image', notThere('run', attempt.plan.image));
        return over(attempt, await recordEnd(attempt.folder, end));
      } catch (thrown) {
        if (!isEngineTrouble(thrown) || closing.signal.aborted) throw thrown;
        // Nothing was begun, and nothing will be.
        const end = endOfTrouble(Object.assign(thrown, { sent: false }), false);
        return over(attempt, await recordEnd(attempt.folder, end));
      }
    },
    async find(attempt) {
      const ended = await endedBefore(attempt);
      if (ended) return ended;
      const state =
        conducts.has(attempt.id) ||
        (await patience(() => inspectContainer(api, containerName(attempt.id))).catch(withoutEngine));
      // Its end may have been recorded, and it may have been removed, since then.
      return state ? underWay(attempt) : endedBefore(attempt);
    },
    async reap(isOpen) {
      const gone: string[] = [];
      const label = `${LABELS.scope}=${options.scope}`;
      for (const { id, labels } of await patience(() => listContainers(api, label)).catch(withoutEngine)) {
        const attemptId = labels[LABELS.attempt] ?? '';
        if (await isOpen(attemptId)) continue;
        if (await patience(() => removeContainer(api, id)).catch(withoutEngine)) gone.push(attemptId);
      }
      return gone;
    },
    probe: () => describeEngine(api).catch(withoutEngine),
    pinImage: (reference) => patience(() => pinImage(api, reference)).catch(withoutEngine),
    async knowsName(image) {
      const found = await inspectImage(api, image).catch(withoutEngine);
      return found && goesBy(image, namesOf(found));
    },
    imageEnv: (image) => imageEnv(api, image).catch(withoutEngine),
    async close() {
      await Promise.all(removals);
      closing.abort(new Error('the backend is closed'));
      await api.close();
    },
  };
}

/** What holds for a container on this machine and engine. */
function siteFinder(
  api: EngineApi,
  { busybox: given, user }: Pick<DockerOptions, 'busybox' | 'user'>,
): (attempt: Attempt) => Promise<Site> {
  let known: Omit<Site, 'user' | 'imageEnv'> | undefined;
  const envs = new Map<string, Promise<Variables>>();
  // An image that is pinned never says anything else.
  const envOf = async (image = ''): Promise<Variables> => {
    const found = envs.get(image) ?? imageEnv(api, image).then((env) => env ?? {});
    envs.set(image, found);
    found.catch(() => envs.delete(image));
    return found;
  };
  return async ({ plan }) => {
    const busybox = known?.busybox ?? findBusybox(given);
    if (busybox === undefined) throw fail('sandbox.unavailable', NO_BUSYBOX);
    known ??= { busybox, engine: await engineKind(api), network: readlinkSync('/proc/self/ns/net') };
    return { ...known, user: chooseUser(user), imageEnv: await envOf(plan.image) };
  };
}

const NO_BUSYBOX =
  'Cannot look at containers from inside: this machine has no statically linked busybox (apt-get install busybox-static)';

interface VersionBody {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly Components?: readonly { readonly Name?: string }[];
}

async function engineVersion(api: EngineApi): Promise<VersionBody> {
  const { body } = await api.call('GET', '/version');
  return (body ?? {}) as VersionBody;
}

async function engineKind(api: EngineApi): Promise<Site['engine']> {
  const { Components } = await engineVersion(api);
  return Components?.some(({ Name }) => /podman/i.test(Name ?? '')) ? 'podman' : 'docker';
}

async function describeEngine(api: EngineApi): Promise<string> {
  const { Version = 'of unknown version', ApiVersion = '?' } = await engineVersion(api);
  return `${(await engineKind(api)) === 'podman' ? 'Podman' : 'Docker'} ${Version} answers (API ${ApiVersion})`;
}

type OnChunk = Parameters<BackendHandle['follow']>[0];

function attemptHandle(
  { api, readers }: { readonly api: EngineApi; readonly readers: Readers },
  attempt: Attempt,
  ended: Promise<AttemptEnd>,
  cancel: () => Promise<void>,
): BackendHandle {
  let isOver = false;
  const settled = () => {
    isOver = true;
  };
  ended.then(settled, settled);
  const read = async (onChunk: OnChunk, signal: AbortSignal) => {
    const guarded: OnChunk = (stream, chunk) => {
      if (!signal.aborted) onChunk(stream, chunk);
    };
    // Once it is over its log is kept; the container is going, and some engines then answer an empty log.
    if (!isOver && (await followLog(api, containerName(attempt.id), guarded, signal))) return;
    await ended;
    guarded('stdout', await readFile(attemptFiles(attempt.folder).log));
  };
  return {
    attemptId: attempt.id,
    wait: (signal) => orAborted(ended, signal),
    cancel,
    follow(onChunk) {
      const stop = new AbortController();
      readers.add(
        attempt.id,
        read(onChunk, stop.signal).catch(() => {}),
      );
      return () => stop.abort();
    },
  };
}

export function findBusybox(given?: string): string | undefined {
  return (given === undefined ? BUSYBOX_PLACES : [given]).find(isStatic);
}

/** Of an ELF file of 64 bits, little-endian, as all machines that Haft runs on have them. */
function isStatic(path: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return false;
  }
  try {
    const head = Buffer.alloc(4096);
    const length = readSync(fd, head, 0, head.length, 0);
    if (length < 64 || head.readUInt32BE(0) !== ELF || head[4] !== 2 || head[5] !== 1) return false;
    const [at, size, count] = [
      Number(head.readBigUInt64LE(32)),
      head.readUInt16LE(54),
      head.readUInt16LE(56),
    ];
    if (at + size * count > length) return false;
    return Array.from({ length: count }, (_, n) => head.readUInt32LE(at + n * size)).every(
      (type) => type !== INTERPRETER,
    );
  } finally {
    closeSync(fd);
  }
}

const ELF = 0x7f454c46;
const INTERPRETER = 3;

/** `name@sha256:…` or `sha256:…` */
const PINNED = /^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/;

/**
 * Throws unless the image is pinned and policy admits it. What an entry does not name by digest is what the engine calls so:
 * Podman takes any name before a digest. False where policy admits the name and the engine has no such image.
 */
async function requireImage(
  api: EngineApi,
  { tool, plan: { image } }: Attempt,
  images: DockerOptions['images'],
): Promise<boolean> {
  if (image === undefined || !PINNED.test(image))
    throw fail(
      'policy.denied',
      `Cannot run the image ${JSON.stringify(image ?? null)}: it is not pinned by a digest`,
    );
  const entries = imagesFor(tool, images).map((entry) => entry.image);
  const admitting = entries.filter((entry) => admitsImage(entry, image));
  if (admitting.some((entry) => digestOf(entry) !== undefined)) return true;
  const found = await inspectImage(api, image);
  if (admitting.length > 0 && (!found || goesBy(image, namesOf(found)))) return found !== undefined;
  const tags = found ? tagsOf(found) : [];
  const isBare = image.startsWith('sha256:');
  const admits = (entry: string) =>
    tags.some((tag) => (isBare ? admitsImage(entry, tag) : fullName(entry) === fullName(tag)));
  if (entries.some(admits)) return true;
  const why =
    admitting.length > 0
      ? 'the engine does not have that digest under that name; admit the digest, or pull the image under that name'
      : 'policy does not name it';
  throw fail('policy.denied', `Cannot run the image "${image}": ${why}`, { image });
}

const notThere = (action: 'run' | 'pin', image: string | undefined): string =>
  `Cannot ${action} the image "${image}": the engine does not have it; pull or load it there first`;

/**
 * By the digest of its own repository where it has one, else of any, else by its id. What Podman calls the digest of an
 * image that nobody pushed is its own invention: by its id the image is the same on every engine.
 */
async function pinImage(api: EngineApi, reference: string): Promise<PinnedImage> {
  const found = await inspectImage(api, reference);
  if (!found) throw fail('run.infrastructure', notThere('pin', reference));
  const repository = repositoryOf(fullName(reference));
  const digests = (found.RepoDigests ?? []).filter((digest) => !digest.startsWith(UNPUSHED)).sort();
  const own = digests.find((digest) => repositoryOf(fullName(digest)) === repository) ?? digests[0];
  return own === undefined ? { image: found.Id, by: 'image_id' } : { image: own, by: 'repository_digest' };
}

/** What an image says of the environment; undefined where the engine does not have it. */
async function imageEnv(api: EngineApi, image: string): Promise<Variables | undefined> {
  const found = await inspectImage(api, image);
  return found && parseImageEnv(found.Config?.Env ?? []);
}

/** Where Podman puts images that no registry has. */
const UNPUSHED = 'localhost/';

/** And its id, which names it on this engine as well. */
const tagsOf = ({ RepoTags, Id }: ImageBody): readonly string[] => [
  ...(RepoTags ?? []).map((tag) => (tag.startsWith(UNPUSHED) ? tag.slice(UNPUSHED.length) : tag)),
  Id,
];

const namesOf = ({ RepoTags, RepoDigests }: ImageBody): readonly string[] => [
  ...(RepoTags ?? []),
  ...(RepoDigests ?? []),
];

interface ImageBody {
  readonly Id: string;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
  readonly Config?: { readonly Env?: readonly string[] | null } | null;
}

async function inspectImage(api: EngineApi, reference: string): Promise<ImageBody | undefined> {
  const { status, body } = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  if (status !== 200) return undefined;
  const { Id, ...rest } = body as ImageBody;
  return { Id: Id.startsWith('sha256:') ? Id : `sha256:${Id}`, ...rest };
}
