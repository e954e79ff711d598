// Owns: how values of sections are hashed, narrowed, compared and shown, where several sections do it alike.
// Not here: which value it is, and what it means.
import type { Effect } from '../contract/effect.ts';
import type { Json } from '../contract/json.ts';
import type { Enforcement, PolicyChange, PolicyFile, Verdict } from '../contract/policy.ts';
import type { Finding, Written } from './section.ts';

export const nothing = (): object => ({});
export const none = (): readonly never[] => [];
export const absent = (): undefined => undefined;

export const WEIGHT: { readonly [E in Enforcement]: number } = { suggestion: 0, warning: 1, blocking: 2 };

/** Effects that no rule but those about the tool speaks about. */
export const granted = (fact: string): { decide(): readonly Finding[] } => {
  const findings: readonly Finding[] = [{ verdict: 'allow', rule: 'default', fact }];
  return { decide: () => findings };
};

export type PathEffect = Extract<Effect, { readonly kind: 'fs.read' | 'fs.write' }>;

export const isPathEffect = (effect: Effect): effect is PathEffect =>
  effect.kind === 'fs.read' || effect.kind === 'fs.write';

/** Sorted, each once: the order in which rules are written means nothing. */
export function asSet(entries: readonly (string | readonly unknown[])[]): unknown[] {
  const byText = new Map(entries.map((entry) => [JSON.stringify(entry), entry]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

/** A text stands for a rule that only has `key`. */
export const asRule = <T extends object, K extends keyof T>(entry: string | T, key: K): T =>
  typeof entry === 'string' ? ({ [key]: entry } as T) : entry;

/** An approved call does what an allowed one does. */
export const answered = (decision: Verdict): Verdict => (decision === 'deny' ? 'deny' : 'allow');

export type Numbers = { readonly [key: string]: number | undefined };

/** A section that is nothing but limits: the smaller one holds, and a larger one grants more. */
export function limitsOnly<
  K extends keyof PolicyFile,
  V extends object = NonNullable<PolicyFile[K]> & object,
>(key: K, written: () => Written<V>, defaults: Numbers = {}) {
  return {
    key,
    written: (): Written<V> => ({
      widening: (host, session) => larger({ ...defaults, ...host } as Numbers, session as Numbers),
      changes: (before, after) => numbers(key, before as Numbers, after as Numbers, defaults),
      grants: none,
      ...written(),
    }),
    meaning: (value: V | undefined) => value ?? {},
    project: nothing,
    narrow: (host: V | undefined, session: V) => smaller(host, session),
  };
}

export function smaller<T extends object>(host: T | undefined, session: T): T {
  const merged: { [key: string]: number | undefined } = { ...host };
  for (const [key, value] of Object.entries(session as Numbers)) {
    if (value !== undefined) merged[key] = Math.min(value, merged[key] ?? value);
  }
  return merged as T;
}

export const larger = (host: Numbers, session: Numbers): string[] =>
  Object.entries(session).flatMap(([key, value]) => {
    const limit = host[key];
    return limit !== undefined && value !== undefined && value > limit ? [`.${key}`] : [];
  });

/** The entries that allow or ask; a text allows. */
export function grantsOf<K extends string>(
  entries: readonly (string | ({ readonly decision?: Verdict } & { readonly [key in K]: string }))[] = [],
  key: K,
): readonly { readonly text: string; readonly at: number }[] {
  return entries.flatMap((entry, at) => {
    if (typeof entry === 'string') return [{ text: entry, at }];
    return entry.decision === 'deny' ? [] : [{ text: entry[key], at }];
  });
}

interface Sides<T> {
  added(entry: T): boolean;
  removed(entry: T): boolean;
}

export const ONLY_LESS = { added: () => true, removed: () => false };

/** Lists of which the order means nothing. */
export function lists<T>(
  key: string,
  old: readonly T[],
  now: readonly T[],
  widens: Sides<T>,
): PolicyChange[] {
  const removed = old.filter((entry) => !now.some((one) => same(one, entry)));
  const added = now.filter((entry) => !old.some((one) => same(one, entry)));
  return [
    ...removed.map((entry) => ({ key, before: entry as Json, widens: widens.removed(entry) })),
    ...added.map((entry) => ({ key, after: entry as Json, widens: widens.added(entry) })),
  ];
}

export function value<T extends Json | undefined>(
  key: string,
  before: T,
  after: T,
  widens: (from: T, to: T) => boolean,
): PolicyChange[] {
  if (same(before, after)) return [];
  return [
    {
      key,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      widens: widens(before, after),
    },
  ];
}

/** Switches: `true` where turning it on grants more, `false` where turning it off does. */
export const switches = (
  section: string,
  old: object = {},
  now: object = {},
  on: { readonly [key: string]: boolean },
) =>
  Object.entries(on).flatMap(([key, widens]) => {
    const [from, to] = [old, now].map((one) => (one as { [key: string]: boolean })[key] ?? false);
    return value(`${section}.${key}`, from, to, () => to === widens);
  });

/** Limits: one that is not named is the default, where there is one, and else none. */
export function numbers(
  section: string,
  old: Numbers = {},
  now: Numbers = {},
  defaults: Numbers = {},
): PolicyChange[] {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys.flatMap((key) => {
    const usual = defaults[key] ?? Number.POSITIVE_INFINITY;
    return value(`${section}.${key}`, old[key], now[key], (from = usual, to = usual) => to > from);
  });
}

/** What is kept: to keep less widens, since what goes cannot be had back. */
export function kept(section: string, old: Numbers = {}, now: Numbers = {}, usual: Numbers): PolicyChange[] {
  return Object.keys(usual).flatMap((key) =>
    value(`${section}.${key}`, old[key], now[key], (from = usual[key]!, to = usual[key]!) => to < from),
  );
}

/** Of JSON, whatever the order of keys. */
export function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      same((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}

/** As JSON, and what a reader cannot see, or what acts on a screen, as its code: no text can look like a line of ours. */
export const shown = (given: Json): string =>
  JSON.stringify(given).replaceAll(
    // Written here because it costs a start a quarter of a millisecond, which only a message needs to pay.
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0f]/gu,
    (one) =>
      `\\u${one.length > 1 ? `{${one.codePointAt(0)!.toString(16)}}` : one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** What of a list of hosts or commands lets something through. */
export function shownGrants<K extends string>(
  entries: readonly (
    | string
    | ({ readonly decision?: string; readonly private?: boolean } & { readonly [key in K]: string })
  )[] = [],
  key: K,
): readonly string[] {
  return entries.flatMap((entry) => {
    if (typeof entry === 'string') return [shown(entry)];
    if (entry.decision === 'deny') return [];
    const asks = entry.decision === 'ask' ? ', after asking' : '';
    return [`${shown(entry[key])}${entry.private ? ', also at private addresses' : ''}${asks}`];
  });
}

/** Less than is kept by default. */
export const shortened = (what: string, keep: Numbers = {}, usual: Numbers): readonly string[] =>
  Object.entries(usual).flatMap(([key, most = 0]) => {
    const given = keep[key];
    return given !== undefined && given < most ? [`to keep ${what} for ${given} ${key} only`] : [];
  });
