# SPDX-License-Identifier: Apache-2.0
"""The packages of out/packages in a bare Debian 12: installed, used as the documents say, and removed without a trace.

Not among the tests of `make test`: it needs the packages, root, and Debian's archive (`make packages-test`). The root file system is made
by mmdebstrap from the archive that this machine's apt uses. With BATON_LONG_TEST ROS 1 is installed in it, too.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.build import ROOT
from support.claims import Ports, claim_domain, wait_for_server
from support.ros2 import DISTRIBUTIONS

DEBS = sorted(path for path in (ROOT / "out/packages").glob("*.deb") if "-dbgsym_" not in path.name)
OURS = [path.name.partition("_")[0] for path in DEBS]
LONG = bool(os.environ.get("BATON_LONG_TEST"))
ROS2S = {name: each.prefix for name, each in DISTRIBUTIONS.items()}
# Packages that a user of C++ has; ROS 1's part needs a stock program and a master.
TOOLS = ["g++", "cmake", "make", "pkg-config"] + (
    ["libroscpp-dev", "libsensor-msgs-dev", "python3-rosmaster", "image-transport-tools"] if LONG else []
)
# Files that change without the packages: caches, logs, records of apt and dpkg, files of other processes.
PASSING = re.compile(
    r"/(proc|sys|dev|tmp|run|root)(/|$)|/var/(cache|log|lib/(apt|dpkg|python|systemd)|tmp)(/|$)|/etc/ld\.so\.cache$|/etc/(passwd|group|shadow)-$|.*/__pycache__(/|$)"
)  # fmt: skip


class BareRoot:
    def __init__(self, folder):
        self.folder = folder

    def command(self, words, **variables):
        """Each command has its own mount namespace, so that no mount is left on this machine."""
        mounts = ["mount -t proc proc proc", "mount --rbind /dev dev", "mount -t tmpfs none run"]
        for venv in filter(Path.exists, ROS2S.values()):  # the wheels' Python may be anywhere on this machine
            for each in (venv.resolve(), Path(os.path.realpath(venv / "bin/python")).parents[1]):
                if each != Path("/usr"):
                    mounts.append(
                        f"mkdir -p .{each} && mount --rbind {each} .{each} && mount -o remount,ro,bind .{each}"
                    )
        # Not a copy of this process's environment: its paths do not exist in the root.
        clean = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        words = ["env", "-i", *(f"{key}={value}" for key, value in (clean | variables).items()), *map(str, words)]
        script = f'cd {self.folder} && {" && ".join(mounts)} && exec chroot . "$@"'
        return ["unshare", "--mount", "--", "sh", "-euc", script, "sh", *words]

    def run(self, *words, timeout=600, **variables):
        done = subprocess.run(
            self.command(words, **variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, timeout=timeout,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout}"
        return done.stdout

    def start(self, *words, **variables):
        return subprocess.Popen(
            self.command(words, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=interruptible,
        )

    def write(self, path, text):
        file = self.folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def files(self):
        found = set()
        for folder, folders, files in os.walk(self.folder):
            for name in [*folders, *files]:
                path = "/" + str(Path(folder, name).relative_to(self.folder))
                if not PASSING.match(path):
                    found.add(path)
        return found


def interruptible():
    """Restores SIGINT, which end() needs: a background job of a shell, and its children, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def end(process, number=signal.SIGINT):
    """Ends a program in the root, with its whole session."""
    if process.poll() is None:
        os.killpg(process.pid, number)
    process.wait(timeout=120)


def archive():
    """Debian's archive as this machine's apt knows it."""
    wanted = [
        "apt-get",
        "indextargets",
        "--format",
        "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
        "Origin: Debian",
    ]
    lines = subprocess.run(wanted, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [line for line in lines if line.split()[2].startswith("bookworm")]
    assert lines, "apt knows no archive of Debian 12 (apt-get update)"
    return "\n".join(dict.fromkeys(lines)) + "\n"


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """A Debian 12 with a compiler and all packages on which Baton's packages depend. Later additions come from Baton alone."""
    if os.geteuid() != 0:
        pytest.fail("a root file system is made by root: make packages-test")
    assert DEBS, "no packages in out/packages: make packages"
    folder = tmp_path_factory.mktemp("bare") / "root"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(TOOLS)}", "bookworm", folder, "-"],
        input=archive(), text=True, check=True, timeout=1800,
    )  # fmt: skip
    root = BareRoot(folder)
    root.write("/etc/dpkg/dpkg.cfg.d/unsafe", "force-unsafe-io\n")  # this root need not survive a power cut
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    for deb in DEBS:
        shutil.copy(deb, folder / "root")
    root.run("apt-get", "update", "-q")
    planned = root.run("sh", "-c", "apt-get install -s --no-install-recommends /root/*.deb")
    needed = [name for name in re.findall(r"^Inst (\S+)", planned, re.MULTILINE) if name not in OURS]
    root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *needed, timeout=1800)
    yield root
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def before(bare):
    return bare.files()


@pytest.fixture(scope="session")
def installed(bare, before):
    said = bare.run("sh", "-c", "apt-get install -q -y --no-install-recommends /root/*.deb")
    added = re.search(r"(\d+) newly installed", said)[1]
    assert int(added) == len(OURS), said
    return bare


def page(path):
    return (ROOT / path).read_text()


def readme_program(name):
    """The lines that README shows."""
    return re.search(rf"<!-- file: examples/readme/{name} -->\n```cpp\n(.*?)^```$", page("README.md"), re.M | re.S)[1]


def guide_block(language, word):
    section = page("docs/guides/guide.md").partition("## Install, and use from a project")[2].partition("\n## ")[0]
    (found,) = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S) if word in text]
    return found


def assert_images_arrive(root, camera, viewer, **variables):
    viewing = root.start(viewer, **variables)
    publishing = root.start(camera, **variables)
    try:
        for _ in range(3):  # pytest's and CI's time limits end the wait if no image comes
            assert viewing.stdout.readline() == "640x480 921600 bytes\n"
    finally:
        end(viewing)
        end(publishing)
    assert (viewing.returncode, publishing.returncode) == (0, 0)


def test_nothing_that_is_installed_needs_a_library_that_is_not(installed):
    shown = installed.run(
        "sh",
        "-c",
        "dpkg -L "
        + " ".join(OURS)
        + " | grep -E '\\.so(\\.[0-9.]+)?$|bin/' | sort -u | xargs -r ldd 2>/dev/null || true",
    )
    owner, missing = "", {}
    for line in shown.splitlines():
        if line.endswith(":"):
            owner = Path(line[:-1]).name
        elif "not found" in line:
            missing.setdefault(owner, set()).add(line.split()[0])
    # Files of ROS 2, which share the folder when ROS 2 is installed.
    ros2 = missing.pop("librmw_baton_cpp.so", set())
    assert not missing
    rmws = {f"ros-{name}-rmw-baton-cpp" for name in ROS2S} & set(OURS)
    if rmws:
        assert ros2 and all(any((venv / "lib" / library).exists() for venv in ROS2S.values()) for library in ros2), ros2
    assert shown.count("/librmw_baton_cpp.so:") == len(rmws)


def test_the_programs_of_the_readme_compile_and_run(installed):
    for program in ("camera", "viewer"):
        installed.write(f"/root/project/{program}.cpp", readme_program(f"{program}.cpp"))
    lines = guide_block("cmake", "find_package(baton 0.1 REQUIRED)")
    viewer = "add_executable(viewer viewer.cpp)\ntarget_link_libraries(viewer PRIVATE baton::baton camera_messages)\n"
    installed.write("/root/project/CMakeLists.txt", lines + viewer)
    installed.run("cmake", "-S", "/root/project", "-B", "/root/build")
    installed.run("cmake", "--build", "/root/build", "-j2")
    assert_images_arrive(installed, "/root/build/camera", "/root/build/viewer", BATON_RUNTIME_DIR="/tmp/readme")


def test_the_camera_compiles_with_pkg_config(installed):
    installed.write("/root/plain/camera.cpp", readme_program("camera.cpp"))
    recipe = guide_block("sh", "pkg-config").partition("\n")[2]  # its first line names a prefix
    assert recipe.startswith("baton generate ")
    installed.run("sh", "-euc", f"cd /root/plain\n{recipe}")
    assert "libbaton.so.0.1 => /" in installed.run("ldd", "/root/plain/camera")


def test_the_command_runs_and_has_its_page_and_completion(installed):
    version = re.search(r"^project\(baton VERSION ([\d.]+)", page("CMakeLists.txt"), re.M)[1]
    assert installed.run("baton", "--version") == f"baton, version {version}\n"
    assert "no topic" in installed.run("baton", "topic", "list", BATON_RUNTIME_DIR="/tmp/empty")
    assert installed.run("baton", "doctor", BATON_RUNTIME_DIR="/tmp/empty")
    completed = installed.run("bash", "-c", "COMP_WORDS='baton top' COMP_CWORD=1 _BATON_COMPLETE=bash_complete baton")
    assert {"plain,topic", "plain,top"} <= set(completed.split())
    for path in ("usr/share/bash-completion/completions/baton", "usr/share/zsh/vendor-completions/_baton"):
        assert "_BATON_COMPLETE" in (installed.folder / path).read_text()
    assert installed.run("sh", "-c", "gzip -dc /usr/share/man/man1/baton.1.gz").count("\n.SS ") > 20


LISTENER = """
import baton
from baton.msg.std_msgs import String
subscription = baton.Node("listener").subscribe("chatter", String)
print("ready", flush=True)
print(subscription.take(timeout=120).data, flush=True)
"""
TALKER = """
import baton
from baton.msg.std_msgs import String
node = baton.Node("talker")
publisher = node.advertise("chatter", String)
assert publisher.wait_for_subscriptions(1, 120)
message = String()
message.data = "hello"
publisher.publish(message)
input()
"""


def test_two_processes_of_python_exchange_a_message(installed):
    listener = installed.start("python3", "-c", LISTENER, BATON_RUNTIME_DIR="/tmp/python")
    assert listener.stdout.readline() == "ready\n"
    talker = installed.start("python3", "-c", TALKER, BATON_RUNTIME_DIR="/tmp/python")
    try:
        assert listener.stdout.readline() == "hello\n"
    finally:
        end(talker)
        end(listener)


@pytest.fixture
def ports():
    """Two free ports."""
    with Ports(2) as claimed:
        yield claimed


def test_the_installed_link_brings_a_topic_of_another_host_and_says_so(installed, ports):
    near_port, far_port = ports
    link = ("baton_link", "--interface", "lo")
    near, far = {"BATON_RUNTIME_DIR": "/tmp/near"}, {"BATON_RUNTIME_DIR": "/tmp/far"}
    programs = [
        installed.start(*link, "--host-name", "near", "--port", near_port, **near),
        installed.start(*link, "--host-name", "far", "--port", far_port, "--peer", f"127.0.0.1:{near_port}", **far),
    ]
    try:
        programs.append(listener := installed.start("python3", "-c", LISTENER, **near))
        assert listener.stdout.readline() == "ready\n"
        programs.append(installed.start("python3", "-c", TALKER, **far))
        assert listener.stdout.readline() == "hello\n"
        # The link writes its state once a second, so the last text may be older than the connection of the hosts.
        for _ in range(20):
            status = json.loads(installed.run("baton", "link", "status", "--json", "-i", "0", **near))
            if status["state"]["hosts"]:
                break
        assert [host["name"] for host in status["state"]["hosts"] if host["connected"]] == ["far"]
        assert "/talker@far" in installed.run("baton", "node", "list", **near)
        assert "there is no file '/none/cert.pem'" in installed.run(
            "sh", "-c", "baton_link --security /none 2>&1 || true"
        )
    finally:
        for program in reversed(programs):
            end(program)


def test_the_link_does_not_listen_because_it_is_installed(installed):
    assert installed.run(
        "sh",
        "-c",
        "ls /usr/lib/systemd/system/baton-link@.service /lib/systemd/system/baton-link@.service 2>/dev/null || true",
    )
    wanted = installed.run("sh", "-c", "find /etc -path '*systemd*' -name '*baton*'")
    assert wanted == "", wanted
    assert "BATON_LINK_OPTIONS=\n" in (installed.folder / "etc/default/baton-link").read_text()


@pytest.mark.parametrize("distribution", list(ROS2S))
def test_rclpy_loads_the_installed_rmw_and_its_messages_travel_through_baton(installed, distribution):
    if f"ros-{distribution}-rmw-baton-cpp" not in OURS:
        pytest.skip("the RMW's package was not made (scripts/packages.sh says why)")
    for name in ("programs.py", "rclpy_program.py"):
        installed.write(f"/root/rclpy/{name}", page(f"ros2/tests/{name}"))
    venv = ROS2S[distribution].resolve()
    libraries = [f"/opt/ros/{distribution}/lib", venv / "lib", *venv.glob("lib/python3*/site-packages/ros_*.libs")]
    domain, claim = claim_domain()
    # The wheels' librcl.so names rmw_fastrtps_cpp itself: there another RMW is also preloaded (docs/guides/ros2.md).
    variables = {
        "RMW_IMPLEMENTATION": "rmw_baton_cpp",
        "LD_PRELOAD": f"/opt/ros/{distribution}/lib/librmw_baton_cpp.so",
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        "ROS_DOMAIN_ID": str(domain),
        "BATON_RUNTIME_DIR": "/tmp/rclpy",
    }
    program = (venv / "bin/python", "/root/rclpy/programs.py")
    talker = installed.start(*program, "talk", "default", "20", "1", **variables)
    try:
        said = installed.run(*program, "listen", "default", "20", **variables)
    finally:
        end(talker)
        claim.close()
    through_baton = re.search(r"of /?chatter: (\d+) messages through Baton", said)
    assert through_baton and int(through_baton[1]) > 0, said


@pytest.mark.skipif(not LONG, reason="ROS 1 is installed by the long version (make packages-test ARGS=--long)")
def test_stock_programs_of_ros1_use_shared_memory_and_copy_no_array_under_the_installed_command(installed, ports):
    for name in ("talker.cpp", "listener.cpp", "arrays.cpp", "pattern.hpp", "tcp_bytes.hpp"):
        installed.write(f"/root/ros1/{name}", page(f"ros1/tests/programs/{name}"))
    for name in ("talker", "listener", "arrays"):
        installed.run(
            "sh",
            "-euc",
            f"cd /root/ros1 && c++ -std=c++17 -O2 {name}.cpp -o {name} $(pkg-config --cflags --libs roscpp sensor_msgs) -pthread -ldl",
        )
    port = ports[0]
    variables = {
        "ROS_MASTER_URI": f"http://127.0.0.1:{port}",
        "ROS_IP": "127.0.0.1",
        "ROS_HOME": "/tmp/ros1_home",
        "BATON_RUNTIME_DIR": "/tmp/ros1",
    }
    run = ("baton", "ros1", "run")
    programs = [installed.start("python3", "/usr/bin/rosmaster", "--core", "-p", port, **variables)]

    wait_for_server(programs[0], port)  # a node that does not reach the server at once prints lines about it

    def tell(program, line):
        program.stdin.write(f"{line}\n")
        program.stdin.flush()

    def do(line):
        tell(talker, line)
        assert talker.stdout.readline() == f"done {line}\n"

    def tcp_bytes():
        tell(listener, "tcp")
        return int(listener.stdout.readline().split()[1])

    try:
        programs.append(listener := installed.start(*run, "/root/ros1/listener", "images", 10, 0, 0, **variables))
        programs.append(arrays := installed.start(*run, "/root/ros1/arrays", "images", "read", **variables))
        programs.append(talker := installed.start(*run, "/root/ros1/talker", "images", 10, "volatile", **variables))
        do("subscribers 2")
        for number in range(1, 201):  # until both are connected in shared memory
            before = tcp_bytes()
            do("publish 1000000 1 0")
            assert listener.stdout.readline() == f"{number} {number - 1} 1000000 good\n"
            received, good, aliased = arrays.stdout.readline().split()
            assert (received, good) == (str(number), "good")
            if tcp_bytes() - before < 1000000 and int(aliased) > 0:
                break
            time.sleep(0.02)
        else:
            pytest.fail("no message took shared memory, or every array was copied")
    finally:
        for program in reversed(programs):
            end(program, signal.SIGKILL)


@pytest.mark.skipif(not LONG, reason="ROS 1 is installed by the long version (make packages-test ARGS=--long)")
def test_image_transport_finds_the_installed_transport_without_any_setting(installed):
    said = installed.run("/usr/lib/image_transport/list_transports")
    own = said.partition('"image_transport/baton"')[2].partition("----")[0]
    assert "Provided by package: baton_image_transport" in own
    assert "Publisher: Hands images over" in own, "the library does not load"


def test_removing_the_packages_leaves_nothing(installed, before):
    added = installed.files() - before
    assert {"/usr/bin/baton", "/usr/include/baton/baton.hpp"} <= added
    installed.run("apt-get", "purge", "-q", "-y", *OURS)
    assert installed.files() - before == set()
    # dpkg removes a folder that is empty and in no other package; /opt is in no package.
    assert before - installed.files() <= {"/opt"}
