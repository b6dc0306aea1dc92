#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the README's two programs together: the viewer prints images; Ctrl-C ends both orderly."""

import os
import signal
import subprocess
import sys
import tempfile


def main():
    camera, viewer = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, BATON_RUNTIME_DIR=folder, BATON_DOMAIN="7")
        # The watchdog of this test is ctest's timeout: readline() waits for ever if no image comes.
        programs = [
            subprocess.Popen([viewer], stdout=subprocess.PIPE, text=True, env=environment),
            subprocess.Popen([camera], env=environment),
        ]
        try:
            for _ in range(3):
                line = programs[0].stdout.readline()
                assert line == "640x480 921600 bytes\n", repr(line)
            for program in programs:
                program.send_signal(signal.SIGINT)
            codes = [program.wait(timeout=120) for program in programs]
            assert codes == [0, 0], codes
        finally:
            for program in programs:
                program.kill()


if __name__ == "__main__":
    main()
