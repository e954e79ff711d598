// Owns: the side of a job that has to do with the entry of a container: what it is given, what it said, what its code means.
// Refuses: to know what makes the container.
import { RUN_USER } from '../../contract/run-environment.ts';
import { ENTRY_CODES, OBSERVED_WORD } from '../entry-script.ts';
import { demandedFacts } from '../observation.ts';
import { shWord } from './sh-word.ts';

/**
 * The entry of the container says what it sees as its first line, and waits; it is compared here before the gate opens.
 * The gate is the lifeline of the container: everything in it ends when the job no longer holds it.
 */
export const ENTRY_HOOKS = `
hear_first() {
  IFS= read -r line || return 0
  printf '%s\\n' "$line" >"$meta/observed.new" && mv "$meta/observed.new" "$meta/observed"
}
is_seen() {
  read -r line <"$meta/observed" || return 1
  case $line in "${OBSERVED_WORD} $facts writable="*) ;; *) return 1 ;; esac
}
judge_code() {
  started=true
  ! lost || finish killed
  case $code in
    ${ENTRY_CODES.containment}) finish containment ;;
    ${ENTRY_CODES.beganBefore} | ${ENTRY_CODES.cannotClaim}) cannot 'out/ is not its to write in the container' ;;
    ${ENTRY_CODES.notStarted}) started=false ;;
    ${ENTRY_CODES.memory}) oom=true ;;
    ${ENTRY_CODES.killedInside}) code=137 ;;
    137) finish killed ;;
  esac
}
patience=6000
`;

/** Sets `busybox`, `uid`, `gid`, `facts` and `network`, and gives the folders to that user. Of a path with a comma engines make two options. */
export const entryStage = (busybox: string | undefined): string => `
for busybox in ${(busybox === undefined ? USUAL_PLACES : [busybox]).map(shWord).join(' ')}; do [ ! -x "$busybox" ] || break; done
[ -x "$busybox" ] || cannot 'the node has no busybox to look at the container from inside (busybox-static)'
case $folder$scratch$busybox in *[,\\"]*) cannot 'the path of the attempt has a comma or a quote in it' ;; esac
network=$(readlink /proc/self/ns/net) uid=$(id -u) gid=$(id -g)
if [ "$uid" = 0 ]; then
  uid=${RUN_USER.uid} gid=${RUN_USER.gid}
  chown "$uid:$gid" "$out" && chgrp "$gid" "$scratch/gate" && chmod 640 "$scratch/gate" && chmod -R a+rX "$folder/in" ||
    cannot 'the folders of the attempt cannot be given to an ordinary user'
else
  chmod 400 "$scratch/gate"
fi
chmod 1700 "$out"
facts="${demandedFacts('$uid:$gid')}"`;

const USUAL_PLACES = [
  '/bin/busybox',
  '/usr/bin/busybox',
  '/usr/lib/busybox/busybox-static',
  '/usr/local/bin/busybox',
];
