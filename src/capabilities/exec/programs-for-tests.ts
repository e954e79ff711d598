// Owns: for tests, a throw-away workspace with the exec capability on it and calls that declared certain effects.
// Refuses: to leave anything behind.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { normalizeRelPath } from '../../base/rel-path.ts';
import { type CallScope, NO_FENCES, type ScopePolicy } from '../../contract/capability.ts';
import { covers, describeEffect, type Effect } from '../../contract/effect.ts';
import type { Warning } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { ExecHandle, OpenProxy } from '../../contract/exec.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import { type Program, programEffects } from '../../contract/program.ts';
import { isAlive, processIdentity } from '../../stores/process-identity.ts';
import { createExecCapability } from './capability.ts';

export interface ProgramFixture {
  readonly root: string;
  /** The handle of a call that declared these effects; by default whatever is asked for. */
  call(options?: CallFixture): ExecHandle & { readonly warnings: readonly Warning[] };
}

export interface CallFixture {
  readonly effects?: readonly Effect[];
  readonly policy?: Partial<ScopePolicy>;
  readonly signal?: AbortSignal;
  denies?(effect: Effect): boolean;
}

export async function withPrograms<T>(
  files: Readonly<Record<string, string>>,
  use: (fixture: ProgramFixture) => Promise<T>,
  openProxy: OpenProxy = () => Promise.reject(new Error('no proxy')),
): Promise<T> {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-programs-')));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  const capability = createExecCapability(openProxy, { self: processIdentity(), isAlive });
  const call = (options: CallFixture = {}) => {
    const warnings: Warning[] = [];
    return Object.assign(capability.open(scopeOf(root, options, warnings)), { warnings });
  };
  try {
    return await use({ root, call });
  } finally {
    await capability.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** The effects that a program's call would have declared. */
export const declared = (program: Pick<Program, 'command' | 'needs'>): readonly Effect[] =>
  programEffects(program, (path) => path);

function scopeOf(root: string, options: CallFixture, warnings: Warning[]): CallScope {
  return {
    callId: 'call_test',
    root,
    extraRoots: [],
    signal: options.signal ?? new AbortController().signal,
    objects: undefined as unknown as ObjectStore,
    undo: { keep: false, maxBytes: 0 },
    admit(effect, actual = effect) {
      const isDeclared = options.effects?.some((one) => covers(one, effect)) ?? true;
      if (!isDeclared) throw fail('policy.undeclared', `Cannot ${describeEffect(effect)}: not declared`);
      if (options.denies?.(actual))
        throw fail('policy.denied', `Cannot ${describeEffect(actual)}: policy denies it`);
    },
    place(path) {
      if (path.startsWith('/')) return path;
      const normal = normalizeRelPath(path);
      if (!normal.ok) throw fail(normal.reason, normal.message);
      return normal.path;
    },
    policy: { ...NO_FENCES, ...options.policy },
    visible: () => true,
    privateHost: () => true,
    intend: async () => {},
    warn: (warning) => void warnings.push(warning),
  };
}
