# A program of the stdio adapter's tests: speaks haft-stdio/1, several calls at a time.
import json, os, sys, threading

lock = threading.Lock()
cancelled = {}
out = os.fdopen(os.dup(1), "w", buffering=1)


def say(message):
    with lock:
        out.write(json.dumps(message) + "\n")
        out.flush()


def wait(id, event):
    say({"id": id, "progress": {"pct": 50, "message": "waiting"}})
    event.wait()


TOOLS = [
    {"name": "echo", "input": {"type": "object"}, "idempotent": True, "mutates": False},
    {"name": "Get-Thing", "title": "A thing", "description": "Says so.", "input": {"type": "object"}, "output": {"type": "object"}},
    {"name": "get_thing", "input": {"type": "object"}},
    {"name": "no_schema"},
]

for line in sys.stdin:
    message = json.loads(line)
    id = message["id"]
    if "hello" in message:
        print("noise that is no JSON", file=sys.stdout, flush=True)
        say({"id": id, "ok": True, "data": {"tools": TOOLS}})
    elif "ping" in message:
        say({"id": id, "ok": True})
    elif message.get("cancel"):
        event = cancelled.pop(id, None)
        if event:
            event.set()
    elif message["tool"] == "echo":
        say({"id": id, "ok": True, "data": message["input"]})
    elif message["tool"] == "fail":
        say({"id": id, "ok": False, "error": {"message": "failed as asked", "details": {"n": 1}}})
    elif message["tool"] == "big":
        say({"id": id, "ok": True, "data": {"text": "x" * message["input"].get("bytes", 256 * 1024)}})
    elif message["tool"] == "flood":
        while True:
            os.write(1, b"x" * 65536)
    elif message["tool"] == "env":
        say({"id": id, "ok": True, "data": dict(os.environ)})
    elif message["tool"] == "still_waiting":
        say({"id": id, "ok": True, "data": len(cancelled)})
    elif message["tool"] == "exit":
        os._exit(3)
    else:
        event = cancelled[id] = threading.Event()
        threading.Thread(target=wait, args=(id, event), daemon=True).start()
