// Owns: which words of a command name code, by what is known of interpreters: the script, what is loaded before it, what is said inline.
// Refuses: to look at any file: whether a word names one is for whoever has the folder.

export interface CommandCode {
  /** What is started, and what that starts in its own place: `env`, `node`. */
  readonly programs: readonly [string, ...string[]];
  /** Undefined for a program that is no interpreter. */
  readonly interpreter?: string;
  /** Words that could be the script, the likeliest first. Empty where the code is said otherwise. */
  readonly scripts: readonly string[];
  /** What is loaded before it: values of options. */
  readonly loaded: readonly string[];
  /** The option, with the name, of a module that is looked up by the interpreter. */
  readonly module?: string;
}

interface Interpreter {
  /** Options that bring the code with them. */
  readonly inline: RegExp;
  /** Options that name a module. */
  readonly module?: RegExp;
  /** Options whose value is a file with code, loaded before the script. */
  readonly loads?: RegExp;
  /** Other options whose value is the next word. */
  readonly value?: RegExp;
  /** Words before the script that are none. */
  readonly verb?: RegExp;
}

const NODE: Interpreter = {
  inline: /^(-e|-p|-pe|--eval|--print)$/,
  loads: /^(-r|--require|--import|--loader|--experimental-loader)$/,
  value:
    /^(-C|--(conditions|disable-warning|env-file|env-file-if-exists|input-type|experimental-default-type|icu-data-dir|inspect-port|debug-port|title|max-http-header-size|dns-result-order|unhandled-rejections|redirect-warnings|trace-event-categories|trace-event-file-pattern|openssl-config|tls-cipher-list|tls-keylog|diagnostic-dir|report-dir(ectory)?|report-filename|report-signal|heapsnapshot-signal|heapsnapshot-near-heap-limit|secure-heap|secure-heap-min|watch-path|localstorage-file|network-family-autoselection-attempt-timeout|stack-trace-limit|allow-fs-read|allow-fs-write|cpu-prof-dir|cpu-prof-name|heap-prof-dir|heap-prof-name))$/,
};
const PYTHON: Interpreter = {
  inline: /^-[A-Za-z]*c$/,
  module: /^-[A-Za-z]*m$/,
  value: /^(-[A-Za-z]*[WX]|--check-hash-based-pycs)$/,
};
const SHELL: Interpreter = {
  inline: /^-[A-Za-z]*c$/,
  loads: /^--(rcfile|init-file)$/,
  value: /^[-+][A-Za-z]*[oO]$/,
};
const BUN: Interpreter = {
  inline: /^(-e|-p|--eval|--print)$/,
  loads: /^(-r|--preload|--require|--import)$/,
  value: /^(-c|--config|--cwd|--env-file|--tsconfig-override|--conditions)$/,
  verb: /^(run|x)$/,
};
const DENO: Interpreter = {
  inline: /^eval$/,
  loads: /^--(preload|import|require)$/,
  value: /^(-c|--config|--import-map|--lock|--cert|--location|--seed|--ext|-L|--log-level)$/,
  verb: /^(run|serve)$/,
};
const INTERPRETERS: readonly (readonly [name: RegExp, how: Interpreter])[] = [
  [/^node(js)?$/, NODE],
  [/^python\d?(\.\d+)?$/, PYTHON],
  [/^(sh|bash|dash|zsh)$/, SHELL],
  [/^(bun|tsx|ts-node)$/, BUN],
  [/^deno$/, DENO],
  [/^php\d?(\.\d+)?$/, { inline: /^(-r|--run|-B|-R|-E)$/, loads: /^(-f|--file|-F)$/, value: /^-[dczStT]$/ }],
  [/^perl$/, { inline: /^-[A-Za-z]*[eE]$/, module: /^-[A-Za-z]*[mM]$/, value: /^-I$/ }],
  [/^ruby$/, { inline: /^-[A-Za-z]*e$/, loads: /^(-r|--require)$/, value: /^-[ICE]$/ }],
];
/** Programs that become the one that their words name. */
const STARTERS: Readonly<Record<string, RegExp>> = {
  env: /^(-u|--unset|-C|--chdir)$/,
  nice: /^(-n|--adjustment)$/,
  nohup: /^$/,
  setsid: /^$/,
  stdbuf: /^-[ioe]$/,
};
/** Names of code: of a program that is not known, the first of these is its script. */
export const CODE_NAME = /\.([cm]?[jt]sx?|py|rb|php|pl|sh|lua|jl|R|wasm|jar)$/;

/** What comes with the machine: nobody's code of a workspace. */
export const SYSTEM_PATH = /^\/(usr|bin|sbin|lib(32|64|x32)?)\//;

/** The topmost `node_modules` that a path lies in. */
export const modulesFolder = (path: string): string | undefined =>
  /^(?:.*?\/)?node_modules(?=\/)/.exec(path)?.[0];

export function readCommandCode(command: readonly [string, ...string[]]): CommandCode {
  const programs: [string, ...string[]] = [command[0]];
  let words = command.slice(1);
  for (
    let takesValue = STARTERS[nameOf(command[0])];
    takesValue;
    takesValue = STARTERS[nameOf(programs.at(-1) ?? '')]
  ) {
    let at = 0;
    for (; /^-|^\w+=/.test(words[at] ?? ''); at++) if (takesValue.test(words[at] ?? '')) at++;
    const [next] = words.slice(at);
    if (next === undefined) break;
    programs.push(next);
    words = words.slice(at + 1);
  }
  const name = nameOf(programs.at(-1) ?? '');
  const how = INTERPRETERS.find(([known]) => known.test(name))?.[1];
  if (!how) return { programs, scripts: words.filter((word) => CODE_NAME.test(word)), loaded: [] };
  return { programs, interpreter: name, ...readWords(words, how) };
}

/** What `NODE_OPTIONS` loads. */
export const loadedByNode = (options: string): readonly string[] =>
  readWords(options.replaceAll('"', '').split(/\s+/).filter(Boolean), NODE).loaded;

/** The value of an option that is one word with it: `--import=./a.mjs`, `-r./a.rb`. */
export function joinedValue(word: string): string | undefined {
  return /^--?[\w-]+=(.+)$/s.exec(word)?.[1] ?? /^-[A-Za-z]((?:\.{0,2}\/).+)$/s.exec(word)?.[1];
}

function readWords(words: readonly string[], how: Interpreter) {
  const loaded: string[] = [];
  const scripts: string[] = [];
  let module: string | undefined;
  let isInline = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    const next = words[at + 1];
    const value = joinedValue(word);
    if (word === '--') {
      scripts.push(...words.slice(at + 1));
      break;
    }
    if (how.inline.test(word)) {
      isInline = true;
      at++;
    } else if (how.module?.test(word)) {
      module = `${word} ${next ?? ''}`.trim();
      break;
    } else if (how.loads?.test(word)) {
      if (next !== undefined) loaded.push(next);
      at++;
    } else if (how.value?.test(word)) at++;
    else if (value !== undefined) {
      const option = word.slice(0, -value.length).replace(/=$/, '');
      if (how.loads?.test(option)) loaded.push(value);
    } else if (word === '-') isInline = true;
    else if (!word.startsWith('-') && !(scripts.length === 0 && how.verb?.test(word))) scripts.push(word);
  }
  // Words behind the module or the code are its arguments.
  const isSaid = isInline || module !== undefined;
  return { loaded, scripts: isSaid ? [] : scripts, ...(module === undefined ? {} : { module }) };
}

const nameOf = (program: string): string => program.slice(program.lastIndexOf('/') + 1);
