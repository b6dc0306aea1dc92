# SPDX-License-Identifier: Apache-2.0
"""Runs LOT's graphs (pushers x pullers) with the example, in one and in separate namespaces that share only the directory."""

import os
import subprocess
import sys
import tempfile

FRAMES = 200
SEPARATE = ["unshare", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts", "--mount"]


def run_graph(program: str, prefix: list[str], pushers: int, pullers: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="baton-lot-") as directory:
        environment = {**os.environ, "BATON_RUNTIME_DIR": directory, "BATON_DOMAIN": "0"}

        def start(*arguments: object) -> subprocess.Popen:
            command = [*prefix, program, *map(str, arguments)]
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

        processes = [start("pull", FRAMES * pushers) for _ in range(pullers)]
        processes += [start("push", FRAMES, pullers) for _ in range(pushers)]
        outputs = [process.communicate(timeout=50)[0] for process in processes]
        good = all(process.returncode == 0 for process in processes)
        print(f"{pushers}p{pullers}s {'ok' if good else 'FAILED'}", *(o.strip() for o in outputs), sep="\n  ")
        left = os.listdir(os.path.join(directory, "0"))
        if left:
            print("left in the directory:", *left)
        return good and not left


def main() -> int:
    program = sys.argv[1]
    good = all([run_graph(program, [], *graph) for graph in ((1, 1), (1, 5), (5, 1))])
    separate = SEPARATE if os.geteuid() == 0 else [*SEPARATE, "--user", "--map-root-user"]
    if subprocess.run([*separate, "true"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: this machine permits no new namespaces (unshare)")
        return 0 if good else 1
    print("in separate namespaces:")
    good &= all([run_graph(program, separate, *graph) for graph in ((1, 1), (1, 5), (5, 1))])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
