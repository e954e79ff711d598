// Owns: one look at the bell and one squeue for all attempts that somebody waits for, however many there are.
// Refuses: to run while nobody waits, and to take more than a few per cent of a processor: a slow squeue is asked less often.
import { readdir } from 'node:fs/promises';
import { isStuck, type JobRow, jobState, type SlurmClient } from './slurm-client.ts';

export interface Watched {
  readonly name: string;
  /** Whether it should be asked about at once and often: somebody wants it ended. */
  readonly urgent: boolean;
  /** For how many hours it may have been gone, where Slurm's accounting should be asked. */
  readonly missingHours: number | undefined;
  /** Its job has claimed it or ended. */
  rung(): void;
  /** What Slurm shows under its name, and when it was asked, by `performance.now()`. */
  shown(rows: readonly JobRow[], askedAt: number): void;
}

export interface JobWatch {
  /** What it returns ends the watching. */
  add(watched: Watched): () => void;
  /** Asks again without waiting for the next turn. */
  hurry(): void;
}

export interface JobWatchOptions {
  readonly client: Pick<SlurmClient, 'list' | 'history'>;
  /** The folder in which jobs leave a file when they claim an attempt and when they end. */
  readonly bell: string;
  readonly alert: (message: string) => void;
  readonly bellMs?: number;
  /** The shortest time from one squeue to the next. */
  readonly pollMs?: number;
}

const URGENT_MS = 200;
const LONGEST_MS = 30_000;
/** Of the time, squeue may take a fortieth. */
const SHARE = 40;

export function createJobWatch({
  client,
  bell,
  alert,
  bellMs = 200,
  pollMs = 1_000,
}: JobWatchOptions): JobWatch {
  const all = new Map<string, Set<Watched>>();
  const heard = new Set<string>();
  const told = new Set<string>();
  let bellTimer: NodeJS.Timeout | undefined;
  let pollTimer: NodeJS.Timeout | undefined;
  let polling = false;
  let failures = 0;
  let hasHistory = true;

  const each = () => [...all.values()].flatMap((set) => [...set]);

  const listen = async (): Promise<void> => {
    bellTimer = undefined;
    const entries = await readdir(bell).catch(() => []);
    for (const entry of entries) {
      if (heard.has(entry)) continue;
      const watched = all.get(entry.slice(0, entry.indexOf('.')));
      if (!watched) continue;
      heard.add(entry);
      for (const one of watched) one.rung();
    }
    schedule();
  };

  const poll = async (): Promise<void> => {
    pollTimer = undefined;
    polling = true;
    const started = performance.now();
    const asked = each();
    try {
      await tell(asked, await client.list(), started);
      failures = 0;
    } catch (thrown) {
      if (failures++ === 0) alert(`Slurm does not answer: ${(thrown as Error).message}`);
    }
    polling = false;
    const cost = performance.now() - started;
    const calm = Math.min(LONGEST_MS, Math.max(pollMs, cost * SHARE) * 2 ** Math.min(failures, 5));
    schedule(failures === 0 && each().some(({ urgent }) => urgent) ? URGENT_MS : calm);
  };

  const tell = async (asked: readonly Watched[], rows: readonly JobRow[], at: number): Promise<void> => {
    const byName = Map.groupBy(rows, ({ name }) => name);
    const missing = asked.filter(({ name, missingHours }) => missingHours !== undefined && !byName.has(name));
    for (const row of missing.length > 0 && hasHistory ? await history(missing) : [])
      byName.set(row.name, [...(byName.get(row.name) ?? []), row]);
    for (const one of asked) {
      const own = byName.get(one.name) ?? [];
      own.forEach(noteStrange);
      if (all.get(one.name)?.has(one)) one.shown(own, at);
    }
  };

  /** Ends only: what the accounting still calls running is what it has not heard the end of. */
  const history = async (missing: readonly Watched[]): Promise<readonly JobRow[]> => {
    const hours = Math.max(...missing.map(({ missingHours = 0 }) => missingHours));
    const rows = await client.history(
      missing.map(({ name }) => name),
      hours,
    );
    hasHistory = rows !== undefined;
    return (rows ?? []).filter(({ state }) => jobState(state).phase === 'ended');
  };

  const noteStrange = ({ id, state, reason }: JobRow): void => {
    const { phase } = jobState(state);
    if (phase === 'unknown')
      alertOnce(state, `Job ${id} is in a state that is not known here, ${state}; waiting until it changes`);
    if (phase === 'queued' && isStuck(reason))
      alertOnce(id, `Job ${id} will not start as things are: Slurm says ${reason}`);
  };

  const alertOnce = (what: string, message: string): void => {
    if (told.has(what)) return;
    told.add(what);
    alert(message);
  };

  const schedule = (afterMs?: number): void => {
    if (all.size === 0) {
      clearTimeout(bellTimer);
      clearTimeout(pollTimer);
      bellTimer = undefined;
      pollTimer = undefined;
      return;
    }
    bellTimer ??= setTimeout(() => void listen(), bellMs);
    if (!polling) pollTimer ??= setTimeout(() => void poll(), afterMs ?? 0);
  };

  return {
    add(watched) {
      const set = all.get(watched.name) ?? new Set();
      set.add(watched);
      all.set(watched.name, set);
      schedule();
      return () => {
        set.delete(watched);
        if (set.size === 0 && all.get(watched.name) === set) {
          all.delete(watched.name);
          for (const entry of [...heard]) if (entry.startsWith(`${watched.name}.`)) heard.delete(entry);
        }
        schedule();
      };
    },
    hurry() {
      clearTimeout(pollTimer);
      pollTimer = undefined;
      schedule(0);
    },
  };
}
