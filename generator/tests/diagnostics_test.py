# SPDX-License-Identifier: Apache-2.0
"""Every file of diagnostics/ gives exactly the errors of its .expected file: texts, places, carets, ways out.

`UPDATE=1 pytest generator/tests/diagnostics_test.py` rewrites the expected files; read the difference before committing.
"""

import os
from pathlib import Path

import pytest
from baton_generator.canonical import Resolver
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect
from baton_generator.packages import Universe

CASES = Path(__file__).parent / "diagnostics"


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir() if p.suffix != ".expected"))
def test_says_what_is_wrong_and_where(case: str, tmp_path: Path) -> None:
    path = tmp_path / case.replace(".ros1.", ".").replace(".ros2.", ".")
    path.write_bytes((CASES / case).read_bytes())
    forced = next((d for d in Dialect if f".{d.value}." in case), None)
    expected = CASES / f"{case}.expected"
    said = _complaint(path, forced)
    if os.environ.get("UPDATE"):
        expected.write_text(said)
    assert said == expected.read_text()
    assert said != "no error\n"


def _complaint(path: Path, forced: Dialect | None) -> str:
    try:
        universe = Universe(files=[(path, "diagnostics")], dialect=forced, environment={})
        resolver = Resolver(universe)
        (resolver.service if path.suffix == ".srv" else resolver.message)(f"diagnostics/{path.stem}")
    except InterfaceError as error:
        return str(error).replace(f"{path.parent}/", "") + "\n"
    return "no error\n"


def test_every_error_names_the_way_out() -> None:
    for path in CASES.glob("*.expected"):
        text = path.read_text()
        assert text.count("error: ") <= text.count("  way out: "), path
