// Owns: the line that installs a package on this machine.
// Refuses: to install it.
import { readFileSync } from 'node:fs';

/** By what /etc/os-release says; every line that is known where it says nothing known. */
export function installHint(packageName: string, release: string = readRelease()): string {
  const of = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(release)?.[1] ?? '';
  const ids = `${of('ID')} ${of('ID_LIKE')}`;
  const own = INSTALLERS.find(({ like }) => like.test(ids));
  const lines = (own ? [own] : INSTALLERS).map(({ command }) => `${command} ${packageName}`);
  return `Install it: ${lines.join(', or ')}`;
}

const INSTALLERS: readonly { readonly like: RegExp; readonly command: string }[] = [
  { like: /\b(debian|ubuntu)\b/, command: 'apt-get install' },
  { like: /\b(fedora|rhel|centos)\b/, command: 'dnf install' },
  { like: /\balpine\b/, command: 'apk add' },
  { like: /\barch\b/, command: 'pacman -S' },
  { like: /suse/, command: 'zypper install' },
];

function readRelease(): string {
  try {
    return readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}
