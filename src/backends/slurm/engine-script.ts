// Owns: the shell text that contains a program with a container of the node's Docker or Podman: the same flags for both.
// Refuses: to pull, to run an image by a tag, and to let a container outlive its job, however the job ends.
import { WORK_FOLDER } from '../../contract/plan.ts';
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import { RUN_HOST_NAME, RUN_SCRATCH, RUN_SYSCTLS } from '../../contract/run-environment.ts';
import { ENTRY_PROGRAM, entryScript, LIFELINE_PIPE } from '../entry-script.ts';
import { type ContainedProgram, ENTRY_HOOKS, entryStage } from './contained-program.ts';
import { shWord } from './sh-word.ts';

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

export function engineScript(container: EngineContainer, program: ContainedProgram): string {
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
    HOOKS,
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
const HOOKS = `
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
