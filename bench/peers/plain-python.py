# Owns: what a Python function costs when nothing is in between: frames in, answers out, one line each.
# Refuses: everything beside that.
import json
import sys

sys.path.insert(0, sys.argv[1])
from bench_tool import run

for line in iter(sys.stdin.readline, ""):
    sys.stdout.write(json.dumps({"data": run(json.loads(line)["input"])}) + "\n")
    sys.stdout.flush()
