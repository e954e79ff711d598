// Owns: the text of the batch script: claim, contain, run, watch, and say how it ended. It is all that runs on a node.
// Refuses: anything but a POSIX shell, coreutils, findutils and awk on the node, and to execute without the claim.

import { shWord } from '../../base/shell/shell-quote.ts';
import type { Attempt } from '../../contract/backend.ts';
import { RUN_PATH, runVariables } from '../../contract/run-environment.ts';
import { roomFor } from '../watch-out.ts';
import { containScript, type JobContainer } from './containers.ts';

export interface ScriptRequest {
  readonly attempt: Attempt;
  readonly name: string;
  /** Where a file appears when a job claims or ends its attempt. */
  readonly bell: string;
  readonly container: JobContainer;
  readonly logBytes: number;
  readonly maxEntries: number;
}

/** What the script says about its end, in `meta/result.json`. */
export interface JobResult {
  readonly job: string;
  readonly restart: number;
  readonly node: string;
  /** `exit`: by itself. `told`: Slurm sent a signal. `killed`: somebody ended the container, and it was not the job. */
  readonly ended:
    | 'exit'
    | 'told'
    | 'setup'
    | 'containment'
    | 'killed'
    | 'limit.time'
    | 'limit.log_bytes'
    | 'limit.output_bytes';
  readonly code: number;
  /** Whether the program could be executed at all. */
  readonly started: boolean;
  readonly oom: boolean;
  readonly full: boolean;
  readonly outputs: readonly HashedOutput[];
}

/** Of a folder: the bytes of all its files, and the hash of the records that `verdict.ts` tells of. */
export interface HashedOutput {
  readonly src: string;
  readonly bytes: number;
  readonly sha256: string;
}

export function jobScript({ attempt, name, bell, container, ...limits }: ScriptRequest): string {
  const { plan, folder } = attempt;
  const { wallMs, outputBytes, memoryBytes } = plan.resources;
  const values = {
    folder,
    name,
    bell,
    // Hundredths of a second, as /proc/uptime counts.
    wall: Math.ceil(wallMs / 10),
    max_out: roomFor(outputBytes),
    max_log: limits.logBytes,
    max_entries: limits.maxEntries,
    memory: memoryBytes,
  };
  const { argv, image, resources } = plan;
  const env = runVariables(plan.env);
  const { id: attemptId, tool } = attempt;
  const program = {
    attemptId,
    argv,
    env,
    resources,
    ...(tool === undefined ? {} : { tool }),
    ...(image === undefined ? {} : { image }),
  };
  return [
    '#!/bin/sh',
    ...Object.entries(values).map(([key, value]) => `${key}=${shWord(String(value))}`),
    PROLOGUE,
    containScript(container, program),
    RUN,
    'each_output() {',
    '  :',
    ...plan.outputs.map(({ src }) => `  output ${shWord(src)} ${shWord(JSON.stringify(src))}`),
    '}',
    EPILOGUE,
  ].join('\n');
}

/** The platform is in a run's key. */
const MACHINE = `Linux/${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? '*'}`;

/** Up to the claim, and all ways to end. `once` tells by the link count when a network file system lost its answer. */
const PROLOGUE = `
set -u
umask 077
PATH=${RUN_PATH} LC_ALL=C
export PATH LC_ALL
meta=$folder/meta out=$folder/out
job=\${SLURM_JOB_ID:-0} restart=\${SLURM_RESTART_COUNT:-0} node=\${SLURMD_NODENAME:-}
mine=$job.$restart.$$
once() {
  sync "$1" && { ln -T "$1" "$2" 2>/dev/null || [ "$(stat -c %h "$1")" = 2 ]; }
  set -- "$1" "$?"
  rm -f "$1"; sync "$meta"
  return "$2"
}
printf '{"by":"job","job":"%s","restart":%s,"node":"%s"}\\n' "$job" "$restart" "$node" >"$meta/claim.$mine" || exit 1
once "$meta/claim.$mine" "$meta/claim" || { [ -e "$meta/claim" ]; exit; }
: >"$bell/$name.claimed"
told= sandbox= inside= scratch= streams= filtered=
code=-1 started=false oom=false full=false outputs=
hear_first() { :; }
clean_up() { :; }
trap 'told=1; [ -z "$sandbox" ] || end_contained' TERM INT HUP
finish() {
  trap '' TERM INT HUP
  clean_up
  [ -z "$told" ] || [ "$1" != exit ] || set -- told
  [ -z "$streams" ] || kill -KILL $streams 2>/dev/null
  printf '{"v":1,"job":"%s","restart":%s,"node":"%s","ended":"%s","code":%s,"started":%s,"oom":%s,"full":%s,"outputs":[%s]}\\n' \\
    "$job" "$restart" "$node" "$1" "$code" "$started" "$oom" "$full" "$outputs" >"$meta/result.$mine" &&
    once "$meta/result.$mine" "$meta/result.json"
  : >"$bell/$name.ended"
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ "$1" != exit ] || [ "$code" -lt 0 ] || exit "$code"
  exit 1
}
cannot() { printf '%s\\n' "$1" >"$meta/trouble"; finish setup; }
case $(uname -s)/$(uname -m) in ${MACHINE}) ;; *) cannot "the node is of another platform than the run: it is $(uname -s)/$(uname -m), not ${MACHINE}" ;; esac
scratch=$(mktemp -d "\${TMPDIR:-/tmp}/haft.XXXXXXXX") || cannot 'no temporary folder can be made on the node'
group=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p' /proc/self/cgroup)
[ -n "$group" ] || group=$(sed -n 's|^0::|/sys/fs/cgroup|p' /proc/self/cgroup)
# Where the processes are whose open files count.
held=$group patience=500
oom_kills() { sed -n 's/^oom_kill //p' "$group/memory.oom_control" "$group/memory.events" 2>/dev/null | head -n 1; }
mkfifo "$scratch/1" "$scratch/2" "$scratch/gate" && : >"$scratch/status" && : >"$meta/log" ||
  cannot 'files cannot be made on the node'
# Opened both ways, so that it waits for nobody.
exec 7<>"$scratch/gate"
`;

/**
 * `is_seen` is asked until it agrees, since the sandbox is being made meanwhile, and the program waits at the gate until
 * then. Files that were unlinked count for as long as they are open. `tee` outlives a SIGTERM to the job, so that the
 * log is whole. Only the script itself and the sandbox hold the gate: it closes when they are gone.
 */
const RUN = `
written() {
  find "$out" -mindepth 1 -printf '%s %b %y\\n'
  find -L $(sed 's|.*|/proc/&/fd|' "$held/cgroup.procs") -maxdepth 1 -type f -links 0 -printf '%D:%i %s %b\\n' |
    awk -v device="$(stat -c %d "$out"):" 'index($1, device) == 1 && !seen[$1]++ { print $2, $3, "f" }'
}
over() { echo "$1" >"$scratch/why"; end_contained; exit; }
watch() {
  while sleep 0.25; do
    read -r now _ </proc/uptime
    [ "\${now%.*}\${now#*.}" -lt "$deadline" ] || over limit.time
    [ "$(stat -c %s "$meta/log")" -le "$max_log" ] || over limit.log_bytes
    # As on every backend: only much more than it may leave ends it before its end.
    written | awk -v room="$max_out" -v entries="$max_entries" '
      { n++; taken += $2 * 512 } $3 == "f" { size += $1 }
      END { exit size > room || taken > room || n > entries }' || over limit.output_bytes
  done
}
for stream in 1:stdout 2:stderr; do
  (
    trap '' TERM INT HUP
    exec <"$scratch/\${stream%:*}" >"$meta/\${stream#*:}" 7>&-
    [ "$stream" != 1:stdout ] || hear_first
    exec tee -a "$meta/log"
  ) &
  streams="$streams $!"
done
kills=$(oom_kills)
contain "$@" </dev/null >"$scratch/1" 2>"$scratch/2" 6>"$scratch/status" &
sandbox=$!
tries=0
until is_seen 2>/dev/null; do
  tries=$((tries + 1))
  if [ -n "$told" ] || [ "$tries" -gt "$patience" ] || ! kill -0 "$sandbox" 2>/dev/null; then
    end_contained
    wait "$sandbox"
    # What it said last may still be on its way.
    [ -n "$told" ] || wait $streams
    [ -z "$told" ] || finish told
    [ -z "$inside" ] && [ ! -s "$meta/observed" ] || finish containment
    cannot "no sandbox can be made on the node: $(head -c 300 "$meta/stderr" | tr -d '\\000-\\037')"
  fi
  sleep 0.01
done
note_seen
read -r now _ </proc/uptime
deadline=$((\${now%.*}\${now#*.} + wall))
echo >&7
watch 2>/dev/null 7>&- &
watcher=$!
tries=0
while [ -n "$filtered" ] && [ "$tries" -lt 50 ]; do
  tries=$((tries + 1))
  seccomp=$(sed -n 's/^Seccomp:[^0-9]*//p' "/proc/$inside/status" 2>/dev/null)
  [ "$seccomp" = 2 ] && printf '== seccomp\\n2\\n' >>"$meta/observed" && break
done
`;

/**
 * `wait` answers early when a signal comes. bubblewrap may end a moment before its first process inside; once that one
 * is dead, though perhaps not yet collected, all others are gone.
 */
const EPILOGUE = `
folder_records() {
  cd "./$1" || exit
  find . -mindepth 1 -type d -printf 'folder %P\\0'
  find . -type f -perm -100 -printf 'runs %P\\0'
  find . -type f -exec sha256sum -z -- {} +
}
output() {
  case $1 in
    */) [ -d "$1" ] || return
      bytes=$(find "./$1" -type f -printf '%s\\n' | awk '{ sum += $1 } END { printf "%.0f", sum }')
      sum=$(folder_records "$1" | sort -z | sha256sum) ;;
    *) [ -f "$1" ] || return
      bytes=$(stat -c %s -- "$1") sum=$(sha256sum <"$1") ;;
  esac
  outputs="$outputs\${outputs:+,}{\\"src\\":$2,\\"bytes\\":$bytes,\\"sha256\\":\\"\${sum%% *}\\"}"
}
alive() {
  [ -r "/proc/$inside/status" ] || return 1
  while read -r key value _; do case $key$value in State:[ZX]) return 1 ;; esac; done <"/proc/$inside/status"
} 2>/dev/null
wait "$sandbox"
code=$?
while kill -0 "$sandbox" 2>/dev/null; do wait "$sandbox"; code=$?; done
tries=0
while alive && [ "$tries" -lt 500 ]; do tries=$((tries + 1)); sleep 0.01; done
kill "$watcher" 2>/dev/null
wait $streams
streams= sandbox=
[ "$(oom_kills)" = "$kills" ] || oom=true
[ "$(stat -f -c %a "$out")" -gt 0 ] || full=true
[ ! -s "$scratch/why" ] || finish "$(cat "$scratch/why")"
[ -z "$told" ] || finish told
judge_code
if [ "$code" = 0 ] && cd "$out" && [ -z "$(find . -type l | head -n 1)" ]; then each_output; fi
finish exit
`;
