// Owns: what one call would touch, said before it runs, and when one statement covers another.
// Refuses: to decide whether it may; that is policy.
import { isUnder } from '../base/rel-path.ts';

/**
 * The kinds of effect. A section of haft.yaml that decides another one adds it in its own module, by declaration merging.
 * Paths are normalised and relative to the workspace root ('.' is the root itself), or absolute when they
 * lie below one of `paths.extra_roots`. `tree` means the path and everything below it.
 */
export interface EffectShapes {
  'fs.read': { readonly path: string; readonly tree?: true };
  'fs.write': { readonly path: string; readonly tree?: true };
  /** A program that is started; `command` is the canonical, re-quoted simple command, `*` for programs not known before. */
  exec: { readonly command: string };
  /** With host `*`: whatever policy allows, each connection decided when it is made. With scheme `*`: any scheme. */
  'net.connect': {
    readonly scheme: string;
    readonly host: string;
    readonly port: number;
    /** Of an HTTP request whose tool says it. */
    readonly method?: string;
  };
  git: { readonly operation: string; readonly ref?: string; readonly remote?: string };
  /** Looking at the machine's process table. */
  'proc.list': object;
  /** Reading an artifact; `*` for the list of them. */
  'artifact.read': { readonly artifact: string };
  /** Keeping something as an artifact; where it comes from is an effect of its own. */
  'artifact.import': object;
  /** Looking at a run: how it stands, and what it made. */
  'run.read': { readonly run: string };
  /** Having to do with runs of this backend at all. */
  'run.backend': { readonly backend: string };
  /** Having a run made that goes on by itself; what its own call touches is decided with that call. */
  'run.submit': { readonly tool: string; readonly backend: string };
  /** Ending what is under way of a run that the same session began. */
  'run.cancel': { readonly run: string };
}

export type EffectKind = keyof EffectShapes;
export type Effect = { [K in EffectKind]: { readonly kind: K } & EffectShapes[K] }[EffectKind];

/** True when `declared` announces `actual`. Reading what one may write is not announced by the writing. */
export function covers(declared: Effect, actual: Effect): boolean {
  if (declared.kind !== actual.kind) return false;
  if ('path' in declared && 'path' in actual) {
    if (declared.tree) return isUnder(actual.path, declared.path);
    return declared.path === actual.path && !actual.tree;
  }
  if (declared.kind === 'net.connect' && declared.host === '*')
    return declared.scheme === '*' || declared.scheme === (actual as typeof declared).scheme;
  return Object.entries(declared).every(([key, value]) => (actual as Record<string, unknown>)[key] === value);
}

/** True when a call with these effects changes nothing, here or elsewhere. */
export const onlyLooks = (effects: readonly Effect[]): boolean =>
  effects.every((effect) =>
    effect.kind === 'net.connect' ? SAFE_METHODS.includes(effect.method ?? '') : LOOKS.includes(effect.kind),
  );

const LOOKS: readonly EffectKind[] = ['fs.read', 'proc.list', 'artifact.read'];
/** Those that RFC 9110 calls safe. */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** One line for people: `read src/lib.rs`, `connect https://example.org:443`. */
export function describeEffect(effect: Effect): string {
  return ((DESCRIPTIONS[effect.kind] ?? describeOther) as (effect: Effect) => string)(effect);
}

/** By its kind and what it names: `device.use` of `gpu0` is `use device gpu0`. */
const describeOther = ({ kind, ...said }: Effect): string =>
  [...kind.split('.').reverse(), ...Object.values(said)].join(' ');

const tree = (e: { path: string; tree?: true }) => `${e.path}${e.tree ? '/**' : ''}`;

const DESCRIPTIONS: { readonly [K in EffectKind]?: (effect: EffectShapes[K]) => string } = {
  'fs.read': (e) => `read ${tree(e)}`,
  'fs.write': (e) => `write ${tree(e)}`,
  exec: (e) => (e.command === '*' ? 'start other programs' : `run ${e.command}`),
  'net.connect': (e) => (e.host === '*' ? 'use the network' : `connect ${e.scheme}://${e.host}:${e.port}`),
  git: (e) => `git ${e.operation}${e.ref ? ` ${e.ref}` : ''}`,
  'proc.list': () => 'list processes',
  'artifact.read': (e) => (e.artifact === '*' ? 'list artifacts' : `read the artifact ${e.artifact}`),
  'artifact.import': () => 'import an artifact',
  'run.read': (e) => `look at the run ${e.run}`,
  'run.backend': (e) => `use ${e.backend}`,
  'run.submit': (e) => `submit ${e.tool} to ${e.backend}`,
  'run.cancel': (e) => `cancel the run ${e.run}`,
};
