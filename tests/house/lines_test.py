# SPDX-License-Identifier: Apache-2.0
"""Each place in the product that writes a line for people is in the table "Lines" of docs/format/bounds.md, with the bound of its lines. So a
line that another process can cause does not bypass the budgets.

A row: | `path` | number of calls | what bounds the lines |
"""

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/format/bounds.md"
# Code that runs in users' programs. The command and the laboratory write for the person that started them.
PRODUCT = r"(core|link/include|link/src|python/src|python/baton|ros1|ros2)/"
NO_PRODUCT = r"(^|/)(tests?|testing|fuzz|programs|bench)/|_test\.|_test_support\.|_main\.cpp"
OF_CPP = (
    r"\b(?:log_of_baton|call_diagnostic_callbacks|on_diagnostic|(?:RCUTILS_LOG|ROS|BATON)_(?:INFO|WARN|ERROR|FATAL)\w*"
    r"|f?printf|f?puts|fwrite|dprintf|perror|syslog|PyErr_\w*(?:Print|Unraisable|Warn)\w*|cerr|clog|cout)\s*(?:\(|<<)"
)
OF_PYTHON = (
    r"\b(?:print|warn|std(?:out|err)\.write|print_exc\w*|excepthook|unraisablehook|rospy\.log(?!debug)\w+"
    r"|log(?:ger|ging)?\.(?:info|warning|error|exception|critical|log))\("
)
CALLS = {".cpp": OF_CPP, ".hpp": OF_CPP, ".py": OF_PYTHON}
NO_CALL = r"\bvoid (?:\w+::)*\w+\(|\"(?:\\.|[^\"\\])*\""  # a declaration, a text


def calls():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    counts = Counter()
    for name in files:
        path = ROOT / name
        if path.suffix not in CALLS or not re.match(PRODUCT, name) or re.search(NO_PRODUCT, name) or not path.is_file():
            continue
        for line in path.read_text().splitlines():
            if not line.strip().startswith(("//", "#")):
                counts[name] += len(re.findall(CALLS[path.suffix], re.sub(NO_CALL, "", line)))
    return +counts


def rows():
    table = PAGE.read_text().partition("\n## Lines\n")[2].partition("\n## ")[0]
    return {name: int(count) for name, count in re.findall(r"^\| `([\w./-]+)` \| (\d+) \| [^|]+ \|$", table, re.M)}


def test_each_place_that_writes_a_line_is_in_the_table_with_its_bound():
    found = calls()
    assert len(found) > 20, "or the search finds nothing"
    assert found == rows(), 'docs/format/bounds.md, "Lines": a call for each line, and what bounds its lines'
