// Owns: which grants are too dangerous to be offered by a program: what they are, and why, in words for the person who decides.
// Not here: refusing them. Who writes such a line by hand, and trusts it, gets what it says.
import { classifyHost } from '../base/ip-address.ts';
import { EXECUTED_UNASKED, isExecutedUnasked } from '../contract/executed-files.ts';
import type { PathRule } from '../contract/policy.ts';
import type { Grant } from './section.ts';

export interface Danger {
  /** What would be granted, as it was asked for: `rm -rf build`. It can hold anything that a caller sent. */
  readonly what: string;
  readonly why: string;
}

/** Every part of the grant that nobody should paste without thinking; empty where there is none. */
export function dangersOf(grant: Grant): readonly Danger[] {
  const found: Danger[] = [];
  const tell = (what: string, why: string | undefined) => {
    if (why !== undefined) found.push({ what, why });
  };
  for (const entry of grant.shell_allow ?? []) {
    const command = commandOf(typeof entry === 'string' ? entry : entry.pattern);
    tell(command, dangerOfCommand(command));
  }
  for (const entry of grant.network?.allowed_domains ?? []) {
    const domain = typeof entry === 'string' ? entry : entry.domain;
    tell(domain, dangerOfHost(domain));
  }
  for (const root of grant.paths?.extra_roots ?? []) tell(root, dangerOfFolder(root));
  for (const rule of grant.paths?.rules ?? []) tell(rule.path, dangerOfRule(rule));
  for (const { tool, decision } of grant.tools?.rules ?? [])
    if (decision === 'allow' && /^\*+$/.test(tool)) tell(tool, 'allows every tool');
  if (grant.tools?.default === 'allow') tell('tools.default', 'allows every tool');
  if (grant.sandbox === 'optional') tell('sandbox', 'lets programs run without a sandbox');
  return found;
}

/** The command that a pattern was made of, as `patternFor` of sections/shell-allow.ts makes them; any other as it is. */
const commandOf = (pattern: string): string =>
  pattern
    .replace(/^\^/, '')
    .replace(/(\(\\s\|\$\)|\$)$/, '')
    .replaceAll(/\\([\\^$.*+?()[\]{}|])/g, '$1');

/** One of these words, wherever it stands: options may come before it. */
const verb = (words: string): RegExp => new RegExp(`(^|\\s)(${words})(\\s|$)`);

/** Programs, each with the arguments that make it dangerous; none: all of them. */
const COMMANDS: readonly (readonly [programs: string, why: string, args?: RegExp])[] = [
  ['rm', 'deletes whole folders', /(^|\s)(-[a-zA-Z]*[rR]|--recursive)|\*/],
  ['find', 'deletes what it finds, or runs programs on it', /(^|\s)-(delete|exec|execdir|ok|okdir)\b/],
  ['sudo su doas pkexec run0 runuser setpriv chroot nsenter unshare', 'runs programs with other rights'],
  // `curl … | sh`: without a script of its own a shell runs what it is sent.
  [
    'sh bash dash zsh ksh mksh ash fish csh tcsh',
    'runs whatever it is sent',
    /^$|(^|\s)(-(\s|$|\w*[cs])|\/dev\/)/,
  ],
  ['python python3 node deno perl ruby php', 'runs whatever it is sent', /^(-|\/dev\/\S*)?$/],
  ['eval source . exec busybox', 'runs whatever it is given'],
  [
    'chmod chown chgrp',
    'changes the rights of whole folders',
    /(^|\s)(-[a-zA-Z]*R|--recursive|0?777|a\+rwx)/,
  ],
  ['dd shred wipefs fdisk parted mkswap', 'overwrites disks and files'],
  ['shutdown reboot halt poweroff init telinit', 'stops the machine'],
  ['mount umount modprobe insmod sysctl iptables nft', 'changes the system'],
  ['systemctl service crontab at batch useradd usermod passwd visudo', 'changes the system'],
  [
    'apt apt-get dnf yum apk pacman brew snap',
    'changes the system',
    verb('install|remove|purge|upgrade|-S\\w*'),
  ],
  [
    'docker podman nerdctl',
    'starts containers, which no sandbox holds',
    verb('run|exec|create|compose|build'),
  ],
  ['kubectl helm terraform', 'changes other machines', verb('apply|delete|destroy|install|upgrade|exec')],
  ['ssh scp sftp nc ncat netcat socat telnet', 'reaches other machines'],
  ['npm pnpm yarn bun cargo gem poetry twine', 'publishes packages', verb('publish|push|upload')],
  ['git hg', 'throws work away or publishes it', verb('push|clean|reset|filter-branch')],
];

/** Paths of the machine and of its users. */
const PLACES =
  /(^|[\s'"=:<>])((\/|(\.\.\/)+)(etc|root|boot|proc|sys|var\/run|var\/lib)(\/|\s|$)|\/dev\/(?!(null|zero|full|u?random|std\w+|tty|fd)\b)|\/(\s|$|\*)|~|\$HOME|\/home\/[^/\s]+(\/?(\s|$)|\/\.))/;
const SECRETS =
  /(^|[/\s])(\.ssh|\.aws|\.gnupg|\.netrc|\.pgpass|\.kube|\.docker\/config\.json|id_(rsa|dsa|ecdsa|ed25519)\b)/;

function dangerOfCommand(command: string): string | undefined {
  if (command === '<any program>' || /^(\.[*+]|\*|\(|\[|$)/.test(command)) return 'allows any command';
  const [, name = '', args = ''] = /^(\S+)\s*(.*)$/s.exec(command) ?? [];
  const program = name.slice(name.lastIndexOf('/') + 1);
  if (/^mkfs/.test(program)) return 'overwrites disks and files';
  const row = COMMANDS.find(
    ([programs, , dangerous]) =>
      programs.split(' ').includes(program) && (!dangerous || dangerous.test(args)),
  );
  if (row) return row[1];
  if (/(^|\s|\/)\.\*(\s|$)/.test(command)) return 'allows any command';
  if (PLACES.test(command)) return 'works on folders of the system or on a whole home folder';
  return SECRETS.test(args) ? 'works on keys and passwords' : undefined;
}

function dangerOfHost(domain: string): string | undefined {
  const host = domain.replace(/:\d+$/, '').toLowerCase();
  if (/^\*(\.[^.]+)?$/.test(host)) return 'allows nearly every host';
  if (/(^|\.)metadata(\.|$)|^instance-data(\.|$)/.test(host)) return METADATA;
  const { kind } = classifyHost(host) ?? {};
  return kind === 'metadata' || kind === 'never' ? METADATA : undefined;
}

const METADATA = "leads to a link-local address, where a cloud's machines get their passwords";

/** Folders that hold more than a project. */
const WIDE =
  /^(~|\$HOME|\/|(\.\.\/?)+|\/(etc|root|boot|proc|sys|dev|usr|var|opt|home|Users|mnt|media|run|bin|sbin|lib|tmp)|\/(home|Users)\/[^/]+)\/?$|^\/(etc|root|boot|proc|sys|dev|run)\//;

const dangerOfFolder = (folder: string): string | undefined =>
  WIDE.test(folder) || SECRETS.test(folder)
    ? 'opens folders of the system or a whole home folder'
    : undefined;

function dangerOfRule({ path, read, write }: PathRule): string | undefined {
  if (read !== 'allow' && write !== 'allow') return undefined;
  if (/^[*/.]*$/.test(path)) return 'opens every file';
  if (/(^|\/)\.env|\.pem$|\.key$/.test(path) || SECRETS.test(path)) return 'opens keys and passwords';
  const isExecuted = EXECUTED_UNASKED.some(({ globs }) => globs.includes(path)) || isExecutedUnasked(path);
  return write === 'allow' && isExecuted ? 'lets tools write what runs on your machine by itself' : undefined;
}
