# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from codec_process import Codec

settings.register_profile(
    "codec",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
settings.load_profile("codec")


@pytest.fixture(scope="session")
def codec():
    process = Codec()
    yield process
    process.close()
