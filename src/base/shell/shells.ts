// Owns: what a shell that is started by name would run: text after -c is walked, a script file is a program of its own.
// Refuses: text from standard input, start-up files, and shells with another grammar.
import { refuse } from './analysis.ts';
import { type Call, known, name, type Rule } from './call.ts';
import type { Dialect } from './walk.ts';
import { ownPath } from './wrappers.ts';

export function shell(dialect: Dialect): Rule {
  return (call) => {
    let text = false;
    let i = 1;
    for (; i < call.words.length; i++) {
      const word = call.words[i]!;
      const option = known(call, word);
      const cluster = /^-[euxfv]*(c?)[euxfv]*(o?)$/.exec(option);
      if (!/^[-+]/.test(option)) break;
      if (cluster === null || option === '-') {
        if (dialect === 'bash' && /^--(?:norc|noprofile)$/.test(option)) continue;
        refuse('shell.wrapper', `Cannot tell what ${name(call)} ${option} would run`, word);
      }
      if (cluster[1] === 'c') text = true;
      if (cluster[2] !== 'o') continue;
      if (!/^(?:errexit|nounset|pipefail|xtrace|noglob)$/.test(call.words[++i]?.literal ?? ''))
        refuse('shell.wrapper', `Cannot tell what ${name(call)} -o sets`, word);
    }
    const word = call.words[i];
    if (word === undefined)
      refuse(
        'shell.wrapper',
        `Cannot know what ${name(call)} would read from its input: use -c or a file`,
        call.words[0]!,
      );
    known(call, word);
    if (!text) return call.list();
    ownPath(call);
    call.text(word, dialect);
  };
}

/** A shell whose grammar is not read here: it may only run a file, and must be allowed as itself. */
export function otherShell(call: Call): void {
  const script = call.words[1];
  if (script === undefined || known(call, script).startsWith('-'))
    refuse(
      'shell.wrapper',
      `Cannot read what ${name(call)} would run: use bash -c or a file`,
      call.words[0]!,
    );
  call.list();
}
