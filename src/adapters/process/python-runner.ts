// Owns: the Python program that calls functions of a pack, one after the other, for as long as it is told to.
// Refuses: to let what a tool prints get into its answer: only lines of progress pass.

/**
 * Reads frames, one JSON line each, until its input ends. Its last argument is the pack's folder. A frame names `module` and
 * `callable`, and the `folders` of the pack to look in; and has the `input`, and `action` and `config` where there are some. Answers each with an envelope, one line.
 */
export const PYTHON_RUNNER = `
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
