// Owns: what was seen of a sandbox or a container before the program began, as facts, and what is wrong with them.
// Refuses: to be the first to judge: the job did, and let the program begin only then.
import { OBSERVED_WORD } from '../entry-script.ts';
import { mismatches, type Observation, parseObservation } from '../observation.ts';

interface ObservedSandbox {
  /** Inheritable, permitted, effective, bounding and ambient, in hex. */
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  /** 2 is a filter; absent where policy sets none, or where the program was gone before anybody could look. */
  readonly seccomp?: number;
  readonly interfaces: readonly string[];
  readonly readOnlyRoot: boolean;
  readonly readOnlyInputs: boolean;
  /** Without the devices that anybody may use. */
  readonly writableMounts: readonly string[];
}

export interface Observed {
  readonly facts: ObservedSandbox | (Observation & { readonly imageId?: string });
  /** In words; empty when all is as it must be. */
  readonly wrong: readonly string[];
}

/** What the entry of a container wrote, or what the job saw of a sandbox from outside. */
export function parseObserved(text: string): Observed {
  const [line = '', ...more] = text.split('\n');
  const seen = line.startsWith(OBSERVED_WORD) ? parseObservation(line) : undefined;
  if (!seen) return { facts: parseSandbox(text), wrong: [] };
  const id = /^image (?:sha256:)?([0-9a-f]{64})$/.exec(more[0] ?? '')?.[1];
  const facts = { ...seen, ...(id === undefined ? {} : { imageId: `sha256:${id}` }) };
  // Which user it is depends on who the job runs as on its node; root it never is.
  const root = /^0:|:0$/.test(facts.user) ? ['it runs as root'] : [];
  return { facts, wrong: [...root, ...mismatches(facts, facts.user, DEVICE_MOUNTS)] };
}

/** `text` is made of parts of /proc, each after a line `== name`. */
function parseSandbox(text: string): ObservedSandbox {
  const parts = new Map(
    text.split(/^== /m).map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end), part.slice(end + 1).split('\n')] as const;
    }),
  );
  const linesOf = (name: string) => parts.get(name) ?? [];
  const status = new Map(linesOf('status').map((line) => line.split(/:\s*/, 2) as [string, string]));
  const mounts = new Map(linesOf('mountinfo').map((line) => line.split(' ').slice(4, 6) as [string, string]));
  const readOnly = (at: string) => /^ro\b/.test(mounts.get(at) ?? '');
  const [seccomp] = linesOf('seccomp');
  return {
    capabilities: CAPABILITY_SETS.map((set) => status.get(set) ?? ''),
    noNewPrivileges: status.get('NoNewPrivs') === '1',
    ...(seccomp === undefined ? {} : { seccomp: Number(seccomp) }),
    interfaces: linesOf('net/dev').flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []),
    readOnlyRoot: readOnly('/'),
    readOnlyInputs: readOnly('/work/in'),
    writableMounts: [...mounts.keys()].filter((at) => at && !readOnly(at) && !DEVICES.test(at)).sort(),
  };
}

/** Shared memory, and terminals, which are no files. Not every kind of container has them; the job knows which, and has compared. */
export const DEVICE_MOUNTS = ['/dev/shm', '/dev/pts'];

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];
const DEVICES = /^\/dev\/(null|zero|full|random|urandom|tty|console|pts)$/;
