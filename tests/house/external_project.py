#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build into a temporary prefix, then configures, builds and runs a project that only knows that prefix.

Where pkg-config is installed, the same program is also built without CMake.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, **kwargs):
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs
    )
    if done.returncode != 0:
        print(f"--- failed: {' '.join(map(str, command))}\n{done.stdout}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ("cmake", "compiler", "build", "source"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix, build = Path(folder, "prefix"), Path(folder, "build")
        run(args.cmake, "--install", args.build, "--prefix", prefix)
        # The package must be found by CMAKE_PREFIX_PATH alone: nothing of the environment may help.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("CMAKE_", "BATON_BUILD"))}
        run(
            args.cmake, "-G", "Ninja", "-S", args.source, "-B", build,
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={args.compiler}",
            env=environment,
        )  # fmt: skip
        run(args.cmake, "--build", build, env=environment)
        environment["BATON_RUNTIME_DIR"] = str(Path(folder, "run"))
        print(run(build / "baton_external", env=environment, timeout=240), end="")
        if not shutil.which("pkg-config"):
            return
        (found,) = prefix.glob("lib*/**/pkgconfig/baton.pc")
        environment["PKG_CONFIG_PATH"] = str(found.parent)
        flags = run("pkg-config", "--cflags", "--libs", "baton", env=environment).split()
        header = next(build.glob("**/baton/msg/my_robot/wheel.hpp"))
        program = Path(folder, "without_cmake")
        main_cpp = Path(args.source, "main.cpp")
        run(args.compiler, "-std=c++17", main_cpp, "-o", program, f"-I{header.parents[3]}", *flags, env=environment)
        environment["LD_LIBRARY_PATH"] = str(found.parents[1])
        print(run(program, env=environment, timeout=240), end="")


if __name__ == "__main__":
    main()
