// Owns: the first process of every container: it looks around, tells what it sees, begins the program once, and watches its end.
// Refuses: to begin where something is not as it must be, or where the attempt has begun before.
import { WORK_FOLDER } from '../contract/plan.ts';
import { LIMIT_LINE, QUEUES_FOLDER, RUN_SCRATCH } from '../contract/run-environment.ts';

/** Where the static busybox is inside. */
export const ENTRY_PROGRAM = '/.haft/busybox';

/** Where a static busybox usually is on a machine. */
export const BUSYBOX_PLACES = [
  '/bin/busybox',
  '/usr/bin/busybox',
  '/usr/lib/busybox/busybox-static',
  '/usr/local/bin/busybox',
];

/** What the entry says by its exit code. The program's own codes never come out as one of these, but for `ownCode`. */
export const ENTRY_CODES = {
  /** The program itself ended with one of these codes. */
  ownCode: 248,
  /** Somebody inside killed the program. 137 is left for who kills the container from outside. */
  killedInside: 249,
  containment: 250,
  beganBefore: 251,
  cannotClaim: 252,
  notStarted: 253,
  memory: 254,
} as const;

/** The first word of the first line on standard output. The program has not begun when it is written. */
export const OBSERVED_WORD = 'haft-observed';

/** Mount points that a program may write: what it leaves, what it needs meanwhile, and queues that no file system holds. */
const WRITABLE = [`${WORK_FOLDER}/out`, ...RUN_SCRATCH.places, QUEUES_FOLDER] as const;

interface EntryOptions {
  /** Whether whoever begins the container holds `LIFELINE_PIPE`. */
  readonly lifeline: boolean;
  /** Mount points that cannot be had away in a container of this kind. */
  readonly alsoWritable?: readonly string[];
}

/** In a shell of its own: what it calls its variables is not for the program to see. */
const lookAround = (alsoWritable: readonly string[]): string => `
caps= nnp= seccomp= uid= gid=
while read -r key value rest; do
  case $key in
    CapInh:|CapPrm:|CapEff:|CapBnd:|CapAmb:) caps=$caps\${caps:+,}$value ;;
    NoNewPrivs:) nnp=$value ;;
    Seccomp:) seccomp=$value ;;
    Uid:) uid=$value ;;
    Gid:) gid=$value ;;
  esac
done < /proc/self/status
interfaces=
while read -r name rest; do
  case $name in *:*) interfaces=$interfaces\${interfaces:+,}\${name%%:*} ;; esac
done < /proc/net/dev
case $(${ENTRY_PROGRAM} readlink /proc/self/ns/net) in ''|"$2") network=shared ;; *) network=own ;; esac
root=rw inputs=rw writable= extra=
while read -r id parent device from at options rest; do
  case $options in ro|ro,*) mode=ro ;; *) mode=rw ;; esac
  case $at in /) root=$mode ;; ${WORK_FOLDER}/in) inputs=$mode ;; esac
  [ $mode = rw ] && [ -w "$at" ] && { [ -d "$at" ] || [ -f "$at" ]; } || continue
  writable=$writable\${writable:+,}$at
  case $at in ${[...WRITABLE, ...alsoWritable].join('|')}) ;; *) extra=$extra\${extra:+,}$at ;; esac
done < /proc/self/mountinfo
facts="caps=$caps nnp=$nnp seccomp=$seccomp uid=$uid gid=$gid interfaces=$interfaces network=$network root=$root inputs=$inputs extra=$extra"
echo "${OBSERVED_WORD} $facts writable=$writable"
[ "$facts" = "$1" ] || exit ${ENTRY_CODES.containment}
[ -k ${WORK_FOLDER}/out ] || exit ${ENTRY_CODES.beganBefore}
${ENTRY_PROGRAM} chmod -t ${WORK_FOLDER}/out || exit ${ENTRY_CODES.cannotClaim}`;

/** Where the pipe is inside that whoever began the container holds open. */
export const LIFELINE_PIPE = '/.haft/lifeline';

/** The program waits for a line, and everything inside ends when nobody holds the other end any more. */
const LIFELINE = `
exec 5<${LIFELINE_PIPE} && read -r haft_line <&5 || exit ${ENTRY_CODES.cannotClaim}
( read -r haft_line <&5; kill -KILL -1 ) >/dev/null 2>&1 &
unset haft_line
`;

/** All that is not standard input, output or error. */
const CLOSED = [3, 4, 5, 6, 7, 8, 9].map((descriptor) => `${descriptor}<&-`).join(' ');

/** The kernel counts for the whole container, whoever was killed and whoever noticed. */
const LOOK_AT_MEMORY = `
for counts in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
  [ -r $counts ] && while read -r key value; do
    [ "$key" = oom_kill ] && [ "$value" != 0 ] && exit 1
  done < $counts
done
exit 0`;

/**
 * `$1` is the line of facts that must be seen, `$2` the machine's own network, `$3` the variables that the engine adds of
 * its own accord and the program is not to see; the rest is the program. Only what the shell
 * and busybox can do: the image may have no programs at all. That the attempt begins is marked by taking the sticky bit
 * off out/: it survives a second start of the same container, and no tool looks at it.
 */
export const entryScript = ({ lifeline, alsoWritable = [] }: EntryOptions): string => `
(${lookAround(alsoWritable)}
) || exit $?
${lifeline ? LIFELINE : ''}unset SHLVL OLDPWD $3
shift 3
haft_program=
case $1 in
  */*) haft_program=$1 ;;
  *) IFS=:; for haft_folder in $PATH; do
       [ -f "$haft_folder/$1" ] && [ -x "$haft_folder/$1" ] && { haft_program=$haft_folder/$1; break; }
     done; unset IFS ;;
esac
[ -f "$haft_program" ] && [ -x "$haft_program" ] || exit ${ENTRY_CODES.notStarted}
haft_name=$1
shift
# A shell has words of its own for signals; they are not the program's.
exec 8>&2 2>/dev/null
# It goes first when memory runs out, not what watches it: not every engine tells why a container was killed.
# Docker gives the scratch folders the modes that they have in the image; Podman leaves a descriptor open. Engines open
# /dev/null for writing, too. An old busybox cannot name a program otherwise than by its path.
( echo 900 >/proc/self/oom_score_adj; { ${ENTRY_PROGRAM} chmod ${RUN_SCRATCH.mode} ${RUN_SCRATCH.places.join(' ')}; ${LIMIT_LINE}; } 2>/dev/null
  [ "$haft_name" = "$haft_program" ] || ! ( exec -a busybox ${ENTRY_PROGRAM} true ) ||
    exec -a "$haft_name" "$haft_program" "$@" </dev/null 2>&8 ${CLOSED}
  exec "$haft_program" "$@" </dev/null 2>&8 ${CLOSED} )
haft_code=$?
(${LOOK_AT_MEMORY}
) || exit ${ENTRY_CODES.memory}
[ $haft_code = 137 ] && exit ${ENTRY_CODES.killedInside}
[ $haft_code -ge ${ENTRY_CODES.ownCode} ] && [ $haft_code -le ${ENTRY_CODES.memory} ] && exit ${ENTRY_CODES.ownCode}
exit $haft_code
`;

export interface Observation {
  /** Inheritable, permitted, effective, bounding and ambient, in hex. */
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  /** 2 is a filter. */
  readonly seccomp: number;
  readonly user: string;
  readonly interfaces: readonly string[];
  /** Whether its network is another one than the machine's: a loopback can be shared as well. */
  readonly ownNetwork: boolean;
  readonly readOnlyRoot: boolean;
  readonly readOnlyInputs: boolean;
  readonly writableMounts: readonly string[];
}

const NO_CAPABILITIES = Array.from({ length: 5 }, () => '0'.repeat(16)).join(',');

/** The line that the entry must see. `user` is `uid:gid`. */
export function demandedFacts(user: string): string {
  const [uid, gid] = user.split(':');
  return `caps=${NO_CAPABILITIES} nnp=1 seccomp=2 uid=${uid} gid=${gid} interfaces=lo network=own root=ro inputs=ro extra=`;
}

/** Undefined when the line is none that an entry writes. */
export function parseObservation(line: string): Observation | undefined {
  const [word, ...pairs] = line.trimEnd().split(' ');
  if (word !== OBSERVED_WORD) return undefined;
  const facts = new Map(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const list = (name: string) => (facts.get(name) ?? '').split(',').filter((value) => value !== '');
  return {
    capabilities: list('caps'),
    noNewPrivileges: facts.get('nnp') === '1',
    seccomp: Number(facts.get('seccomp') ?? Number.NaN),
    user: `${facts.get('uid')}:${facts.get('gid')}`,
    interfaces: list('interfaces'),
    ownNetwork: facts.get('network') === 'own',
    readOnlyRoot: facts.get('root') === 'ro',
    readOnlyInputs: facts.get('inputs') === 'ro',
    writableMounts: list('writable').sort(),
  };
}

/** The facts that are not as policy demands, in words; empty when all are. */
export function mismatches(
  seen: Observation,
  user: string,
  alsoWritable: readonly string[] = [],
): readonly string[] {
  const writable: readonly string[] = [...WRITABLE, ...alsoWritable];
  const extra = seen.writableMounts.filter((at) => !writable.includes(at));
  const checks: readonly (readonly [holds: boolean, otherwise: string])[] = [
    [seen.capabilities.join(',') === NO_CAPABILITIES, `it has capabilities (${seen.capabilities.join(' ')})`],
    [seen.noNewPrivileges, 'it may gain privileges'],
    [seen.seccomp === 2, `no filter of system calls is set (seccomp ${seen.seccomp})`],
    [seen.user === user, `it runs as ${seen.user}, not as ${user}`],
    [seen.interfaces.join(',') === 'lo', `it has the network interfaces ${seen.interfaces.join(' ')}`],
    [seen.ownNetwork, 'it shares the network of the machine'],
    [seen.readOnlyRoot, 'its root can be written'],
    [seen.readOnlyInputs, 'its inputs can be written'],
    [extra.length === 0, `it can write to ${extra.join(' ')}`],
  ];
  return checks.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}
