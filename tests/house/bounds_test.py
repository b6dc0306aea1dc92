# SPDX-License-Identifier: Apache-2.0
"""Each row of docs/format/bounds.md agrees with the code: its constant has the value that the row says, and its test exists.

A row: | thing | `value` | `path` `name` | what happens | `path of a test` `name in it` |
Each constant that is named like a bound has a row, or a reason for having none.
"""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/format/bounds.md"


def rows():
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 5 and not cells[0].startswith(("a ", "---")):
            yield cells


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def number(expression):
    """The value of an expression of whole numbers, as C++ or Python writes it: digits grouped, with suffixes, in braces."""
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", expression)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])\b", r"\1", text)
    text = (
        re.sub(r"\b(?:std::)?u?int\d+_t\b|\bstd::size_t\b|\bsize_t\b", "", text)
        .replace("{", "(")
        .replace("}", ")")
        .replace("//", "#")
    )
    text = text.split("#")[0].strip()

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            return {
                ast.LShift: lambda: left << right,
                ast.Mult: lambda: left * right,
                ast.Add: lambda: left + right,
                ast.Sub: lambda: left - right,
                ast.Div: lambda: left // right,
                ast.FloorDiv: lambda: left // right,
            }[type(node.op)]()
        raise ValueError(f"not an expression of numbers: {expression}")

    return value(ast.parse(text, mode="eval"))


def fault_of(bound, constant, happens, test):
    """The fault of a row, or None."""
    path, name = code(constant)
    definitions = re.findall(
        rf"\b{re.escape(name)}\b(?::\s*[\w.]+)?\s*(?:=\s*([^;\n]+)|\{{([^;\n]+)\}});?", (ROOT / path).read_text()
    )
    if not definitions:
        return f"{path} defines no {name}"
    values = [(first or second).strip() for first, second in definitions]
    if number(code(bound)[0]) not in [number(value) for value in values if re.match(r"[\d({]|std::|u?int", value)]:
        return f"{name} in {path} is {values}"
    if not happens:
        return "it says nothing of what happens"
    if re.match(r"none: \w", test):
        return None
    where, *names = code(test)
    missing = [each for each in names if each not in (ROOT / where).read_text()]
    return f"{where} has no {', '.join(missing)}" if missing else None if names else f"no test is named in {where}"


def test_a_bound_is_that_of_the_code_and_has_a_test():
    listed = list(rows())
    assert len(listed) > 200, "or the page is not read"
    assert [f"{row[0]}: {fault}" for row in listed if (fault := fault_of(*row[1:]))] == []


CPP_NAME, PYTHON_NAME = r"\b(k(?:Max|Most)[A-Z]\w*)\s*(?:=|\{)", r"^\s*(_?M(?:AX|OST)_[A-Z_]+)\s*="
NAMED_LIKE_A_BOUND = {".cpp": CPP_NAME, ".hpp": CPP_NAME, ".py": PYTHON_NAME}
NO_PRODUCT = r"(^|/)(tests?|testing|fuzz|programs)/|_test\.|_test_support\.|_main\.cpp|^(lab|examples|scripts|tests)/"


def names_like_bounds(path):
    lines = (ROOT / path).read_text().splitlines()
    if path.suffix != ".py":
        lines = [line for line in lines if re.search(r"\bconst(expr)?\b", line)]
    return {name for line in lines for name in re.findall(NAMED_LIKE_A_BOUND[path.suffix], line)}


def test_each_constant_that_is_named_like_a_bound_is_on_the_page():
    listed = set(re.findall(r"`([\w./-]+)` `(\w+)`", PAGE.read_text()))
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    product = [
        Path(each)
        for each in files
        if Path(each).suffix in NAMED_LIKE_A_BOUND and not re.search(NO_PRODUCT, each) and (ROOT / each).is_file()
    ]
    found = {(str(path), name) for path in product for name in names_like_bounds(path)}
    assert len(found) > 100, "or the search finds nothing"
    assert not found - listed, "a row in docs/format/bounds.md, or why there is none"
