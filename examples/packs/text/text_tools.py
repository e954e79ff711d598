"""Functions behind the tools of this folder: each takes the input and answers the data."""
import ast
import collections
import difflib
import operator
import re


def stats(given):
    text = given["text"]
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())
    # Equally frequent words in the order of the alphabet, so that equal texts give equal answers.
    ranked = sorted(collections.Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "lines": len(text.splitlines()),
        "words": len(words),
        "characters": len(text),
        "frequent": [{"word": word, "count": count} for word, count in ranked[: given.get("top", 5)]],
    }


def diff(given):
    before, after = (given[side].splitlines(keepends=True) for side in ("before", "after"))
    lines = difflib.unified_diff(before, after, "before", "after", n=given.get("context", 3))
    return {"diff": "".join(lines), "equal": before == after}


OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def evaluate(given):
    return {"value": value_of(ast.parse(given["expression"], mode="eval").body)}


def value_of(node):
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](value_of(node.operand))
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left), value_of(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > 1000:
            raise ValueError("the exponent is over 1000")
        return OPERATORS[type(node.op)](left, right)
    raise ValueError(f"cannot work out {ast.unparse(node)}")
