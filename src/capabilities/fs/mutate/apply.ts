// Owns: taking the steps of a plan, and taking back those that were taken when one fails.
// Refuses: to replace or remove anything but what the plan saw.
import { closeSync, fsync, lstatSync, renameSync } from 'node:fs';
import { constants, copyFile, link, mkdir, rename, rmdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { joinRel, parentOf } from '../../../base/rel-path.ts';
import { enterFolder, fingerprint, leaveFolder, purge, treeEntries } from '../folder-reader.ts';
import { errnoOf, nameIn, nameOf, osFailure, type Place } from '../root.ts';
import type { SyncFolder } from './directory-sync.ts';
import { type Given, giveFolder, type Losses } from './ownership.ts';
import type { Folders } from './pins.ts';
import { alreadyThere, parent } from './planning.ts';
import { changed, isSameVersion } from './preimage.ts';
import type { Staged } from './stage.ts';
import type { Expected, MakeFolder, Put, Remove, RemoveFolder, Rename, Step } from './view.ts';

export interface Application {
  readonly verb: string;
  readonly folders: Folders;
  readonly staged: ReadonlyMap<Put, Staged>;
  readonly signal: AbortSignal;
  readonly tempName: () => string;
  readonly syncFolder: SyncFolder;
  readonly losses: Losses;
  /** Told when something could not be put back or cleared away. */
  readonly onTrouble: (message: string) => void;
}

/** All steps in order and on disk, or none. */
export async function applySteps(steps: readonly Step[], application: Application): Promise<void> {
  const leaving = new Set(
    steps.flatMap((step) => (step.do === 'removeFolder' ? [nameOf(step.place.root, step.place.rel)] : [])),
  );
  const work: Work = {
    ...application,
    alone: steps.length === 1,
    leaving,
    undo: [],
    made: [],
    aside: [],
    touched: new Map(),
  };
  try {
    for (const step of steps) {
      work.signal.throwIfAborted();
      await takeStep(step, work);
    }
    await finishFolders(work);
    await syncAll(work);
  } catch (thrown) {
    await takeBack(work);
    throw thrown;
  }
  for (const aside of work.aside) await clear(work, aside);
}

interface Work extends Application {
  /** The only step: when it fails there is nothing to take back. */
  readonly alone: boolean;
  /** Folders that a step removes, and in which nothing can be put aside. */
  readonly leaving: ReadonlySet<string>;
  readonly undo: (() => Promise<void>)[];
  readonly made: MakeFolder[];
  /** What was put aside. */
  readonly aside: Staged[];
  readonly touched: Map<string, Place>;
}

async function takeStep(step: Step, work: Work): Promise<void> {
  touch(work, parent(step.place));
  try {
    await (TAKE[step.do] as (step: Step, work: Work) => Promise<void>)(step, work);
  } catch (thrown) {
    throw osFailure(thrown, { ...step.place, verb: work.verb });
  }
}

const TAKE: { readonly [K in Step['do']]: (step: Extract<Step, { do: K }>, work: Work) => Promise<void> } = {
  makeFolder,
  removeFolder,
  put,
  remove,
  rename: renameStep,
};

async function makeFolder(step: MakeFolder, work: Work): Promise<void> {
  const { place, mode } = step;
  // Later steps work in it, whatever it may allow in the end.
  const errno = await mkdir(at(work, place), (mode & 0o777) | 0o700).then(() => undefined, errnoOf);
  if (errno !== undefined) {
    // Another call needed the same folder and was faster: then it is not ours to take back.
    if (errno === 'EEXIST' && work.folders.find(place)) return touch(work, place);
    throw Object.assign(new Error(), { code: errno });
  }
  work.made.push(step);
  work.undo.push(async () => {
    work.folders.forget(place);
    await rmdir(at(work, place));
  });
}

/** The folders that were made get their owner and mode, those inside first: one may allow nothing. */
async function finishFolders(work: Work): Promise<void> {
  for (const step of work.made.toReversed()) {
    const { place } = step;
    try {
      const fd = giveFolder(work.folders.open(place).path, step, place, work.losses);
      try {
        await sync(fd);
      } finally {
        closeSync(fd);
      }
    } catch (thrown) {
      throw osFailure(thrown, { ...place, verb: work.verb });
    }
    work.touched.delete(nameOf(place.root, place.rel));
  }
}

const sync = promisify(fsync);

async function removeFolder(step: RemoveFolder, work: Work): Promise<void> {
  const { place } = step;
  work.folders.forget(place);
  await rmdir(at(work, place));
  work.undo.push(() => remake(at(work, place), step, place));
}

async function remake(path: string, given: Given, place: Place): Promise<void> {
  await mkdir(path, 0o700);
  closeSync(giveFolder(path, { ...given, exact: true }, place, []));
}

async function put(step: Put, work: Work): Promise<void> {
  const { place, expected, mustCreate } = step;
  const staged = work.staged.get(step)!;
  touch(work, staged.folder);
  const { path: folder } = work.folders.open(parent(place));
  const to = `${folder}/${nameIn(place.rel)}`;
  check(work, place, expected, to);
  if (mustCreate) {
    await createOnly(pathOf(work, staged), work, place);
  } else {
    const backup = expected === 'nothing' || work.alone ? undefined : await backUp(work, place);
    const { folder: near } = staged;
    const isBeside = near.root === place.root && near.rel === parentOf(place.rel);
    const from = isBeside && !backup ? `${folder}/${staged.name}` : pathOf(work, staged);
    // Giving a file its name takes less time than a hop to the thread pool; freeing the one that had it takes more.
    if (expected === 'nothing') renameSync(from, to);
    else await rename(from, backup ? at(work, place) : to);
    if (backup) {
      work.undo.push(() => rename(pathOf(work, backup), at(work, place)));
      return;
    }
    if (expected !== 'nothing') return;
  }
  work.undo.push(() => unlink(at(work, place)));
}

/** Fails, where a rename would replace, when somebody else was faster. */
async function createOnly(temp: string, work: Work, place: Place): Promise<void> {
  const errno = await link(temp, at(work, place)).then(() => undefined, errnoOf);
  if (errno === undefined) await unlink(temp);
  else if (errno === 'EEXIST') throw alreadyThere(place, work.verb);
  // A file system without hard links.
  else await rename(temp, at(work, place));
}

async function remove({ place, expected, fingerprint: seen }: Remove, work: Work): Promise<void> {
  check(work, place, expected);
  const aside = placeAside(work, place);
  await rename(at(work, place), pathOf(work, aside));
  work.folders.forget(place);
  work.undo.push(() => rename(pathOf(work, aside), at(work, place)));
  if (seen === undefined) return;
  if (fingerprint(await treeAt(work, aside)) !== seen) throw changed(place, work.verb);
}

async function renameStep(step: Rename, work: Work): Promise<void> {
  const { place, from, expected, expectedFrom, replacesFolder } = step;
  touch(work, parent(from));
  check(work, from, expectedFrom);
  check(work, place, expected);
  const isFile = expected !== 'nothing' && replacesFolder === undefined;
  const backup = isFile ? await backUp(work, place) : undefined;
  await rename(at(work, from), at(work, place));
  work.folders.forget(from);
  work.folders.forget(place);
  work.undo.push(async () => {
    work.folders.forget(place);
    await rename(at(work, place), at(work, from));
    if (backup) await rename(pathOf(work, backup), at(work, place));
    if (replacesFolder !== undefined) await remake(at(work, place), replacesFolder, place);
  });
}

async function treeAt(work: Work, { folder: above, name }: Staged) {
  const folder = enterFolder(work.folders.open(above), name);
  if (!folder) throw changed(above, work.verb);
  try {
    return await treeEntries(folder, work.signal);
  } finally {
    leaveFolder(folder);
  }
}

/** A second name for what is about to be replaced, so that the very same file can come back. */
async function backUp(work: Work, place: Place): Promise<Staged> {
  const aside = placeAside(work, place);
  const [from, to] = [at(work, place), pathOf(work, aside)];
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_EXCL));
  return aside;
}

/** A name in the nearest folder that stays, cleared away in the end. */
function placeAside(work: Work, place: Place): Staged {
  let folder = parent(place);
  while (work.leaving.has(nameOf(folder.root, folder.rel))) folder = parent(folder);
  const aside = { folder, name: work.tempName() };
  work.aside.push(aside);
  return aside;
}

async function clear(work: Work, { folder, name }: Staged): Promise<void> {
  try {
    // A step that failed may have put nothing there, and a read-only disk refuses to remove even that.
    const above = work.folders.open(folder);
    if (lstatSync(`${above.path}/${name}`, { throwIfNoEntry: false })) await purge(above, name);
  } catch {
    work.onTrouble(`A leftover "${name}" could not be removed from "${nameOf(folder.root, folder.rel)}"`);
  }
}

function check(work: Work, place: Place, expected: Expected, path = at(work, place)): void {
  if (expected === 'planned') return;
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (expected === 'nothing' ? stat !== undefined : !stat || !isSameVersion(expected, stat))
    throw changed(place, work.verb);
}

function at(work: Work, place: Place): string {
  return pathOf(work, { folder: parent(place), name: nameIn(place.rel) });
}

function pathOf(work: Work, { folder, name }: Staged): string {
  return `${work.folders.open(folder).path}/${name}`;
}

function touch(work: Work, folder: Place): void {
  work.touched.set(nameOf(folder.root, folder.rel), folder);
}

async function syncAll(work: Work): Promise<void> {
  await Promise.all(
    [...work.touched.values()].map(async (place) => {
      const folder = work.folders.find(place);
      if (folder) await work.syncFolder(folder);
    }),
  ).catch((thrown) => {
    throw osFailure(thrown, { ...[...work.touched.values()][0]!, verb: work.verb });
  });
}

async function takeBack(work: Work): Promise<void> {
  let failed = 0;
  for (const undo of work.undo.reverse()) await undo().catch(() => failed++);
  await syncAll(work).catch(() => undefined);
  if (failed === 0) {
    for (const aside of work.aside) await clear(work, aside);
    return;
  }
  // What was put aside may be the only copy by now.
  const names = work.aside.map(({ folder, name }) => nameOf(folder.root, joinRel(folder.rel, name)));
  const where = names.length === 0 ? '' : `; what was there before is in ${names.join(', ')}`;
  work.onTrouble(`${failed} of ${work.undo.length} changes could not be taken back${where}`);
}
