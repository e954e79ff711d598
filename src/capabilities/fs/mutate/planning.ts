// Owns: what every planner of an edit needs: the target, its folders, what was there, whether it is the version that the caller has
// seen, a whole tree on disk before an edit takes it, and the list of steps.
// Refuses: to change anything; a plan that fails leaves no trace but objects in the store. Not a tree that an earlier edit of the
// same mutation has changed, and to tell the hash of a file that the caller may not read.
import { type BigIntStats, lstatSync } from 'node:fs';
import { sha256Hex } from '../../../base/digest.ts';
import { parentOf } from '../../../base/rel-path.ts';
import type { CallScope, EntryState } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { fingerprint, type TreeEntry, treeEntries } from '../folder-reader.ts';
import { lockNameOf, realPlace } from '../real-names.ts';
import type { LastLink, Place, Root } from '../root.ts';
import {
  cannot,
  errnoOf,
  nameIn,
  nameOf,
  osFailure,
  raced,
  refuseTemp,
  spellingOf,
  toPlace,
} from '../root.ts';
import type { Given, Losses } from './ownership.ts';
import type { Folders } from './pins.ts';
import type { PreImages } from './preimage.ts';
import type { ProtectedPlaces } from './protected-places.ts';
import type { Content, Look, PlannedChange, Put, Step, View } from './view.ts';

export type PathEffect = 'fs.read' | 'fs.write';

/** A path of an edit: how the caller named it, and the place it really is. */
export interface Target {
  readonly named: Place;
  readonly place: Place;
  /** What is there on disk, null for nothing, where that had to be looked at anyway. */
  readonly stat?: BigIntStats | null;
}

/** What became of copies when they were staged. */
export type StagedStates = Map<Put, EntryState>;

export interface Planning {
  readonly root: Root;
  readonly scope: CallScope;
  readonly folders: Folders;
  readonly view: View;
  readonly protectedPlaces: ProtectedPlaces;
  readonly preImages: PreImages;
  readonly steps: Step[];
  readonly changes: PlannedChange[];
  readonly staged: StagedStates;
  readonly losses: Losses;
}

/** Admits the path by its name and, where links lead on, by where it really is. */
export function target(
  planning: Planning,
  path: string,
  verb: string,
  kind: PathEffect,
  last: LastLink,
): Target {
  const named = toPlace(planning.root, spellingOf(planning.scope, path), verb);
  admit(planning, kind, named, named);
  const stat = statWithoutLinks(planning, named);
  const place = stat === undefined ? realPlace(named, verb, last) : named;
  refuseTemp(place, verb);
  if (place.root !== named.root || place.rel !== named.rel) admit(planning, kind, named, place);
  if (kind === 'fs.write') {
    refuseUnlocked(planning, named, place, verb);
    planning.protectedPlaces.refuse(place, verb, stat === null || stat?.isFile() === true);
  }
  return stat === undefined ? { named, place } : { named, place, stat };
}

/** Locks were taken where links led before: others may be at work where they lead now. */
function refuseUnlocked({ scope }: Planning, named: Place, place: Place, verb: string): void {
  if (!scope.locked || scope.locked(lockNameOf(place))) return;
  throw fail(
    'path.raced',
    `${cannot({ ...named, verb })}: a link on the way leads to "${nameOf(place.root, place.rel)}", which the call has not locked: the link was changed since the call began, or lies below a folder that the call declared as a whole; try again, or name that path`,
  );
}

/** Most paths: their pinned folder is where its name says, and what is in it is no link. Undefined for the others. */
function statWithoutLinks({ folders }: Planning, named: Place): BigIntStats | null | undefined {
  if (named.rel === '.') return undefined;
  const folder = folders.pin(parent(named));
  if (!folder) return undefined;
  const path = `${folder.path}/${nameIn(named.rel)}`;
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat?.isSymbolicLink() ? undefined : (stat ?? null);
}

/** Admits an entry below a target, for edits of whole trees. */
export function admitBelow(
  planning: Planning,
  kind: PathEffect,
  { named, place }: Target,
  rel: string,
): void {
  admit(planning, kind, below(named, rel), below(place, rel));
  if (kind === 'fs.write') planning.protectedPlaces.refuse(below(place, rel), 'change', false);
}

export function below(place: Place, rel: string): Place {
  return { root: place.root, rel: place.rel === '.' ? rel : `${place.rel}/${rel}` };
}

export function parent(place: Place): Place {
  return { root: place.root, rel: parentOf(place.rel) };
}

/** Every change is recorded with the step that makes it, so that both lists stay in order. */
export function record(
  planning: Planning,
  change: Pick<PlannedChange, 'before' | 'after' | 'fingerprint'> & { place: Place; movedFrom?: Place },
): void {
  const { place, before, after, movedFrom, fingerprint } = change;
  // Awaited when all is planned; until then a failure must not count as unhandled.
  before.catch(() => undefined);
  planning.changes.push({
    path: nameOf(place.root, place.rel),
    before,
    after,
    ...(movedFrom ? { movedFrom: nameOf(movedFrom.root, movedFrom.rel) } : {}),
    ...(fingerprint ? { fingerprint } : {}),
  });
}

/** Makes sure that the folder of `place` will be there; plans the missing ones when asked to. */
export function planFolders(planning: Planning, place: Place, verb: string, create: boolean): void {
  const missing: Place[] = [];
  let at = parent(place);
  for (; planning.view.look(at).is === 'nothing'; at = parent(at)) {
    // The root itself is gone: nothing to build on.
    if (at.rel === '.') throw notFound(place, verb, 'its root is gone');
    missing.unshift(at);
  }
  if (planning.view.look(at).type !== 'dir') {
    const blocking = nameOf(at.root, at.rel);
    throw fail('path.not_directory', `${cannot({ ...place, verb })}: "${blocking}" is not a directory`);
  }
  if (missing.length > 0 && !create) {
    const first = nameOf(missing[0]!.root, missing[0]!.rel);
    throw notFound(place, verb, `the folder "${first}" does not exist (create_dirs would create it)`);
  }
  for (const folder of missing) planFolder(planning, folder, { mode: NEW_FOLDER }, false);
}

export const NEW_FOLDER = 0o755;

export function planFolder(planning: Planning, place: Place, given: Given, exact: boolean): void {
  const state: EntryState = { type: 'dir', mode: given.mode };
  const before = planning.preImages.take(place, { is: 'nothing' });
  planning.steps.push({ do: 'makeFolder', place, ...given, exact });
  planning.view.set(place, { type: 'dir', state: () => state });
  record(planning, { place, before, after: () => state });
}

/** Plans a file or link at a place whose folder is planned. */
export function planPut(
  planning: Planning,
  seen: Look,
  put: Pick<Put, 'place' | 'content' | 'mode'> & { mustCreate?: boolean; owner?: Put['owner'] },
): void {
  const { place, content, mode, mustCreate = false, owner } = put;
  if ('target' in content) planning.protectedPlaces.refuseLink(place, 'change');
  const step: Put = {
    do: 'put',
    place,
    content,
    mode,
    expected: seen.is === 'disk' ? seen.stat : seen.is,
    mustCreate,
    stageIn: stagingFolder(planning, place),
    ...(owner ? { owner } : {}),
  };
  const known = stateOfContent(content, mode);
  const state = () => known ?? planning.staged.get(step);
  const before = planning.preImages.take(place, seen);
  planning.steps.push(step);
  planning.view.set(place, { type: 'target' in content ? 'link' : 'file', state, content });
  record(planning, { place, before, after: state });
}

/** Undefined for a copy: its hash is known once it is made. */
function stateOfContent(content: Content, mode: number): EntryState | undefined {
  if ('target' in content) return { type: 'link', target: content.target };
  if ('object' in content) return { type: 'file', object: content.object, size: content.size, mode };
  if (!('bytes' in content)) return undefined;
  const { bytes } = content;
  return { type: 'file', object: `sha256:${sha256Hex(bytes)}`, size: bytes.length, mode };
}

/** The nearest folder above that is on disk now and stays. */
function stagingFolder(planning: Planning, place: Place): Place {
  let at = parent(place);
  while (at.rel !== '.' && planning.view.look(at).is !== 'disk') at = parent(at);
  return at;
}

export function notFound(place: Place, verb: string, fact = 'no such file or folder') {
  return fail('path.not_found', `${cannot({ ...place, verb })}: ${fact}`);
}

export function alreadyThere(place: Place, verb: string) {
  return fail('path.exists', `${cannot({ ...place, verb })}: something is already there`);
}

/** Deciding by name alone would let a link decide: `actual` is asked about as well. */
function admit({ scope }: Planning, kind: PathEffect, named: Place, actual: Place): void {
  const path = nameOf(named.root, named.rel);
  const real = nameOf(actual.root, actual.rel);
  if (path === real) scope.admit({ kind, path });
  else scope.admit({ kind, path }, { kind, path: real });
}

/** Throws `file.conflict`, with the present hash where there is a file that the caller may read. */
export async function expectHash(
  planning: Planning,
  place: Place,
  seen: Look,
  expected: string | undefined,
  verb: string,
): Promise<void> {
  if (expected === undefined) return;
  const actual = await hashOf(planning, place, seen);
  if (actual === expected.toLowerCase()) return;
  const told = planning.scope.visible(nameOf(place.root, place.rel)) ? actual : undefined;
  const fact = actual === undefined ? 'there is no such file' : whatItIs(told);
  throw fail('file.conflict', `${cannot({ ...place, verb })}: ${expected} was expected, but ${fact}`, {
    expected_sha256: expected,
    actual_sha256: told ?? null,
  });
}

/** Of what has few possible contents, such as a short password, a hash is as good as the content. */
const whatItIs = (hash: string | undefined): string =>
  hash === undefined
    ? 'it is another, which is not told: policy keeps this tool from reading it'
    : `its sha256 is ${hash}`;

async function hashOf(planning: Planning, place: Place, seen: Look): Promise<string | undefined> {
  if (seen.type !== 'file') return undefined;
  if (seen.is === 'disk') return (await planning.preImages.hash(place, seen.stat)).slice('sha256:'.length);
  const state = seen.state();
  return state?.type === 'file' ? state.object.slice('sha256:'.length) : undefined;
}

export async function entriesOf(
  planning: Planning,
  place: Place,
  verb: string,
): Promise<{ readonly entries: readonly TreeEntry[]; readonly fingerprint: string }> {
  const { is } = planning.view.look(place);
  // Who asks for its entries has seen it.
  if (is === 'nothing') throw raced({ ...place, verb });
  if (is !== 'disk' || planning.view.hasPlansBelow(place))
    throw fail('path.invalid', `${cannot({ ...place, verb })}: an earlier edit changes the tree`);
  try {
    const entries = await treeEntries(planning.folders.open(place), planning.scope.signal);
    return { entries, fingerprint: fingerprint(entries) };
  } catch (thrown) {
    throw VANISHED.has(errnoOf(thrown)) ? raced({ ...place, verb }) : osFailure(thrown, { ...place, verb });
  }
}

/** An entry that was there is gone, or is something else by now. */
const VANISHED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EINVAL']);
