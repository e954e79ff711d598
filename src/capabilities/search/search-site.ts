// Owns: what an engine gets to work with, and what it answers.
// Refuses: to favour one; both engines see the same site.
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import type { SearchResult } from '../../contract/search.ts';
import type { Place } from './place.ts';
import type { Selection } from './selection.ts';

export interface SearchSite {
  readonly scope: CallScope;
  /** The guarded handle of the same call. */
  readonly files: FsHandle;
  readonly selection: Selection;
  readonly place: Place;
}

export interface Outcome extends SearchResult {
  /** The answer is truncated because it would have been too large. */
  readonly full: boolean;
  readonly notes: SearchNotes;
}

/** What was left out, and how often. */
export interface SearchNotes {
  /** Files and folders that could not be read. */
  readonly unreadable?: number;
  /** Files whose names are not UTF-8. */
  readonly unnamed?: number;
  /** Matches in lines too long to be read. */
  readonly oversized?: number;
}
