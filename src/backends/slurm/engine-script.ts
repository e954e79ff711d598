// Owns: the shell text that contains a program with a container of the node's Docker or Podman: the same flags for both.
// Refuses: to pull, to run an image by a tag, and to let a container outlive its job, however the job ends.
import { WORK_FOLDER } from '../../contract/plan.ts';
import { ENTRY_CODES, ENTRY_PROGRAM, entryScript, LIFELINE_PIPE, OBSERVED_WORD } from '../entry-script.ts';
import { demandedFacts } from '../observation.ts';
import { type ContainedProgram, HOST_NAME, OUTSIDE_ID } from './contained-program.ts';
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
  const { kind, command = kind, socket, busybox, processes = 1024 } = container;
  const { attemptId, argv, env, image = '', resources } = program;
  const engine = [command, ...(socket === undefined ? [] : [SOCKET_OPTION[kind], `unix://${socket}`])];
  const { added, tmp, flags, remove } = DIFFERENCES[kind];
  const unwanted = added.filter((name) => env[name] === undefined).join(' ');
  const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const entry = ['sh', '-c', entryScript({ lifeline: true }), 'haft'];
  return [
    HOOKS,
    `engine() { ${engine.map(shWord).join(' ')} "$@" 6>&- 7>&-; }`,
    `contain() { exec ${engine.map(shWord).join(' ')} start --attach "$container" 6>&- 7>&-; }`,
    `container=${shWord(`haft-${attemptId}`)} remove='${remove}'`,
    `for busybox in ${(busybox === undefined ? BUSYBOXES : [busybox]).map(shWord).join(' ')}; do [ ! -x "$busybox" ] || break; done`,
    STAGE,
    `facts="${demandedFacts('$uid:$gid')}"`,
    [
      'engine create --rm --name "$container" --network none --ipc none --read-only --cap-drop ALL',
      '--security-opt no-new-privileges --user "$uid:$gid" --memory "$memory" --memory-swap "$memory"',
      `--pids-limit ${processes} --cpus ${resources.cpus} --pull never --hostname ${HOST_NAME} --log-driver none`,
      `--workdir ${WORK_FOLDER} --entrypoint ${ENTRY_PROGRAM} --tmpfs "/tmp:rw,nosuid,nodev,size=$memory,mode=1777,${tmp}"`,
      `--mount "type=bind,src=$folder/in,dst=${WORK_FOLDER}/in,readonly" --mount "type=bind,src=$out,dst=${WORK_FOLDER}/out"`,
      `--mount "type=bind,src=$busybox,dst=${ENTRY_PROGRAM},readonly"`,
      `--mount "type=bind,src=$scratch/gate,dst=${LIFELINE_PIPE},readonly"`,
      `${flags} ${variables.map(shWord).join(' ')}`,
      `-- ${[image, ...entry].map(shWord).join(' ')} "$facts" "$(readlink /proc/self/ns/net)" ${shWord(unwanted)}`,
      `${argv.map(shWord).join(' ')} >/dev/null 2>"$scratch/said" ||`,
      `cannot "no container can be made on the node: $(tail -n 1 "$scratch/said" | head -c 300 | tr -d '\\000-\\037')"`,
    ].join(' \\\n  '),
  ].join('\n');
}

const SOCKET_OPTION = { docker: '--host', podman: '--url' } as const;

const BUSYBOXES = [
  '/bin/busybox',
  '/usr/bin/busybox',
  '/usr/lib/busybox/busybox-static',
  '/usr/local/bin/busybox',
];

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

/**
 * The entry of the container says what it sees as its first line, and waits; it is compared here before the gate opens.
 * The gate is the lifeline of the container: everything in it ends when the job no longer holds it. Its first process is
 * killed directly, which is faster than any command.
 */
const HOOKS = `
hear_first() {
  IFS= read -r line || return 0
  printf '%s\\n' "$line" >"$meta/observed.new" && mv "$meta/observed.new" "$meta/observed"
}
is_seen() {
  read -r line <"$meta/observed" || return 1
  case $line in "${OBSERVED_WORD} $facts writable="*) ;; *) return 1 ;; esac
}
note_seen() {
  inside=$(engine inspect --format '{{.State.Pid}}' "$container" 2>/dev/null)
  case $inside in '' | 0 | *[!0-9]*) inside= ; return ;; esac
  at=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p' "/proc/$inside/cgroup")
  [ -n "$at" ] || at=$(sed -n 's|^0::|/sys/fs/cgroup|p' "/proc/$inside/cgroup")
  [ ! -r "$at/cgroup.procs" ] || held=$at
}
end_contained() {
  [ -n "$inside" ] && kill -KILL "$inside" 2>/dev/null || clean_up
}
clean_up() { [ -z "$container" ] || engine $remove "$container" >/dev/null 2>&1; }
judge_code() {
  started=true
  case $code in
    ${ENTRY_CODES.containment}) finish containment ;;
    ${ENTRY_CODES.beganBefore} | ${ENTRY_CODES.cannotClaim}) cannot 'out/ is not its to write in the container' ;;
    ${ENTRY_CODES.notStarted}) started=false ;;
    ${ENTRY_CODES.memory}) oom=true ;;
    ${ENTRY_CODES.killedInside}) code=137 ;;
    137) finish killed ;;
    125) engine version >/dev/null 2>&1 || finish killed ;;
  esac
}
container= uid= gid= own_ids= patience=6000
`;

/** Of a path with a comma an engine would make two options. Podman without root shows a user its own id only when asked to. */
const STAGE = `
[ -x "$busybox" ] || cannot 'the node has no busybox to look at the container from inside (busybox-static)'
case $folder$scratch$busybox in *[,\\"]*) cannot 'the path of the attempt has a comma or a quote in it' ;; esac
: "\${HOME:=$(getent passwd "$(id -u)" | cut -d : -f 6)}"
export HOME
uid=$(id -u) gid=$(id -g)
if [ "$uid" = 0 ]; then
  uid=${OUTSIDE_ID} gid=${OUTSIDE_ID}
  chown "$uid:$gid" "$out" && chgrp "$gid" "$scratch/gate" && chmod 640 "$scratch/gate" && chmod -R a+rX "$folder/in" ||
    cannot 'the folders of the attempt cannot be given to an ordinary user'
else
  own_ids=--userns=keep-id
  chmod 400 "$scratch/gate"
fi
chmod 1700 "$out"`;
