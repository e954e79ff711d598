// Owns: which program runs a tool of a `*.tool.yaml`, with which arguments, and what it is told.
// Refuses: a shell, and anything of the machine that `caps` and `env` do not name.
import { posix } from 'node:path';
import { quoteCommandWord, shellQuote } from '../../base/shell/shell-quote.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Program, ProgramNeeds } from '../../contract/program.ts';
import type { YamlExecution, YamlKind, YamlModule, YamlTool } from '../../contract/yaml-tool.ts';
import type { Filling, YamlUse } from '../yaml-filling.ts';

export interface ToolProgram {
  readonly program: Program;
  /** What it reads: one JSON line. */
  readonly frame: JsonObject;
  /** Whether one that is kept can serve: it speaks the runners' frames. */
  readonly warm: boolean;
}

interface ToolProgramOptions {
  readonly use: YamlUse;
  readonly filling: Filling;
  /** Without secrets: for what policy decides and the audit keeps. */
  readonly masked: Filling;
  readonly input: unknown;
  readonly config: JsonObject;
  /** Where the copy of the pack's folder lies that is to be run. Absent: the folder itself is. */
  readonly copy?: string | undefined;
}

export function toolProgram(options: ToolProgramOptions): ToolProgram {
  const { use, filling, input, config, copy } = options;
  const { tool, action, execution } = use;
  const run = (PROGRAMS[execution.kind] as Rule)(execution as never, options);
  const told: JsonObject = {
    input: input as never,
    ...(action === undefined ? {} : { action }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
  };
  return {
    frame: { ...told, ...run.frame },
    warm: run.warm ?? false,
    program: {
      argv: run.argv,
      ...(run.command === undefined ? {} : { command: run.command }),
      env: filling.env,
      needs: needsOf(tool, copy),
    },
  };
}

/** What every call of it needs; its command too, where no argument makes a part of it. */
export function toolNeeds({ tool, execution }: YamlUse): Pick<Program, 'command' | 'needs'> {
  const needs = needsOf(tool);
  if (execution.kind !== 'cli' || execution.script !== undefined) return { needs };
  if (tool.templating && execution.cmd.some((word) => TEMPLATE.test(word))) return { needs };
  return { needs, command: commandOf(execution.cmd) };
}

const TEMPLATE = /\{[{%#]/;

const needsOf = ({ source, caps }: YamlTool, copy?: string): ProgramNeeds => ({
  parts: [source.folder],
  ...(copy === undefined ? {} : { copies: [{ at: source.folder, from: copy }] }),
  reads: caps.filesystem.read,
  writes: caps.filesystem.write,
  network: caps.network,
  subprocess: caps.subprocess,
});

const commandOf = ([name = '', ...args]: readonly string[]): string =>
  [quoteCommandWord(name), ...args.map(shellQuote)].join(' ');

interface Run {
  readonly argv: readonly [string, ...string[]];
  readonly command?: string;
  readonly frame?: JsonObject;
  readonly warm?: boolean;
}

type Of<K extends YamlKind> = Extract<YamlExecution, { readonly kind: K }>;
type Rule<K extends YamlKind = YamlKind> = (execution: Of<K>, options: ToolProgramOptions) => Run;

const inPack = ({ source }: YamlTool, path: string): string => posix.join(source.folder, path);

/** `-s -B`: nothing of the user's home, and no files written beside the pack's. */
const PYTHON = ['python3', '-s', '-B'] as const;
/** What goes wrong is said on stderr, in plain words. */
const PHP = ['php', '-d', 'display_errors=stderr', '-d', 'html_errors=0', '-d', 'log_errors=0'] as const;

const PROGRAMS: { readonly [K in YamlKind]: Rule<K> } = {
  python({ entry, warm }, { use: { tool } }) {
    if (entry.by === 'script') return { argv: [...PYTHON, inPack(tool, entry.path)] };
    return { argv: [...PYTHON, '-c', PYTHON_RUNNER, tool.source.folder], frame: moduleFrame(entry), warm };
  },
  node({ entry, warm }, { use: { tool } }) {
    if (entry.by === 'script') return { argv: ['node', inPack(tool, entry.path)] };
    return { argv: ['node', '-e', NODE_RUNNER, tool.source.folder], frame: moduleFrame(entry), warm };
  },
  php: ({ entry }, { use: { tool } }) => ({ argv: [...PHP, inPack(tool, entry.path)] }),
  cli({ cmd, script }, { use: { tool }, filling, masked }) {
    const fill = (with_: Filling) => cmd.map((word, i) => with_.text(word, `cmd[${i}]`));
    const [program = '', ...args] = fill(filling);
    if (script !== undefined) return { argv: [inPack(tool, script), ...args] };
    return { argv: [program, ...args], command: commandOf(fill(masked)) };
  },
  http(_, { use }) {
    throw fail('pack.invalid', `Cannot run "${use.id}": it is an http tool`);
  },
};

/** Places below the pack's folder, which the runner is told by its command: a copy may stand for it. */
function moduleFrame({ module, callable, folder, file }: YamlModule): JsonObject {
  const folders = [...new Set([folder, ''])];
  return { module, callable, folders, ...(file === undefined ? {} : { file }) };
}

/** Speaks as `python-runner` does. */
const NODE_RUNNER = `
const { createInterface } = require('node:readline');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const pack = process.argv.at(-1);
const raw = process.stdout.write.bind(process.stdout);
const say = (message) => raw(JSON.stringify(message) + '\\n');

const isProgress = (line) => {
  if (!line.trimStart().startsWith('{"progress"')) return false;
  try {
    const message = JSON.parse(line);
    if (Object.keys(message).join() !== 'progress') return false;
    say(message);
    return true;
  } catch {
    return false;
  }
};

const LEFT_OUT = '\\n[... left out ...]\\n';
const bothEnds = (text) => (text.length <= 2048 ? text : text.slice(0, 512) + LEFT_OUT + text.slice(-1500));
let errors = '';
let rest = '';
const rawError = process.stderr.write.bind(process.stderr);
const complain = (text) => {
  errors += text;
  if (errors.length > 8192) errors = errors.slice(0, 512) + LEFT_OUT + errors.slice(-1500);
  rawError(text);
};
const print = (text) => {
  rest += text;
  for (let at = rest.indexOf('\\n'); at !== -1; at = rest.indexOf('\\n')) {
    const line = rest.slice(0, at + 1);
    rest = rest.slice(at + 1);
    if (!isProgress(line)) complain(line);
  }
};
const replacing = (take) => (chunk, encoding, done) => {
  take(String(chunk));
  (typeof encoding === 'function' ? encoding : done)?.();
  return true;
};
process.stderr.write = replacing(complain);
process.stdout.write = replacing(print);

const progress = (pct, message) => say({ progress: { pct, message } });

const call = async (frame) => {
  const from = frame.file ? join(pack, frame.file) : createRequire(join(pack, frame.folders[0], '_')).resolve(frame.module);
  const loaded = await import(from.startsWith('/') ? pathToFileURL(from) : from);
  const found = loaded[frame.callable] ?? loaded.default?.[frame.callable];
  if (typeof found !== 'function') throw new Error('it exports no function "' + frame.callable + '"');
  return found(frame.input, { action: frame.action, config: frame.config ?? {}, progress });
};

const serve = async (frame) => {
  errors = '';
  try {
    const data = await call(frame);
    say({ ok: true, data: data === undefined ? null : data });
  } catch (error) {
    complain((error?.stack ?? String(error)) + '\\n');
    const message = error instanceof Error ? error.name + ': ' + error.message : String(error);
    say({ ok: false, error: { message, details: { stderr: bothEnds(errors) } } });
  }
};

let last = Promise.resolve();
createInterface({ input: process.stdin }).on('line', (line) => {
  last = last.then(() => serve(JSON.parse(line)));
});
`;

/**
 * Reads frames, one JSON line each, until its input ends. Its last argument is the pack's folder. A frame names `module` and
 * `callable`, and the `folders` of the pack to look in; and has the `input`, and `action` and `config` where there are some. Answers each with an envelope, one line.
 */
const PYTHON_RUNNER = `
import io, json, os, sys, traceback
channel = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\\n")
os.dup2(2, 1)
real_err = sys.stderr
pack = sys.argv.pop()

def say(message):
    channel.write(json.dumps(message, allow_nan=False) + "\\n")
    channel.flush()

def both_ends(text):
    return text if len(text) <= 2048 else text[:512] + "\\n[... left out ...]\\n" + text[-1500:]

class Errors(io.TextIOBase):
    encoding = "utf-8"
    kept = ""
    def writable(self):
        return True
    def write(self, text):
        self.kept += text
        if len(self.kept) > 8192:
            self.kept = both_ends(self.kept)
        return real_err.write(text)
    def flush(self):
        real_err.flush()

class Lines(io.TextIOBase):
    encoding = "utf-8"
    rest = ""
    def writable(self):
        return True
    def write(self, text):
        self.rest += text
        if "\\n" in text:
            *lines, self.rest = self.rest.split("\\n")
            for line in lines:
                self.line(line)
        return len(text)
    def line(self, line):
        if line.lstrip().startswith('{"progress"'):
            try:
                message = json.loads(line)
                if list(message) == ["progress"]:
                    return say(message)
            except ValueError:
                pass
        sys.stderr.write(line + "\\n")

def progress(pct=None, message=None):
    told = {"pct": pct, "message": message}
    say({"progress": {key: value for key, value in told.items() if value is not None}})

async def awaited(value):
    return await value

def call(frame):
    import importlib
    for below in reversed(frame["folders"]):
        folder = os.path.join(pack, below).rstrip("/")
        if folder not in sys.path:
            sys.path.insert(0, folder)
    function = importlib.import_module(frame["module"])
    for name in frame["callable"].split("."):
        function = getattr(function, name)
    code = getattr(function, "__code__", None)
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if code else ()
    context = {"action": frame.get("action"), "config": frame.get("config", {}), "progress": progress}
    value = function(frame["input"], **({"context": context} if "context" in names else {}))
    if hasattr(value, "__await__"):
        import asyncio
        value = asyncio.run(awaited(value))
    return value

def serve(frame):
    errors = sys.stderr = Errors()
    sys.stdout = Lines()
    try:
        return say({"ok": True, "data": call(frame)})
    except SystemExit as end:
        message = "it called sys.exit(%r)" % (end.code,)
    except BaseException as error:
        traceback.print_exc()
        message = "".join(traceback.format_exception_only(type(error), error)).strip()
    say({"ok": False, "error": {"message": message, "details": {"stderr": both_ends(errors.kept)}}})

frames = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\\n")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for line in iter(frames.readline, ""):
    serve(json.loads(line))
`;
