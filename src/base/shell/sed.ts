// Owns: which sed scripts surely start nothing and open no file.
// Refuses: anything else, unless sed itself is told to refuse it (--sandbox).
import { refuse } from './analysis.ts';
import { anchored, type Call, known } from './call.ts';

export function sed(call: Call): void {
  const words = call.words.slice(1);
  // Only in front: elsewhere it could be the value of another option.
  if (words[0]?.literal === '--sandbox') return call.list();
  const scripts: number[] = [];
  let operands = false;
  let first = -1;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const text = word.literal ?? word.prefix;
    if (!operands && text === '--') operands = true;
    else if (!operands && /^-[nrEsuz]*e$|^--expression$/.test(text)) scripts.push(++i);
    else if (!operands && FLAGS.test(text)) continue;
    else if (!operands && (!anchored(word) || /^-./.test(text)))
      refuse('shell.wrapper', `Cannot tell what sed does with ${word.canonical}: put --sandbox first`, word);
    else if (first < 0) first = i;
  }
  if (scripts.length === 0 && first >= 0) scripts.push(first);
  for (const index of scripts) {
    const script = words[index];
    if (script === undefined || known(call, script).length > 2000 || !SCRIPT.test(script.literal ?? ''))
      refuse(
        'shell.wrapper',
        'Cannot tell whether the sed script starts programs: put --sandbox first',
        script ?? call.words[0]!,
      );
  }
  call.list();
}

const FLAGS =
  /^-[nrEsuz]*i|^-[nrEsuz]+$|^--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|in-place(?:=.*)?|posix|debug)$/;
const ADDRESS = String.raw`(?:[0-9]+|\$|/(?:[^/\\\n]|\\[^\n])*/I?)`;
const WHERE = String.raw`(?:${ADDRESS}(?:,[+~]?${ADDRESS})?[ \t]*(?:![ \t]*)?)?`;
/** Flags `e` (run) and `w` (write) are left out. */
const SUBSTITUTE = [...'/|#,:@%!_~']
  .map((mark) => {
    const part = String.raw`(?:[^${mark}\\\n]|\\[^\n])*`;
    const between = mark === '|' ? '\\|' : mark;
    return `s${between}${part}${between}${part}${between}[gpiImM0-9]*`;
  })
  .join('|');
const COMMAND = String.raw`${WHERE}(?:[pdPDgGhHxnNl=]|q[0-9]*|${SUBSTITUTE})[ \t]*`;
/** Text to add runs to the end of the line. */
const TEXT = String.raw`${WHERE}[aic][ \t]+[^\n\\ \t](?:[^\n\\]|\\[^\n])*`;
const SCRIPT = new RegExp(String.raw`^[ \t\n]*(?:${COMMAND}(?:[;\n][ \t\n;]*|$))*(?:${TEXT})?$`);
