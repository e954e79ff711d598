// Owns: the tool environment_probe: everything of docs/run-environment.md as a program sees it, as text, one section for each row.
// Refuses: what the page says cannot be equal: kernel, CPUs, process ids, owners of what the program may not change, /sys.
import { defineTool, type HybridPlan, type ObjectId } from 'haft/toolpack';

interface Args {
  readonly image: string;
  readonly text: ObjectId;
  readonly env?: Readonly<Record<string, string>>;
  /** What executes the script, as the plan names it: by its path, or by a name that PATH leads to. */
  readonly shell: readonly [string, ...string[]];
}

/** With the busybox of the image, or of the machine, by its path: what PATH holds is one of the questions. */
const PROBE = `
b=/bin/busybox
open=$(for at in /proc/$$/fd/*; do [ -e $at ] && $b stat -L -c '%F' $at; done)
{
  echo "== program"
  $b tr '\\0' '\\n' </proc/$$/cmdline | $b sed -n '/^-c$/q; p'
  error=$( ( no_such_program ) 2>&1 ); echo "$0 \${error%%:*}"
  echo "== user"
  $b id -u; $b id -g; $b id -G
  for group in $($b sed -n 's/^Groups://p' /proc/$$/status); do [ $group = "$($b id -g)" ] || echo "group $group"; done
  $b sed -n 's/[[:space:]]\\+/ /g; /^Umask:/p; /^Sig\\(Blk\\|Ign\\):/p; /^Cap...:/p; /^NoNewPrivs:/p; /^Seccomp:/p' /proc/$$/status
  echo "== environment"
  $b tr '\\0' '\\n' </proc/$$/environ | $b sort
  echo "== place"
  $b readlink /proc/$$/cwd; $b cat /proc/sys/kernel/hostname; $b date '+%Z %z'
  for at in /work /work/in /work/in/*; do $b stat -c '%n %F %a' $at; done
  for at in /work/out /tmp /dev/shm; do $b stat -c '%n %F %a %u:%g' $at; done
  echo "== can be written"
  for at in / /bin /dev /dev/shm /etc /home /opt /proc /root /run /srv /sys /tmp /usr /var /var/tmp /work /work/in /work/out; do
    ( : >$at/probe ) 2>/dev/null && { echo $at; $b rm $at/probe; }
  done
  echo "== scratch"
  for at in /tmp /dev/shm; do $b ls -A $at; $b stat -f -c '%T %S %b' $at; done
  $b awk '$2 ~ "^/(tmp|dev/shm)$" { split($4, o, ","); s = $2; for (i in o) if (o[i] ~ /^(rw|ro|nosuid|nodev|noexec)$/) has[$2 o[i]] = 1
    print s, has[s "rw"] + 0, has[s "nosuid"] + 0, has[s "nodev"] + 0, has[s "noexec"] + 0 }' /proc/mounts | $b sort
  $b cp $b /tmp/busybox && /tmp/busybox echo "runs from /tmp"; $b rm /tmp/busybox
  echo "== devices"
  for at in /dev/*; do
    if [ $at = /dev/core ]; then :
    elif [ -L $at ]; then echo "$at -> $($b readlink $at)"
    else $b stat -c '%n %F %a %t:%T' $at; fi
  done
  echo "== streams"
  $b readlink /proc/$$/fd/0; $b cat | $b wc -c; echo "$open"
  ( echo text >&0 ) 2>/dev/null && echo "standard input can be written"
  echo "== limits"
  $b sed -n 's/  */ /g; /^Max \\(cpu time\\|file size\\|data size\\|stack size\\|core file size\\|open files\\|locked memory\\|address space\\|file locks\\) /p' /proc/$$/limits
  echo "== what it makes"
  : >out/file; $b mkdir out/folder; $b stat -c '%n %a %u:%g' out/file out/folder; $b rm -r out/file out/folder
  echo "== network"
  $b sed -n 's/^ *\\([^ :]*\\):.*/\\1/p' /proc/net/dev
  $b cat /proc/sys/net/ipv4/ip_unprivileged_port_start
  $b timeout -s KILL 5 $b httpd -f -p 127.0.0.1:80 2>/dev/null; echo "port 80: $?"
  $b ping -c 1 -W 5 127.0.0.1 >/dev/null 2>&1; echo "ping: $?"
  echo "== programs"
  which_program=$($b which sh); echo "\${which_program##*/}"
} >out/environment 2>&1
`;

const OUTPUTS = [
  { role: 'environment', type: 'text/plain', label: 'Environment', srcRelpath: 'out/environment' },
];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: 'environment_probe',
  contractVersion: 'v1',
  planKind: 'hybrid',
  description: 'Prints everything that a program of a run finds around it.',
  input: {
    type: 'object',
    properties: {
      image: { type: 'string' },
      text: { type: 'string' },
      env: { type: 'object', additionalProperties: { type: 'string' } },
      shell: { type: 'array', items: { type: 'string' } },
    },
    required: ['image', 'text', 'shell'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,
  async canonicalize({ image: name, text, env = {}, shell }, ctx) {
    const common = {
      image: await ctx.images.pin(name),
      argv: [...shell, '-c', PROBE],
      env,
      resources: { cpus: 1, memoryBytes: 64 * 1024 * 1024, wallMs: 120_000, outputBytes: 1024 * 1024 },
    };
    const input = { role: 'text', artifactId: text };
    return {
      canonicalParams: {},
      inputsToLink: [input],
      plan: {
        kind: 'hybrid',
        docker: { kind: 'docker', ...common, inputs: [{ ...input, destName: 'text' }] },
        slurm: {
          kind: 'slurm',
          ...common,
          io: { inputs: [{ ...input, dest_relpath: 'in/text' }], outputs: OUTPUTS },
        },
      },
    };
  },
  async run(run) {
    await run.execute();
    await run.linkOutput('environment');
    return {};
  },
});
