// Owns: telling capabilities what changed: by calls of this runtime, by their programs, and by calls of other processes.
// Refuses: to let a change go untold: where it cannot be said what changed, everything may have, and who cannot follow starts anew.
import { createTurns, type InTurn } from '../base/turns.ts';
import type { CallScope, Capability, Change, PathChange, TreeScan } from '../contract/capability.ts';
import type { Warning } from '../contract/envelope.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { AuditRow } from '../contract/store.ts';
import { startDeadline } from './limits.ts';
import { type CallRecord, shownError, writeFault } from './record.ts';

/** What `open` made, made once: single-flight, and anew after a failure. */
export interface Life {
  readonly capability: Capability;
  /** Undefined while nobody needs it. */
  readonly opened: Promise<unknown> | undefined;
  open(): Promise<unknown>;
  close(): Promise<void>;
}

export interface FollowedCall {
  readonly record: CallRecord;
  readonly engine: PolicyEngine;
}

export interface Follower {
  during(call: FollowedCall, work: () => Promise<unknown>): Promise<unknown>;
  /** What a capability opened, once it knows what other processes changed since. */
  state(life: Life, callId: string): Promise<unknown>;
}

type Parts = Pick<RuntimeParts, 'root' | 'store' | 'clock' | 'newId' | 'events' | 'process' | 'scanTree'>;
type Roots = Pick<CallScope, 'root' | 'extraRoots'>;

/** How long one capability may take to follow one call. */
const TELL_MS = 30_000;
/** More differences, or rows of other processes, than this: everything is looked at again. */
const MOST = 10_000;

interface Told {
  readonly life: Life;
  /** One thing at a time is told. */
  readonly inTurn: InTurn;
  /** The rows of the audit up to here are known. */
  seen: number;
  /** Calls that it was told of when they ended; their rows say nothing new. */
  readonly own: Set<string>;
}

export function createFollower(parts: Parts, lives: readonly Life[]): Follower {
  const all = new Map(
    lives.map((life): [Life, Told] => [life, { life, inTurn: createTurns(), seen: 0, own: new Set() }]),
  );
  const isWanted = () => lives.some(({ opened }) => opened !== undefined);
  const inScan = createTurns();
  /** As the files were when somebody last looked: what differs from it has changed since. */
  let known: TreeScan | undefined;

  const scan = (roots: Roots) => parts.scanTree(roots).catch(() => undefined);

  const foundBy = (roots: Roots): Promise<readonly PathChange[]> =>
    inScan(async () => {
      const before = known;
      known = await scan(roots);
      return before && known ? differences(before, known) : everything(roots);
    });

  /** Where it throws, the state is given up: it may answer what is no longer so. */
  const tell = async (
    { life }: Told,
    changes: readonly PathChange[],
    callId: string,
    warn?: (warning: Warning) => void,
  ): Promise<void> => {
    const opened = await life.opened?.then(
      (state) => ({ state }),
      () => undefined,
    );
    if (!opened || changes.length === 0) return;
    const { name } = life.capability;
    const deadline = startDeadline(name, TELL_MS, undefined);
    try {
      deadline.arm();
      const told = life.capability.changed?.(changes, opened.state, deadline.signal);
      await Promise.race([told, deadline.aborted]);
    } catch (thrown) {
      const error = shownError(parts, thrown);
      await life.close().catch((fault) => shownError(parts, fault));
      const message = `the capability "${name}" could not follow the change and is opened anew: ${error.message}`;
      warn?.({ reason: 'capability.failed', message });
      await writeFault(parts, { capability: name, callId, error });
    } finally {
      deadline.clear();
    }
  };

  /** What others recorded since: other processes, and other runtimes of this one. */
  const catchUp = async (told: Told, callId: string): Promise<void> => {
    const { audit } = parts.store;
    const { count } = await audit.head();
    const due = count - told.seen;
    const rows = due > 0 && due <= MOST ? await audit.rows({ afterSeq: told.seen }) : [];
    told.seen = Math.max(count, rows.at(-1)?.seq ?? 0);
    const theirs = due > MOST ? EVERYTHING : rows.flatMap((row) => changesIn(row, told.own));
    if (due > MOST) told.own.clear();
    await tell(told, theirs, callId);
  };

  return {
    async during({ record, engine }, work) {
      const isProgram = record.effects.some(({ kind }) => kind === 'exec');
      const roots = { root: parts.root, extraRoots: engine.loaded.resolved?.extraRoots ?? [] };
      if (isProgram && isWanted())
        await inScan(async () => {
          known ??= await scan(roots);
        });
      try {
        return await work();
      } finally {
        if (isWanted() && (isProgram || record.intended)) {
          const changes = isProgram ? await foundBy(roots) : changesOf(record);
          const warn = (warning: Warning) => void record.warnings.push(warning);
          for (const told of all.values()) {
            if (told.life.opened) told.own.add(record.callId);
            await told.inTurn(() => tell(told, changes, record.callId, warn));
          }
        }
      }
    },
    async state(life, callId) {
      const told = all.get(life)!;
      if (!life.opened) {
        const { count } = await parts.store.audit.head();
        if (!life.opened) told.seen = count;
      }
      await life.open();
      await told.inTurn(() => catchUp(told, callId));
      return life.open();
    },
  };
}

/** What a tool of ours changed it recorded; of others, all that they said they would write may be different. */
function changesOf({ changes, effects }: Pick<AuditRow, 'changes' | 'effects'>): readonly PathChange[] {
  if (changes.length > 0) return changes.flatMap(placesOf);
  return effects.flatMap((effect) =>
    effect.kind === 'fs.write' ? [{ path: effect.path, tree: effect.tree === true }] : [],
  );
}

function changesIn(row: AuditRow, own: Set<string>): readonly PathChange[] {
  if (row.phase !== 'outcome' || own.delete(row.callId)) return [];
  return row.effects.some(({ kind }) => kind === 'exec') ? EVERYTHING : changesOf(row);
}

function placesOf({ path, movedFrom, before, after }: Change): readonly PathChange[] {
  const tree = before?.type === 'dir' || after?.type === 'dir';
  return [path, ...(movedFrom === undefined ? [] : [movedFrom])].map((one) => ({ path: one, tree }));
}

const EVERYTHING: readonly PathChange[] = [{ path: '.', tree: true }];

const everything = ({ extraRoots }: Roots): readonly PathChange[] => [
  ...EVERYTHING,
  ...extraRoots.map((path) => ({ path, tree: true })),
];

function differences(before: TreeScan, after: TreeScan): readonly PathChange[] {
  const found: PathChange[] = [];
  for (const [path, stamp] of after)
    if (before.get(path) !== stamp) found.push({ path, tree: stamp.startsWith('d') });
  for (const [path, stamp] of before) if (!after.has(path)) found.push({ path, tree: stamp.startsWith('d') });
  if (found.length > MOST) return EVERYTHING;
  const trees = new Set(found.flatMap(({ path, tree }) => (tree ? [path] : [])));
  return found.filter(({ path }) => !isBelowOne(trees, path));
}

function isBelowOne(trees: ReadonlySet<string>, path: string): boolean {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (trees.has(path.slice(0, at))) return true;
  return false;
}
