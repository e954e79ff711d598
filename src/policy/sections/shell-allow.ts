// Owns: `shell_allow`: which commands may run. A canonical command must match the list of every layer that has one.
// Not here: parsing lines; the effect is one simple command, and a line with several has several effects.
import { quoted } from '../../contract/diagnostic.ts';
import type { PolicyFile, ShellRule, Verdict } from '../../contract/policy.ts';
import type { CommandPattern, PatternCompiler } from '../../contract/policy-match.ts';
import { isStricter, loadPatternCompiler } from '../../contract/policy-match.ts';
import type { TextProblem } from '../../contract/shape.ts';
import type { CompiledPolicy, Draft, DraftSite, Finding, Layer, Section } from '../section.ts';
import { attempt, examples, list, map, rulesOf, shorthand, text, verdict } from '../shapes.ts';
import { answered, asRule, asSet, grantsOf, lists, shownGrants } from '../values.ts';

export const shellAllow = {
  key: 'shell_allow',
  written: () => ({
    shape: list(
      shorthand(
        'A pattern, or a pattern with more to say about it.',
        text('pattern', 'Commands that match may run.'),
        map(
          'A pattern with more to say about it.',
          {
            pattern: text(
              'pattern',
              'A linear-time regular expression (RE2) over the canonical simple command. Write it in single quotes.',
            ),
            decision: verdict('What happens to commands that match.', 'allow'),
            examples: examples('A shell line, taken apart as a call is: every command in it counts.'),
          },
          { required: ['pattern'] },
        ),
      ),
      'Commands that may run. Every simple command in a line must match. Without it: none.',
    ),
    async texts() {
      const compile = await loadPatternCompiler();
      return { pattern: (given) => checkPattern(given, compile) };
    },
    check: checkAnchors,
    async examples(draft) {
      const compile = draft.shell_allow ? await loadPatternCompiler() : undefined;
      return {
        rules: rulesOf(draft.shell_allow, 'shell_allow', 'pattern').map(({ rule, path }) => {
          const pattern = compile && attempt(rule.pattern, compile);
          return {
            path,
            examples: rule.examples,
            matches: (subject) => pattern?.(subject.text, rule.decision ?? 'allow') ?? false,
            says: () => rule.decision ?? 'allow',
          };
        }),
        byDefault: 'deny',
        wanted: 'a shell line',
        // Taken apart as a call is, so that a second command cannot hide behind the first. Where redirections lead is
        // not looked at: that is for path rules.
        async read(example) {
          const { analyzeShell } = await import('../../base/shell/analyze-shell.ts');
          const analysis = await analyzeShell(example);
          if (!analysis.ok) return { refused: analysis.message };
          return { calls: [analysis.commands.map(({ canonical }) => ({ text: canonical }))] };
        },
      };
    },
    // Which of two patterns matches more cannot be said in general. A command has to match both lists, so a
    // pattern can only narrow; where the host has none at all, it was meant to widen.
    widening: (host, session) =>
      grantsOf(host, 'pattern').length > 0 ? [] : grantsOf(session, 'pattern').map(({ at }) => `[${at}]`),
    // Only the same text is the same.
    changes(before, after) {
      const [old, now] = [commandsOf(before), commandsOf(after)];
      return lists('shell_allow', old, now, {
        // What allows counts from the start of a command, what asks is found anywhere in it: neither covers the other.
        added: ({ decision }) => decision !== 'deny',
        removed: (gone) =>
          gone.decision !== 'allow' &&
          !now.some((one) => one.pattern === gone.pattern && !isStricter(gone.decision, one.decision)),
      });
    },
    reach: 11,
    grants: (own) => shownGrants(own, 'pattern').map((pattern) => `commands that match ${pattern}`),
    below: (own = []) => own,
  }),
  meaning: (own) => hashed(own, (decision) => decision),
  project: ({ shell_allow: own }, _tool, complete) => ({
    shell_allow: own || complete ? hashed(own, answered) : null,
  }),
  effects: { exec: { decide, ready } },
} satisfies Section<'shell_allow'>;

type Commands = PolicyFile['shell_allow'];

const commandsOf = (own: Commands = []): { readonly pattern: string; readonly decision: Verdict }[] =>
  own.map((entry) => {
    const { pattern, decision = 'allow' } = asRule<ShellRule, 'pattern'>(entry, 'pattern');
    return { pattern, decision };
  });

const hashed = (own: Commands, decided: (decision: Verdict) => Verdict): unknown =>
  asSet(commandsOf(own).map(({ pattern, decision }) => [pattern, decided(decision)]));

/** Undefined where the layer says nothing of commands. */
const listed = ({ file, complete }: Layer) =>
  complete || file.shell_allow
    ? commandsOf(file.shell_allow).map((one, at) => ({ ...one, rule: `shell_allow[${at}]` }))
    : undefined;

/** By their text; empty until a command has to be decided. */
const patternsOf = (): Map<string, CommandPattern> => new Map();

function ready(policy: CompiledPolicy): Promise<void> | undefined {
  if (policy.part(patternsOf).size > 0) return undefined;
  const texts = policy.layers.flatMap((layer) => layer.part(listed) ?? []);
  return texts.length === 0 ? undefined : compilePatterns(policy, texts);
}

async function compilePatterns(
  policy: CompiledPolicy,
  texts: readonly { readonly pattern: string }[],
): Promise<void> {
  const compile = await loadPatternCompiler();
  for (const { pattern } of texts) policy.part(patternsOf).set(pattern, compile(pattern));
}

function decide({ command }: { readonly command: string }, policy: CompiledPolicy): readonly Finding[] {
  const patterns = policy.part(patternsOf);
  const findings: Finding[] = [];
  for (const layer of policy.layers) {
    const commands = layer.part(listed);
    if (!commands) continue;
    if (commands.some(({ pattern }) => !patterns.has(pattern))) return [NOT_READY];
    const isFound = (pattern: string, verdict: Verdict) =>
      textsOf(command).some((given) => patterns.get(pattern)?.(given, verdict));
    // What denies may be found anywhere; turned around, it may still not be what allows the command.
    const allowed = commands.some(({ pattern }) => isFound(pattern, 'allow'));
    const missed = allowed ? [] : [patternFor(command)];
    const matching = commands.filter(({ pattern, decision }) => isFound(pattern, decision));
    for (const { rule, pattern, decision } of matching) {
      const { where, ...cited } = layer.cite(rule);
      const grant = layer.grant({ shell_allow: [{ pattern, decision: 'allow' }, ...missed] });
      findings.push({ verdict: decision, ...cited, fact: `${where} says ${decision}`, grant });
    }
    if (matching.length === 0) findings.push(notAllowed(layer, command));
  }
  return findings;
}

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

const escapePattern = (given: string): string => given.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Tells of patterns that allow and look as if they were sought anywhere in a command. */
async function checkAnchors(draft: Draft, site: DraftSite): Promise<void> {
  if (!draft.shell_allow) return;
  const compile = await loadPatternCompiler();
  for (const [at, entry] of draft.shell_allow.entries()) {
    const short = typeof entry === 'string';
    const { pattern, decision = 'allow' } = short ? { pattern: entry } : (entry ?? {});
    if (decision !== 'allow' || pattern === undefined || ANCHORED.test(pattern)) continue;
    if (!attempt(pattern, compile)) continue;
    const where = `shell_allow[${at}]${short ? '' : '.pattern'}`;
    const message = `${where}: ${quoted(pattern)}: what allows counts from the start of a command only, not in an argument`;
    site.warn('pattern.unanchored', where, message, `'^${pattern.replaceAll("'", "''")}'`);
  }
}

/** Begins with the start of the text, whatever groups and flags are around it. */
const ANCHORED = /^(\(\?[a-zA-Z]+\)|\((\?:)?)*(\^|\\A)/;

function checkPattern(given: string, compile: PatternCompiler): TextProblem[] {
  if (/[\x00-\x1f]/.test(given)) {
    const fact =
      'it holds a control character: in double quotes \\b, \\t, \\n and the like are escapes of YAML';
    return [{ code: 'pattern.control', fact, hint: 'write patterns in single quotes' }];
  }
  try {
    compile(given);
  } catch (error) {
    const fact = (error as Error).message;
    const around = /Perl syntax: `\(\?[=!<]/.test(fact);
    const hint = around
      ? 'look-around is not part of linear-time patterns; add a rule that denies'
      : undefined;
    return [{ code: 'pattern.invalid', fact, ...(hint ? { hint } : {}) }];
  }
  return [];
}
