// Owns: deciding `exec`: the canonical command must match shell_allow of every layer that has one.
// Refuses: parsing; the effect is one simple command, and a line with several has several effects.
import type { Verdict } from '../../contract/policy.ts';
import type { Layer } from '../compile-policy.ts';
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideExec: Decider<'exec'> = ({ command }, { layers, patterns }) => {
  const findings: Finding[] = [];
  for (const layer of layers) {
    if (!layer.commands) continue;
    const missing = layer.commands.some(({ pattern }) => !patterns.has(pattern));
    if (missing) return [NOT_READY];
    const isFound = (pattern: string, verdict: Verdict) =>
      textsOf(command).some((text) => patterns.get(pattern)?.(text, verdict));
    const matching = layer.commands.filter(({ pattern, verdict }) => isFound(pattern, verdict));
    // What denies may be found anywhere; turned around, it may still not be what allows the command.
    const allowed = layer.commands.some(({ pattern }) => isFound(pattern, 'allow'));
    const missed = allowed ? [] : [patternFor(command)];
    for (const { rule, pattern, verdict } of matching) {
      const { where, ...cited } = layer.cite(rule);
      const grant = layer.grant({ shell_allow: [{ pattern, decision: 'allow' }, ...missed] });
      findings.push({ verdict, ...cited, fact: `${where} says ${verdict}`, grant });
    }
    if (matching.length === 0) findings.push(notAllowed(layer, command));
  }
  return findings;
};

function notAllowed(layer: Layer, command: string): Finding {
  const { where: _, ...cited } = layer.cite('shell_allow');
  return {
    verdict: 'deny',
    ...cited,
    reason: 'shell.not_allowed',
    fact: command === '*' ? anyProgramFact(layer) : `it matches no entry of shell_allow of ${layer.name}`,
    grant: layer.grant({ shell_allow: [patternFor(command)] }),
  };
}

/** Nobody can hold what such a program starts to a list, so that an entry has to say that it may be anything. */
const anyProgramFact = ({ name }: Layer): string =>
  `caps.subprocess asks for it, and shell_allow of ${name} lists commands without an entry for any program`;

/** How an entry names programs that are not known before: `<` cannot begin a command. `*` is how it was named at first. */
const ANY_PROGRAM = '<any program>';

const textsOf = (command: string): readonly string[] =>
  command === '*' ? [ANY_PROGRAM, command] : [command];

const NOT_READY: Finding = {
  verdict: 'deny',
  rule: 'shell_allow',
  reason: 'shell.not_allowed',
  fact: 'shell_allow is still being read; try again',
};

/** The program with its subcommand where it has some (`cargo test …`), else exactly this command. */
function patternFor(command: string): string {
  if (command === '*') return `^${ANY_PROGRAM}$`;
  const [subcommand, program = ''] = /^([A-Za-z0-9_.-]+) [a-z][a-z0-9:_-]*(?= |$)/.exec(command) ?? [];
  return subcommand !== undefined && WITH_SUBCOMMANDS.has(program)
    ? `^${escapePattern(subcommand)}(\\s|$)`
    : `^${escapePattern(command)}$`;
}

/** Of others the first word after the name is a file, and a line that allows it would allow any beside it. */
const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set(
  `apt apt-get brew bun bundle cargo composer conda dnf docker docker-compose dotnet gem gh git go gradle helm hg
  kubectl make mvn nix npm pip pip3 pipenv pnpm podman poetry rake rustup svn systemctl terraform turbo uv yarn`.split(
    /\s+/,
  ),
);

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
