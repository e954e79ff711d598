// Owns: the words of a plan: steps that can be taken and taken back, and the changes that they amount to.
// Refuses: to plan (plan-*.ts) or to act (apply.ts).
import type { BigIntStats } from 'node:fs';
import type { Change, EntryState } from '../../../contract/capability.ts';
import type { ObjectId } from '../../../contract/object-store.ts';
import type { Place } from '../root.ts';
import type { Given, Owner } from './ownership.ts';

/** What must be at a place right before a step: this very thing, nothing, or whatever an earlier step put there. */
export type Expected = BigIntStats | 'nothing' | 'planned';

/** What a file or link is made of. */
export type Content =
  | { readonly bytes: Uint8Array }
  | { readonly object: ObjectId; readonly size: number }
  | { readonly copyOf: Place; readonly stat: BigIntStats }
  | { readonly target: string };

export interface MakeFolder extends Given {
  readonly do: 'makeFolder';
  readonly place: Place;
  /** Exactly this mode; otherwise the folder is simply new. */
  readonly exact: boolean;
}

export interface RemoveFolder extends Given {
  readonly do: 'removeFolder';
  readonly place: Place;
}

/** Puts a staged file or link in place, replacing a file or link. */
export interface Put {
  readonly do: 'put';
  readonly place: Place;
  readonly content: Content;
  readonly mode: number;
  readonly owner?: Owner;
  readonly expected: Expected;
  readonly mustCreate: boolean;
  /** An existing folder of the same file system, at or above the place, to stage in. */
  readonly stageIn: Place;
}

/** Removes a file, a link or (with its fingerprint) a whole tree. */
export interface Remove {
  readonly do: 'remove';
  readonly place: Place;
  readonly expected: Expected;
  readonly fingerprint?: string;
}

export interface Rename {
  readonly do: 'rename';
  readonly place: Place;
  readonly from: Place;
  readonly expectedFrom: Expected;
  readonly expected: Expected;
  /** What an empty folder that gives way has. */
  readonly replacesFolder?: Given;
}

export type Step = MakeFolder | RemoveFolder | Put | Remove | Rename;

/** A change whose states are known once pre-images are read and copies are staged; until then `after` is undefined. */
export interface PlannedChange extends Pick<Change, 'path' | 'movedFrom' | 'fingerprint'> {
  readonly before: Promise<Before>;
  readonly after: () => EntryState | null | undefined;
}

export interface Before {
  readonly state: EntryState | null | undefined;
  readonly stored: boolean;
}
