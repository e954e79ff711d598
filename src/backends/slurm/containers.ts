// Owns: what a program is contained in on a node, as policy says it: the table of kinds, and the shell text for Docker, Podman and Apptainer.
// Refuses: a job without containment, to pull, to run an image by a tag, and to trust flags alone: what is seen from inside decides.
import { admitsImage } from '../../base/image-reference.ts';
import { fail } from '../../contract/errors.ts';
import { WORK_FOLDER } from '../../contract/plan.ts';
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import { RUN_HOST_NAME, RUN_PATH, RUN_SCRATCH, RUN_SYSCTLS } from '../../contract/run-environment.ts';
import { ENTRY_PROGRAM, entryScript, LIFELINE_PIPE } from '../entry-script.ts';
import { type BubblewrapContainer, bubblewrapScript } from './bubblewrap-script.ts';
import {
  type ContainedProgram,
  DEVICE_MOUNTS,
  ENTRY_HOOKS,
  entryStage,
  IMAGE_ENV,
} from './contained-program.ts';
import { shWord } from './sh-word.ts';

export type JobContainer = BubblewrapContainer | EngineContainer | ApptainerContainer;

interface ContainerKind<C> {
  /**
   * Shell text that defines `contain`, which becomes the container, and sets its arguments as `"$@"`; and `is_seen`,
   * `note_seen`, `end_contained` and `judge_code`, which the job script asks for.
   */
  script(container: C, program: ContainedProgram): string;
  /** Throws where policy does not let the image run in this. */
  admit(container: C, image: string | undefined): void;
}

export const containScript = (container: JobContainer, program: ContainedProgram): string =>
  kindOf(container).script(container, program);

export const admitImage = (container: JobContainer, image: string | undefined): void =>
  kindOf(container).admit(container, image);

const ENGINE: ContainerKind<EngineContainer> = {
  script: engineScript,
  admit({ kind, images }, image) {
    if (image === undefined || !/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/.test(image))
      throw fail(
        'policy.denied',
        `Cannot run ${JSON.stringify(image ?? null)} with ${kind} on Slurm: it needs an image that is pinned by a digest`,
      );
    if (!images.some((entry) => admitsImage(entry, image)))
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
  readonly images: readonly string[];
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
