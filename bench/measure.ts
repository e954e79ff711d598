// Owns: how contenders are compared: interleaved rounds, medians, the ratio and whether it meets its goal.
// Refuses: to know what is measured; a subject brings its contenders and its goals.

/** What one round found. Times in milliseconds. */
export interface Figures {
  /** Elapsed time divided by calls: what one call costs when many are in flight. */
  readonly each?: number;
  readonly p50?: number;
  readonly p95?: number;
  /** Calls a second. */
  readonly rate?: number;
  /** Resident memory in MiB. */
  readonly rss?: number;
}

export type Figure = keyof Figures;

/** A goal for the first contender of a comparison, as a ratio to the contender that `of` names. */
export interface Goal {
  readonly figure: Figure;
  readonly ratio: '<=' | '<' | '>=' | '>';
  readonly value: number;
  readonly of: string;
}

/** How long a run may take: `slice` is the time that one phase of one round lasts. */
export interface Scale {
  readonly quick: boolean;
  readonly sliceMs: number;
  rounds(full: number): number;
}

/** One round of a contender. */
export type Contender<State> = (state: State, scale: Scale) => Promise<Figures>;

export interface Comparison<State> {
  readonly name: string;
  /** Rounds of a full run; a quick one makes fewer. */
  readonly rounds: number;
  /** Rounds before those, which do not count: one, unless it takes longer until everything is compiled. */
  readonly warmUps?: number;
  /** Ours first. */
  readonly contenders: { readonly [name: string]: Contender<State> };
  readonly goals: readonly Goal[];
  /** Figures that are worth a line although no goal is set for them. */
  readonly also?: readonly Omit<Goal, 'ratio' | 'value'>[];
}

/** One subject: a file below `subjects/`, measured in a process of its own. */
export interface Subject<State = unknown> {
  readonly name: string;
  /** What it belongs to, where several are asked for together: `run.ts GROUP`. */
  readonly group?: string;
  /** For the reader of the results: what is measured, and how. */
  readonly about: string;
  readonly comparisons: readonly Comparison<State>[];
  open(scale: Scale): Promise<State>;
  close(state: State): Promise<void>;
}

export interface Line {
  readonly subject: string;
  readonly comparison: string;
  readonly figure: Figure;
  readonly ours: Summary;
  readonly peer: Summary;
  /** Median of the rounds' ratios, and how far they lie apart. */
  readonly ratio: Spread;
  readonly goal: Goal | null;
  readonly met: boolean | null;
}

export interface Summary {
  readonly name: string;
  readonly value: number;
  readonly p95: number | null;
}

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Hides the type of a subject's state, so that subjects of all kinds fit into one list. */
export const defineSubject = <State>(subject: Subject<State>): Subject => subject as unknown as Subject;

export const createScale = (quick: boolean): Scale => ({
  quick,
  sliceMs: quick ? 120 : 250,
  rounds: (full) => (quick ? Math.max(3, Math.ceil(full / 3)) : full),
});

/** Measures one comparison: warm-up rounds of every contender, then interleaved rounds. */
export async function compare<State>(
  subject: string,
  comparison: Comparison<State>,
  state: State,
  scale: Scale,
): Promise<readonly Line[]> {
  const contenders = Object.entries(comparison.contenders);
  const found = new Map<string, Figures[]>(contenders.map(([name]) => [name, []]));
  const { warmUps = 1 } = comparison;
  for (let round = -warmUps; round < scale.rounds(comparison.rounds); round++) {
    // Every second round goes backwards, so that no contender always follows the same one.
    const order = round % 2 === 0 ? contenders : contenders.toReversed();
    for (const [name, contender] of order) {
      globalThis.gc?.();
      const figures = await contender(state, scale);
      if (round >= 0) found.get(name)!.push(figures);
    }
  }
  const wanted = [...comparison.goals, ...(comparison.also ?? [])];
  return wanted.map((goal) => toLine(subject, comparison, found, goal));
}

function toLine<State>(
  subject: string,
  comparison: Comparison<State>,
  found: ReadonlyMap<string, readonly Figures[]>,
  wanted: Goal | Omit<Goal, 'ratio' | 'value'>,
): Line {
  const { figure, of } = wanted;
  const [first] = found.keys();
  const ours = found.get(first!)!;
  const peer = found.get(of);
  if (!peer) throw new Error(`${comparison.name} has no contender "${of}"`);
  const ratio = spread(ours.map((figures, round) => figures[figure]! / peer[round]![figure]!));
  const goal = 'value' in wanted ? wanted : null;
  return {
    subject,
    comparison: comparison.name,
    figure,
    ours: summary(first!, ours, figure),
    peer: summary(of, peer, figure),
    ratio,
    goal,
    met: goal && HOLDS[goal.ratio](ratio.median, goal.value),
  };
}

const HOLDS: Readonly<Record<Goal['ratio'], (ratio: number, value: number) => boolean>> = {
  '<=': (ratio, value) => ratio <= value,
  '<': (ratio, value) => ratio < value,
  '>=': (ratio, value) => ratio >= value,
  '>': (ratio, value) => ratio > value,
};

function summary(name: string, rounds: readonly Figures[], figure: Figure): Summary {
  const p95s = rounds.map((round) => round.p95).filter((value) => value !== undefined);
  return {
    name,
    value: percentile(
      rounds.map((round) => round[figure]!),
      0.5,
    ),
    p95: figure === 'p50' && p95s.length > 0 ? percentile(p95s, 0.5) : null,
  };
}

export const spread = (values: readonly number[]): Spread => ({
  median: percentile(values, 0.5),
  low: percentile(values, 0.25),
  high: percentile(values, 0.75),
});

/** Between the two nearest ranks, as most tools do. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('Nothing was measured');
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
