// Owns: what the job saw of its sandbox before the program began, as facts.
// Refuses: to judge: the job did, and let the program begin only then.

export interface ObservedSandbox {
  /** Effective, permitted, inheritable, bounding and ambient capabilities, in hex. */
  readonly capabilities: { readonly [set: string]: string };
  readonly noNewPrivileges: boolean;
  /** 2 is a filter; absent where policy sets none, or where the program was gone before anybody could look. */
  readonly seccomp?: number;
  readonly interfaces: readonly string[];
  readonly writableMounts: readonly string[];
}

/** `text` is made of parts of /proc, each after a line `== name`. */
export function parseObserved(text: string): ObservedSandbox {
  const parts = new Map(
    text
      .split(/^== /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf('\n');
        return [part.slice(0, end), part.slice(end + 1)] as const;
      }),
  );
  const status = new Map(
    (parts.get('status') ?? '').split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]),
  );
  const seccomp = parts.get('seccomp');
  return {
    capabilities: Object.fromEntries(CAPABILITY_SETS.map((set) => [set, status.get(set) ?? ''])),
    noNewPrivileges: status.get('NoNewPrivs') === '1',
    ...(seccomp === undefined ? {} : { seccomp: Number(seccomp) }),
    interfaces: lines(parts.get('net/dev')).flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []),
    writableMounts: lines(parts.get('mountinfo')).flatMap((line) => {
      const [, , , , at, options = ''] = line.split(' ');
      return at !== undefined && /^rw\b/.test(options) ? [at] : [];
    }),
  };
}

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];

const lines = (text = ''): string[] => text.split('\n');
