# SPDX-License-Identifier: Apache-2.0
"""Scenes for the hostile tests. A scene is made at the first attack on a victim of a language, and kept while no attack does harm."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import traceback
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scene as scenes

if not scenes.HONEST.is_file() or not any((scenes.PACKAGE / "baton").glob("_core*.so")):
    collect_ignore_glob = ["*_test.py"]


class Stages:
    def __init__(self) -> None:
        self.made: dict[str, scenes.Scene] = {}
        self.outcomes: dict[tuple[str, str], list[str]] = {}

    def outcome(self, attack, victim: str, victims: list[str], run) -> list[str]:
        """The result of run(scene, attack) for this victim. The first call for an attack runs it for all `victims` at once."""
        if (attack.name, victim) not in self.outcomes:
            threads = [threading.Thread(target=self.run, args=(attack, each, run)) for each in victims]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return self.outcomes.pop((attack.name, victim))

    def run(self, attack, language: str, run) -> None:
        try:
            if language not in self.made:
                self.made[language] = scenes.Scene(language, tempfile.mkdtemp(prefix="baton-hostile-"))
            harm = run(self.made[language], attack)
        except Exception as error:  # a process that died or hangs, or a newcomer that was not served, is harm, too
            deaths = self.made[language].deaths() if language in self.made else []
            harm = [*deaths, f"{type(error).__name__}: {error}", *traceback.format_tb(error.__traceback__)[-2:]]
        if harm:
            self.drop(language)
        self.outcomes[attack.name, language] = harm

    def drop(self, language: str) -> None:
        scene = self.made.pop(language, None)
        if scene:
            scene.end()
            shutil.rmtree(scene.directory, ignore_errors=True)


@pytest.fixture(scope="module")
def stages():
    stages = Stages()
    yield stages
    for language in list(stages.made):
        stages.drop(language)


@pytest.fixture
def said():
    """The diagnostics of `node`."""
    return []


@pytest.fixture
def node(tmp_path, said):
    """An honest node of this process."""
    import baton

    return baton.Node("honest", runtime_directory=tmp_path, on_diagnostic=lambda each: said.append(each.text))
