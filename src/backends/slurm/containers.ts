// Owns: what a program is contained in on a node, as policy says it: the table of kinds, and the shell text for bubblewrap, Docker, Podman and Apptainer.
// Refuses: a job without containment, to pull, to run an image by a tag, and to trust flags alone: what is seen from inside decides.
import { admitsImage, digestOf, fullName, repositoryOf } from '../../base/image-reference.ts';
import { shWord } from '../../base/shell/shell-quote.ts';
import type { Attempt } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { WORK_FOLDER } from '../../contract/plan.ts';
import { type ImageRule, POLICY_DEFAULTS } from '../../contract/policy.ts';
import { imagesFor } from '../../contract/policy-match.ts';
import {
  LIMIT_LINE,
  QUEUES_FOLDER,
  RUN_HOST_NAME,
  RUN_PATH,
  RUN_SCRATCH,
  RUN_SYSCTLS,
  RUN_USER,
} from '../../contract/run-environment.ts';
import { ENTRY_PROGRAM, entryScript, LIFELINE_PIPE } from '../entry-script.ts';
import type { ContainedProgram } from './contained-program.ts';
import { DEVICE_MOUNTS, ENTRY_HOOKS, entryStage, IMAGE_ENV, OUTSIDE_ID } from './contained-program.ts';

export type JobContainer = BubblewrapContainer | EngineContainer | ApptainerContainer;

interface ContainerKind<C> {
  /**
   * Shell text that defines `contain`, which becomes the container, and sets its arguments as `"$@"`; and `is_seen`,
   * `note_seen`, `end_contained` and `judge_code`, which the job script asks for.
   */
  script(container: C, program: ContainedProgram): string;
  /** Throws where policy does not let the image run in this. */
  admit(container: C, image: string | undefined, tool: string | undefined): void;
}

export const containScript = (container: JobContainer, program: ContainedProgram): string =>
  kindOf(container).script(container, program);

export const admitImage = (container: JobContainer, { plan, tool }: Attempt): void =>
  kindOf(container).admit(container, plan.image, tool);

const ENGINE: ContainerKind<EngineContainer> = {
  script: engineScript,
  admit({ kind, images }, image, tool) {
    if (image === undefined || !/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/.test(image))
      throw fail(
        'policy.denied',
        `Cannot run ${JSON.stringify(image ?? null)} with ${kind} on Slurm: it needs an image that is pinned by a digest`,
      );
    if (!imagesFor(tool, images).some((entry) => admitsImage(entry.image, image)))
      throw fail('policy.denied', `Cannot run the image "${image}": policy does not name it`, { image });
  },
};

const KINDS: {
  readonly [K in JobContainer['kind']]: ContainerKind<Extract<JobContainer, { readonly kind: K }>>;
} = {
  bubblewrap: {
    script: bubblewrapScript,
    admit({ images = {} }, image) {
      if (image !== undefined) requireFolder(images, image);
    },
  },
  docker: ENGINE,
  podman: ENGINE,
  apptainer: { script: apptainerScript, admit: ({ images }, image) => requireFolder(images, image) },
};

function requireFolder(images: Readonly<Record<string, string>>, image: string | undefined): void {
  if (image === undefined || images[image] === undefined)
    throw fail(
      'policy.denied',
      `Cannot run image ${JSON.stringify(image ?? null)} on Slurm: policy names no folder for it`,
    );
}

const kindOf = <C extends JobContainer>({ kind }: C) => KINDS[kind] as unknown as ContainerKind<C>;

interface ApptainerContainer {
  readonly kind: 'apptainer';
  /** Where the nodes have a pinned image: its unpacked file system, or a SIF file. */
  readonly images: Readonly<Record<string, string>>;
  /** The program on the nodes. By default the one of that name on their PATH. */
  readonly command?: string;
  /** A statically linked busybox on the nodes, which looks at the container from inside. By default the usual places. */
  readonly busybox?: string;
  /** A filter of system calls on the nodes. By default Apptainer's own, where its packages put it. */
  readonly seccomp?: string;
}

function apptainerScript(container: ApptainerContainer, program: ContainedProgram): string {
  const { images, command = 'apptainer', busybox, seccomp = USUAL_FILTER } = container;
  const { argv, env, image = '' } = program;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const entry = [...variables, ENTRY_PROGRAM, 'sh', '-c', ENTRY, 'haft'].map(shWord).join(' ');
  return [
    ENTRY_HOOKS,
    HOOKS,
    '[ "$(id -u)" != 0 ] || cannot \'jobs of root are not contained with Apptainer\'',
    `root=${shWord(images[image] ?? '')}`,
    '[ -e "$root" ] || cannot \'the image is not on the node\'',
    entryStage(busybox),
    'set --',
    IMAGE_ENV('"$line"'),
    'mkdir -m 700 "$scratch/w"',
    [
      `set -- ${shWord(command)} --silent exec --containall --cleanenv --no-home --no-mount tmp,home,cwd --no-eval`,
      `--net --network none --no-privs --security ${shWord(`seccomp:${seccomp}`)} --hostname ${RUN_HOST_NAME}`,
      `--workdir "$scratch/w" --scratch /tmp --pwd ${WORK_FOLDER}`,
      `--mount "type=bind,src=$folder/in,dst=${WORK_FOLDER}/in,ro" --mount "type=bind,src=$out,dst=${WORK_FOLDER}/out"`,
      `--mount "type=bind,src=$busybox,dst=${ENTRY_PROGRAM},ro" --mount "type=bind,src=$scratch/gate,dst=${LIFELINE_PIPE},ro"`,
      // Apptainer brings variables of its own, so that the environment is made anew.
      `"$root" ${ENTRY_PROGRAM} env -i PATH=${RUN_PATH} "$@" ${entry} "$facts" "$network" '' ${argv.map(shWord).join(' ')}`,
    ].join(' \\\n  '),
  ].join('\n');
}

const ENTRY = entryScript({ lifeline: true, alsoWritable: DEVICE_MOUNTS });
const USUAL_FILTER = '/etc/apptainer/seccomp-profiles/default.json';

/** The container is a part of the job: its processes are those that have a number of their own inside. */
const HOOKS = `
contain() { exec "$@" 6>&- 7>&-; }
note_seen() { :; }
end_contained() {
  for process in $(cat "$group/cgroup.procs"); do
    case $(sed -n 's/^NSpid:[^0-9]*//p' "/proc/$process/status" 2>/dev/null) in *[0-9][!0-9]*) kill -KILL "$process" 2>/dev/null ;; esac
  done
  kill -KILL "$sandbox" 2>/dev/null
}
lost() { false; }
`;

export interface EngineContainer {
  readonly kind: 'docker' | 'podman';
  /** Images that policy admits, as the docker backend takes them; those of tags alone admit nothing. */
  readonly images: readonly (string | ImageRule)[];
  /** The program on the nodes. By default the one of that name on their PATH. */
  readonly command?: string;
  /** The engine's UNIX socket on the nodes, where the program does not find it by itself. */
  readonly socket?: string;
  /** A statically linked busybox on the nodes, which looks at the container from inside. By default the usual places. */
  readonly busybox?: string;
  /** Processes and threads at one time. By default 1024. */
  readonly processes?: number;
}

function engineScript(container: EngineContainer, program: ContainedProgram): string {
  const {
    kind,
    command = kind,
    socket,
    busybox,
    processes = POLICY_DEFAULTS.runLimits.processes,
  } = container;
  const { attemptId, argv, env, image = '', resources } = program;
  const engine = [command, ...(socket === undefined ? [] : [SOCKET_OPTION[kind], `unix://${socket}`])];
  const { added, tmp, flags, remove } = DIFFERENCES[kind];
  const unwanted = added.filter((name) => env[name] === undefined);
  const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const entry = ['sh', '-c', entryScript({ lifeline: true }), 'haft'];
  return [
    ENTRY_HOOKS,
    ENGINE_HOOKS,
    `engine() { ${engine.map(shWord).join(' ')} "$@" 6>&- 7>&-; }`,
    `contain() { exec ${engine.map(shWord).join(' ')} start --attach "$container" 6>&- 7>&-; }`,
    `container=${shWord(`haft-${attemptId}`)} remove='${remove}'`,
    STAGE,
    entryStage(busybox),
    ...nameCheck(container, program),
    'unwanted=',
    ...unwanted.map((name) => unlessOfImage(name, image)),
    [
      'engine create --rm --name "$container" --network none --ipc none --read-only --cap-drop ALL',
      '--security-opt no-new-privileges --user "$uid:$gid" --memory "$memory" --memory-swap "$memory"',
      `--pids-limit ${processes} --cpus ${resources.cpus} --pull never --hostname ${RUN_HOST_NAME} --log-driver none`,
      `--workdir ${WORK_FOLDER} --entrypoint ${ENTRY_PROGRAM}`,
      Object.entries(RUN_SYSCTLS)
        .map(([name, value]) => `--sysctl ${name}=${value}`)
        .join(' '),
      RUN_SCRATCH.places
        .map((at) => `--tmpfs "${at}:rw,nosuid,nodev,exec,size=$memory,mode=${RUN_SCRATCH.mode},${tmp}"`)
        .join(' '),
      `--mount "type=bind,src=$folder/in,dst=${WORK_FOLDER}/in,readonly" --mount "type=bind,src=$out,dst=${WORK_FOLDER}/out"`,
      `--mount "type=bind,src=$busybox,dst=${ENTRY_PROGRAM},readonly"`,
      `--mount "type=bind,src=$scratch/gate,dst=${LIFELINE_PIPE},readonly"`,
      `${flags} ${variables.map(shWord).join(' ')}`,
      `-- ${[image, ...entry].map(shWord).join(' ')} "$facts" "$network" "$unwanted"`,
      `${argv.map(shWord).join(' ')} >/dev/null 2>"$scratch/said" ||`,
      `cannot "no container can be made on the node: $(tail -n 1 "$scratch/said" | sed 's|\\([ "=]\\)/[^ :",]*|\\1…|g' | head -c 300 | tr -d '\\000-\\037')"`,
    ].join(' \\\n  '),
  ].join('\n');
}

/** Where no entry has the digest, the engine of the node must have the image under its name: Podman takes any name before a digest. */
function nameCheck({ images }: EngineContainer, { tool, image = '' }: ContainedProgram): readonly string[] {
  if (imagesFor(tool, images).some((entry) => digestOf(entry.image) === digestOf(image))) return [];
  const name = repositoryOf(fullName(image));
  // Docker leaves out what Podman has in full.
  const spellings = [name, name.replace('docker.io/', ''), name.replace('docker.io/library/', '')];
  const names = '{{range .RepoTags}}{{println .}}{{end}}{{range .RepoDigests}}{{println .}}{{end}}';
  return [
    `engine image inspect --format '${names}' ${shWord(image)} 2>/dev/null | sed 's/@.*$//; s/:[^/:]*$//' |`,
    `  grep -qxF ${spellings.map((one) => `-e ${shWord(one)}`).join(' ')} ||`,
    "  cannot 'the node does not have the digest of the image under that name; admit the digest, or pull the image there under that name'",
  ];
}

/** What the image itself sets is the program's to see. */
const unlessOfImage = (name: string, image: string): string =>
  `engine image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' ${shWord(image)} 2>/dev/null | grep -q '^${name}=' || unwanted="$unwanted ${name}"`;

const SOCKET_OPTION = { docker: '--host', podman: '--url' } as const;

/** The same as the docker backend has of the two engines; the command of Podman can be told more than its service. */
const DIFFERENCES: Readonly<
  Record<
    EngineContainer['kind'],
    {
      readonly added: readonly string[];
      readonly tmp: string;
      readonly flags: string;
      readonly remove: string;
    }
  >
> = {
  docker: { added: [], tmp: 'uid=$uid,gid=$gid', flags: '', remove: 'rm --force' },
  podman: {
    added: ['container', 'TERM'],
    tmp: 'notmpcopyup,U',
    flags: '--read-only-tmpfs=false --http-proxy=false $own_ids',
    // By itself it waits ten seconds for the program to end.
    remove: 'rm --force --time 0',
  },
};

/** Its first process is killed directly, which is faster than any command. */
const ENGINE_HOOKS = `
note_seen() {
  set -- $(engine inspect --format '{{.State.Pid}} {{.Image}}' "$container" 2>/dev/null)
  inside=\${1:-}
  printf 'image %s\\n' "\${2:-}" >>"$meta/observed"
  case $inside in '' | 0 | *[!0-9]*) inside= ; return ;; esac
  at=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p' "/proc/$inside/cgroup")
  [ -n "$at" ] || at=$(sed -n 's|^0::|/sys/fs/cgroup|p' "/proc/$inside/cgroup")
  [ ! -r "$at/cgroup.procs" ] || held=$at
}
end_contained() {
  [ -n "$inside" ] && kill -KILL "$inside" 2>/dev/null || clean_up
}
clean_up() { [ -z "$container" ] || engine $remove "$container" >/dev/null 2>&1; }
lost() { [ "$code" = 125 ] && ! engine version >/dev/null 2>&1; }
container= own_ids=
`;

/** Podman without root shows a user its own id only when asked to. */
const STAGE = `
: "\${HOME:=$(getent passwd "$(id -u)" | cut -d : -f 6)}"
export HOME
[ "$(id -u)" = 0 ] || own_ids=--userns=keep-id`;

interface BubblewrapContainer {
  readonly kind: 'bubblewrap';
  /**
   * Where the nodes have the unpacked file system of a pinned image, read-only. A plan without an image sees the
   * programs and libraries of the node; one with an image that is not here does not run.
   */
  readonly images?: Readonly<Record<string, string>>;
  /** System call filters by the name that `uname -m` has for a node's CPU. */
  readonly seccomp?: Readonly<Record<string, Uint8Array>>;
}

function bubblewrapScript(
  { images = {}, seccomp = {} }: BubblewrapContainer,
  { argv, env, image }: ContainedProgram,
): string {
  const root = image === undefined ? '' : (images[image] ?? '');
  const filters = Object.entries(seccomp).map(
    ([machine, filter]) => `  ${shWord(machine)}) echo ${Buffer.from(filter).toString('base64')} ;;`,
  );
  const filter = filters.length === 0 ? '' : FILTER.replace('FILTERS', filters.join('\n'));
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
  const words = [...variables, '--chdir', WORK_FOLDER, '--', ...argv].map(shWord);
  return [
    SANDBOX_HOOKS,
    `root=${shWord(root)}`,
    SANDBOX_STAGE,
    filter,
    `set -- "$@" --clearenv --setenv PATH ${RUN_PATH}`,
    image === undefined ? '' : IMAGE_ENV('--setenv "${line%%=*}" "${line#*=}"'),
    `set -- "$@" ${words.join(' ')}`,
  ].join('\n');
}

/** `look` holds what is seen of the sandbox from outside against what is promised; the program waits at the gate until then. */
const SANDBOX_HOOKS = `
look() {
  caps= privs= root_= in_= out_=
  while read -r key value _; do
    case $key in CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb:) caps=$caps$value ;; NoNewPrivs:) privs=$value ;; esac
  done <"/proc/$inside/status" || return 1
  case $caps in '' | *[!0]*) return 1 ;; esac
  [ "$privs" = 1 ] || return 1
  while read -r face _; do
    case $face in lo:* | Inter-* | face) ;; *) return 1 ;; esac
  done <"/proc/$inside/net/dev" || return 1
  while read -r _ _ _ _ at options _; do
    case $at:$options in
      /:ro*) root_=1 ;; /work/in:ro*) in_=1 ;; /work/out:rw*) out_=1 ;;
      /tmp:rw* | /dev/*:rw* | *:ro,* | *:ro) ;;
      *) return 1 ;;
    esac
  done <"/proc/$inside/mountinfo" || return 1
  [ "$root_$in_$out_" = 111 ]
}
is_seen() {
  inside=$(sed -n 's/.*"child-pid": *\\([0-9]*\\).*/\\1/p' "$scratch/status")
  [ -n "$inside" ] && look
}
note_seen() { for part in status net/dev mountinfo; do echo "== $part"; cat "/proc/$inside/$part"; done >"$meta/observed"; }
end_contained() { kill -KILL "$sandbox" 2>/dev/null; }
judge_code() { ! grep -q exit-code "$scratch/status" || started=true; }
`;

const SCRATCH = RUN_SCRATCH.places
  .map((place) => `--perms ${RUN_SCRATCH.mode} --size "$memory" --tmpfs ${place}`)
  .join(' ');

/**
 * Each entry of the root is bound by itself, since a mount point cannot be made in a root that is bound read-only. As
 * root, folders are mounted where the other user can reach them, in a mount namespace that ends with the program.
 * /proc is read-only as a whole. A background job of a shell ignores SIGINT and SIGQUIT; programs should not.
 */
const SANDBOX_STAGE = `
from_in=$folder/in from_out=$out drop=
env --default-signal true 2>/dev/null && fresh='env --default-signal' || fresh=
[ -z "$root" ] || [ -d "$root" ] || cannot 'the image is not on the node'
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$scratch" && mkdir -m 711 "$scratch/m" && mkdir -m 700 "$scratch/m/in" "$scratch/m/out" "$scratch/m/root" &&
    chown ${OUTSIDE_ID}:${OUTSIDE_ID} "$out" "$scratch/1" "$scratch/2" && chmod 700 "$out" && chmod -R a+rX "$folder/in" ||
    cannot 'the folders of the attempt cannot be given to an ordinary user'
  from_in=$scratch/m/in from_out=$scratch/m/out
  drop='setpriv --reuid ${OUTSIDE_ID} --regid ${OUTSIDE_ID} --clear-groups --inh-caps=-all --bounding-set=-all --'
fi
export folder out scratch root drop fresh
contain() {
  [ ! -s "$scratch/filter" ] || exec 9<"$scratch/filter"
  # The program goes first when memory runs out, not what watches it.
  echo 900 >/proc/self/oom_score_adj
  { ${LIMIT_LINE}; } 2>/dev/null
  [ -n "$drop" ] || exec $fresh bwrap "$@"
  exec unshare --mount --propagation private sh -c '
    mount --bind "$folder/in" "$scratch/m/in" && mount --bind "$out" "$scratch/m/out" || exit 125
    [ -z "$root" ] || mount --bind "$root" "$scratch/m/root" || exit 125
    exec $drop $fresh bwrap "$@"' sh "$@"
}
set -- --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session \\
  --hostname ${RUN_HOST_NAME} --uid ${RUN_USER.uid} --gid ${RUN_USER.gid}
for from in "$root"/*; do
  entry=\${from##*/}
  case \${root:+image}:$entry in
    :usr | :bin | :sbin | :lib | :lib32 | :lib64 | :libx32) ;;
    :* | image:proc | image:dev | image:sys | image:tmp | image:work) continue ;;
  esac
  if [ -L "$from" ]; then set -- "$@" --symlink "$(readlink "$from")" "/$entry"
  elif [ -z "$root" ] || [ -z "$drop" ]; then set -- "$@" --ro-bind "$from" "/$entry"
  else set -- "$@" --ro-bind "$scratch/m/root/$entry" "/$entry"; fi
done
if [ -z "$root" ]; then
  mkdir -m 755 "$scratch/etc"
  echo 'haft:x:${RUN_USER.uid}:${RUN_USER.gid}:Haft:/tmp:/bin/sh' >"$scratch/etc/passwd"
  echo 'haft:x:${RUN_USER.gid}:' >"$scratch/etc/group"
  echo '127.0.0.1 localhost ${RUN_HOST_NAME}' >"$scratch/etc/hosts"
  printf 'passwd: files\\ngroup: files\\nhosts: files\\n' >"$scratch/etc/nsswitch.conf"
  : >"$scratch/etc/ld.so.cache"
  mkdir "$scratch/etc/alternatives"
  chmod -R a+rX "$scratch/etc"
  set -- "$@" --ro-bind "$scratch/etc" /etc
  for entry in ld.so.cache alternatives; do
    [ ! -e "/etc/$entry" ] || set -- "$@" --ro-bind "/etc/$entry" "/etc/$entry"
  done
fi
set -- "$@" --proc /proc --remount-ro /proc --dev /dev --mqueue ${QUEUES_FOLDER} ${SCRATCH} \\
  --remount-ro /dev --dir ${WORK_FOLDER} --ro-bind "$from_in" ${WORK_FOLDER}/in \\
  --bind "$from_out" ${WORK_FOLDER}/out --remount-ro / --json-status-fd 6 --block-fd 7`;

const FILTER = `
case $(uname -m) in
FILTERS
esac | base64 -d >"$scratch/filter"
[ -s "$scratch/filter" ] || cannot 'there is no system call filter for the CPU of the node'
filtered=2
set -- "$@" --seccomp 9`;
