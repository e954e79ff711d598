// Owns: what a terminal gets and a pipe does not: colour, tables that fit its width, local times.
// Refuses: text with control characters: every cell is made harmless before it is painted.
import { oneLine, printable } from '../../contract/terminal-text.ts';

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;

type Hue = keyof typeof CODES;
export type Paint = (hue: Hue, text: string) => string;

/** Of text that is harmless already. */
export const painter = (colour: boolean): Paint =>
  colour ? (hue, text) => (text === '' ? '' : `\x1b[${CODES[hue]}m${text}\x1b[0m`) : (_, text) => text;

/** `--color` decides, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal that has colours. */
export function wantsColour(
  flag: unknown,
  isTerminal: boolean,
  { NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv,
): boolean {
  if (flag === 'always' || flag === 'never') return flag === 'always';
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTerminal && TERM !== 'dumb';
}

/** Columns of the screen that a text takes: what is written wide takes two, a combining mark none. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += NARROW.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

const ASCII = /^[\x20-\x7e]*$/;
const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** The beginning that fits, with a mark where something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let taken = 0;
  for (const character of text) {
    taken += widthOf(character);
    if (taken > width - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

export interface TableStyle {
  readonly paint: Paint;
  /** Cells are cut where the table would be wider; undefined where it may be as wide as it is. */
  readonly columns: number | undefined;
}

const LEAST_COLUMN = 10;
/** What people copy: cut, it would name nothing. Nor would half a time say when. */
const TIME = /^(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:\.\d{3}Z)?$/;
const ID = /^(?:call|act|appr|run|sess|req)_[0-9a-z]{12,}$|^(?:sha256:)?[0-9a-f]{32,}$/;

export function fitTable(
  rows: readonly (readonly string[])[],
  header: readonly string[] | undefined,
  { paint, columns }: TableStyle,
): string {
  const all = (header ? [header, ...rows] : rows).map((row) => row.map(oneLine));
  const widths: number[] = [];
  const keeps: boolean[] = [];
  for (const row of all)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
      keeps[i] ||= ID.test(cell.trim()) || TIME.test(cell.trim());
    });
  if (columns !== undefined) shrink(widths, keeps, columns);
  const states = (header ?? []).map((name) => STATE_COLUMNS.has(name));
  const painted = (cell: string, at: number, isHeader: boolean): string => {
    if (isHeader) return paint('bold', cell);
    const hue = states[at] ? STATES[/^\w*/.exec(cell)![0].toLowerCase()] : ID.test(cell) ? 'dim' : undefined;
    return hue ? paint(hue, cell) : cell;
  };
  return all
    .map((row, r) => {
      const last = row.findLastIndex((cell) => cell !== '');
      const cells = row.slice(0, last + 1).map((cell, i) => {
        const shown = keeps[i] ? cell : cut(cell, widths[i]!);
        const pad = i === last ? '' : ' '.repeat(Math.max(0, widths[i]! - widthOf(shown)));
        return `${painted(shown, i, header !== undefined && r === 0)}${pad}`;
      });
      return `${cells.join('  ')}\n`;
    })
    .join('');
}

/** Takes from the widest column, one at a time, until all of them fit. */
function shrink(widths: number[], keeps: readonly boolean[], columns: number): void {
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - columns;
  while (over > 0) {
    const at = widths.reduce(
      (best, width, i) => (!keeps[i] && width > (best < 0 ? LEAST_COLUMN : widths[best]!) ? i : best),
      -1,
    );
    if (at < 0) return;
    const next = Math.max(LEAST_COLUMN, ...widths.filter((width, i) => !keeps[i] && width < widths[at]!));
    const step = Math.min(over, Math.max(1, widths[at]! - next));
    widths[at]! -= step;
    over -= step;
  }
}

const STATE_COLUMNS: ReadonlySet<string> = new Set(['STATE', 'STATUS', 'OUTCOME', 'HEALTH', 'DECISION']);

const STATES: Readonly<Record<string, Hue>> = {
  ...hued('green', 'ok allow granted succeeded healthy enabled'),
  ...hued('red', 'denied deny failed refused lost unhealthy not'),
  ...hued('yellow', 'pending approve timeout cancelled disabled quarantined degraded running queued unknown'),
};

function hued(hue: Hue, words: string): Record<string, Hue> {
  return Object.fromEntries(words.split(' ').map((word) => [word, hue]));
}

/** A unified diff, or what is written like one. */
export function paintDiff(text: string, paint: Paint): string {
  return printable(text)
    .split('\n')
    .map((line) => {
      const sign = /^(?: {2}\| )?([-+@])/.exec(line)?.[1];
      return sign === '+'
        ? paint('green', line)
        : sign === '-'
          ? paint('red', line)
          : sign
            ? paint('cyan', line)
            : line;
    })
    .join('\n');
}

/** As the clock on the wall: `2026-11-18 15:04:05`; of the day of `today` only the time. */
export function localTime(ts: number, today?: number): string {
  const at = new Date(ts);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const isToday = today !== undefined && new Date(today).toDateString() === at.toDateString();
  return isToday ? time : `${day} ${time}`;
}
