import csv
import io
import json
import sys

given = json.load(sys.stdin)["input"]
reader = csv.DictReader(io.StringIO(given["csv"]), delimiter=given.get("delimiter", ","), restval="", restkey="more")
rows = [{name: value if isinstance(value, str) else ",".join(value) for name, value in row.items()} for row in reader]
json.dump({"columns": list(reader.fieldnames or []), "rows": rows}, sys.stdout)
