// Owns: how results are told: a line on the terminal, and RESULTS.md with the machine, the date and every ratio.
// Refuses: to leave out what was missed.
import { readFileSync, statfsSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import type { Figure, Goal, Line, Subject, Summary } from './measure.ts';

export interface Results {
  readonly subjects: readonly Subject[];
  readonly lines: readonly Line[];
  /** Names of subjects that could not be measured to their end. */
  readonly failed: readonly string[];
  readonly seconds: number;
  readonly quick: boolean;
  /** The machine's load before the run began: what else it had to do. */
  readonly load: number;
}

export function report({ subjects, lines, failed, seconds, quick, load }: Results): string {
  const goals = lines.filter(({ goal }) => goal);
  const missed = goals.filter(({ met }) => !met);
  return [
    '# Benchmark results',
    '',
    `Written by \`node bench/run.ts --write\`; do not edit. ${new Date().toISOString().slice(0, 10)}, ${quick ? 'quick run, ' : ''}${seconds} s.`,
    '',
    machine(),
    ...(load > BUSY ? ['', busy(load)] : []),
    '',
    `**${goals.length - missed.length} of ${goals.length} goals met.** ${missedSentence(missed)}`,
    ...failed.map((name) => `\n**${name} could not be measured.**`),
    '',
    'Contenders take turns: after a warm-up round each, they are measured in interleaved rounds. A figure is the median of its',
    'rounds; the ratio is the median of the ratios of each round, with its quartiles in brackets. For times and memory less than 1',
    'is better, for rates more than 1.',
    ...subjects.flatMap((subject) =>
      section(
        subject,
        lines.filter((line) => line.subject === subject.name),
      ),
    ),
    '',
  ].join('\n');
}

/** Above this, other programs take so much of the machine that contenders with more threads look better. */
const BUSY = 0.7;

const busy = (load: number) =>
  `**The machine was busy with other work when the run began (load ${load.toFixed(1)}): take these figures for a hint, and run again.**`;

const missedSentence = (missed: readonly Line[]) =>
  missed.length === 0
    ? 'None is missed.'
    : `Missed: ${missed.map((line) => `${line.subject}, ${line.comparison} (${FIGURES[line.figure].name} ${times(line.ratio.median)}, goal ${goalText(line.goal!)})`).join('; ')}.`;

function section({ name, about }: Subject, lines: readonly Line[]): string[] {
  const rows = lines.map(
    (line) =>
      `| ${line.comparison} | ${FIGURES[line.figure].name} | ${side(line, line.ours)} | ${line.peer.name} | ${side(line, line.peer)} | ` +
      `${times(line.ratio.median)} (${line.ratio.low.toFixed(2)}–${line.ratio.high.toFixed(2)}) | ${line.goal ? goalText(line.goal) : '–'} | ${verdict(line)} |`,
  );
  return [
    '',
    `## ${name}`,
    '',
    about,
    '',
    '| what | figure | Haft | peer | its figure | ratio | goal | |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ];
}

export const describeLine = (line: Line): string =>
  `${line.comparison}: ${FIGURES[line.figure].name} ${side(line, line.ours)}, ${line.peer.name} ${side(line, line.peer)}: ` +
  `${times(line.ratio.median)} (${line.ratio.low.toFixed(2)}–${line.ratio.high.toFixed(2)})` +
  (line.goal ? `, goal ${goalText(line.goal)}: ${verdict(line)}` : '');

const verdict = ({ met }: Line) => (met === null ? '' : met ? 'met' : '**missed**');
const goalText = ({ ratio, value }: Goal) => `${SIGNS[ratio]} ${value}×`;
const times = (ratio: number) => `${ratio.toFixed(2)}×`;
const side = ({ figure }: Line, { value, p95 }: Summary) =>
  FIGURES[figure].show(value) + (p95 === null ? '' : ` (p95 ${FIGURES[figure].show(p95)})`);

const SIGNS: Readonly<Record<Goal['ratio'], string>> = { '<=': '≤', '<': '<', '>=': '≥', '>': '>' };

const time = (ms: number) =>
  ms < 1 ? `${(ms * 1000).toFixed(1)} µs` : ms < 100 ? `${ms.toFixed(2)} ms` : `${ms.toFixed(0)} ms`;

const FIGURES: Readonly<Record<Figure, { readonly name: string; show(value: number): string }>> = {
  each: { name: 'time per call', show: time },
  p50: { name: 'p50', show: time },
  p95: { name: 'p95', show: time },
  rate: {
    name: 'throughput',
    show: (rate) => `${rate.toLocaleString('en', { maximumFractionDigits: rate < 100 ? 1 : 0 })}/s`,
  },
  rss: { name: 'resident memory', show: (mib) => `${mib.toFixed(1)} MiB` },
};

function machine(): string {
  const [first] = cpus();
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  return `Machine: ${cpus().length} × ${first?.model ?? 'unknown processor'}, ${gib} GiB of memory, ${distribution()}, kernel ${release()}, Node ${process.versions.node}, files on ${fileSystem()}.`;
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? process.platform;
  } catch {
    return process.platform;
  }
}

/** Durable writes cost nothing on a file system in memory: the reader should know. */
function fileSystem(): string {
  const { type } = statfsSync(tmpdir());
  return FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`;
}

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  16914836: 'tmpfs (in memory: durability costs nothing here)',
  2035054128: 'overlayfs',
};
