# SPDX-License-Identifier: Apache-2.0
"""Scenes for the hostile tests: made at the first attack on a victim's language, kept while nothing goes wrong."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scene as scenes

if not scenes.HONEST.is_file() or not any((scenes.PACKAGE / "baton").glob("_core*.so")):
    collect_ignore_glob = ["*_test.py"]


class Stages:
    def __init__(self) -> None:
        self.made: dict[str, scenes.Scene] = {}

    def get(self, language: str) -> scenes.Scene:
        if language not in self.made:
            self.made[language] = scenes.Scene(language, tempfile.mkdtemp(prefix="baton-hostile-"))
        return self.made[language]

    def drop(self, language: str) -> None:
        scene = self.made.pop(language, None)
        if scene:
            scene.end()
            shutil.rmtree(scene.directory, ignore_errors=True)


@pytest.fixture(scope="session")
def stages():
    stages = Stages()
    yield stages
    for language in list(stages.made):
        stages.drop(language)
