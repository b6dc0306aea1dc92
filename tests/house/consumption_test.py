# SPDX-License-Identifier: Apache-2.0
"""Programs outside of the tree use Baton in each way that docs/guides/guide.md prints: the page's own lines are run.

The release build is installed once. Tests that build Baton again (add_subdirectory, FetchContent, colcon) use a folder with the same place in the
sources as build/release, so that the compiler cache finds every file of the release build.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import ros2
from support.build import BUILD, ROOT

GUIDE = (ROOT / "docs/guides/guide.md").read_text()
SECTION = GUIDE[GUIDE.index("## Install, and use from a project") : GUIDE.index("## Building messages")]
BLOCKS = [(match[1], match[2]) for match in re.finditer(r"^```(\w+)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)]

pytestmark = pytest.mark.skipif(
    not (BUILD / "lib/libbaton.so").exists(), reason="needs the release build (scripts/build.sh release)"
)


def block(language, word):
    (found,) = [text for kind, text in BLOCKS if kind == language and word in text]
    return found


PROJECT = block("cmake", "find_package(baton 0.1 REQUIRED)")


def run(*command, timeout=600, **kwargs):
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=timeout, **kwargs,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A home directory in which the guide's first block has made ~/baton."""
    home = tmp_path_factory.mktemp("home")
    lines = block("sh", "cmake --install").splitlines()
    assert lines[0] == "make build"
    install = lines[1].replace("build/release", str(BUILD))
    run("bash", "-euc", install, cwd=ROOT, env={**os.environ, "HOME": str(home)})
    return home


@pytest.fixture(scope="session")
def python_bin(tmp_path_factory):
    """The bin folder of a Python with the packages of requirements.txt, and without this checkout."""
    folder = tmp_path_factory.mktemp("python")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    (site,) = folder.glob("lib/python3*/site-packages")
    # Directories that a .pth file adds are not searched for more .pth files: baton-checkout.pth of the checkout has no effect.
    (packages,) = Path(sys.prefix).glob("lib/python3*/site-packages")
    (site / "packages.pth").write_text(f"{packages}\n")
    return folder / "bin"


@pytest.fixture
def environment(home, python_bin, tmp_path):
    """An environment in which no variable of the caller helps to find Baton."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)  # a program that has to make it warns
    kept = {key: value for key, value in os.environ.items() if key.startswith("CCACHE_") or key in ("LANG", "USER")}
    return {
        **kept,
        "HOME": str(home),
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(Path.home() / ".cache/ccache")),
        "CCACHE_BASEDIR": str(ROOT),
        "CCACHE_NOHASHDIR": "1",
        "PATH": f"{python_bin}:{os.defpath}:/usr/bin:/usr/local/bin",
        "BATON_RUNTIME_DIR": str(runtime),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def write_project(folder, cmake_lists):
    """The README's two programs with the guide's CMakeLists.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    for program in ("camera", "viewer"):
        shutil.copy(ROOT / f"examples/readme/{program}.cpp", folder)
    viewer = "add_executable(viewer viewer.cpp)\ntarget_link_libraries(viewer PRIVATE baton::baton camera_messages)\n"
    (folder / "CMakeLists.txt").write_text(cmake_lists + viewer)
    return folder


def assert_they_run(camera, viewer, environment):
    with subprocess.Popen([str(viewer)], stdout=subprocess.PIPE, text=True, env=environment) as viewing:
        with subprocess.Popen([str(camera)], env=environment) as publishing:
            try:
                for _ in range(3):  # pytest's and CI's time limits end the wait if no image comes
                    assert viewing.stdout.readline() == "640x480 921600 bytes\n"
            finally:
                viewing.send_signal(signal.SIGINT)
                publishing.send_signal(signal.SIGINT)
            assert publishing.wait(timeout=120) == 0
        assert viewing.wait(timeout=120) == 0


def build_and_run(source, build, environment, *options):
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *options, env=environment)
    run("cmake", "--build", build, "--target", "camera", "viewer", "-j2", env=environment, timeout=900)
    assert_they_run(build / "camera", build / "viewer", environment)


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """A repository with the files of the working tree, committed or not."""
    folder = tmp_path_factory.mktemp("repository")
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")
    run(*git, "init", "-q", "-b", "main", cwd=folder)
    run(*git, "add", "-A", cwd=folder)
    run(*git, "commit", "-q", "-m", "tree", cwd=folder)
    return folder


def test_the_programs_of_the_readme_build_with_find_package(home, environment, tmp_path):
    source = write_project(tmp_path / "project", PROJECT)
    build_and_run(source, tmp_path / "build", environment, f"-DCMAKE_PREFIX_PATH={home}/baton")
    # Found by CMAKE_PREFIX_PATH alone, wherever the prefix is: an installation can be moved.
    moved = tmp_path / "moved"
    shutil.copytree(home / "baton", moved, symlinks=True)
    build_and_run(source, tmp_path / "build2", environment, f"-DCMAKE_PREFIX_PATH={moved}")


def test_a_project_with_its_own_message_builds_with_find_package(home, environment, tmp_path):
    options = ("-G", "Ninja", f"-DCMAKE_PREFIX_PATH={home}/baton")
    run("cmake", "-S", ROOT / "examples/external", "-B", tmp_path, *options, env=environment)
    run("cmake", "--build", tmp_path, env=environment)
    assert run(tmp_path / "baton_external", env=environment) == "took front left with 1000 ticks\n"


def test_the_recipe_for_pkg_config_makes_a_program_that_runs(home, environment, tmp_path):
    source = write_project(tmp_path / "project", "")
    recipe = block("sh", "pkg-config")
    run("bash", "-euc", recipe, cwd=source, env=environment)
    run("bash", "-euc", recipe.replace("camera", "viewer"), cwd=source, env=environment)
    assert_they_run(source / "camera", source / "viewer", environment)


def test_the_programs_of_the_readme_build_with_add_subdirectory(repository, environment, tmp_path):
    line = block("cmake", "add_subdirectory")
    source = write_project(tmp_path, PROJECT.replace("find_package(baton 0.1 REQUIRED)\n", line))
    run("git", "clone", "-q", repository, source / "baton")
    environment["CCACHE_BASEDIR"] = str(source / "baton")
    build = source / "baton/build/release"
    build_and_run(source, build, environment, f"-DBATON_PYTHON={sys.executable}")
    cache = (build / "CMakeCache.txt").read_text()
    assert not re.search("^BUILD_SHARED_LIBS:", cache, re.MULTILINE), "the outer project's libraries are its own"


def test_the_programs_of_the_readme_build_with_fetch_content(repository, environment, tmp_path):
    lines = block("cmake", "FetchContent")
    source = write_project(tmp_path / "project", PROJECT.replace("find_package(baton 0.1 REQUIRED)\n", lines))
    options = (f"-DBATON_REPOSITORY=file://{repository}", f"-DBATON_PYTHON={sys.executable}")
    run("cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "first", *options, env=environment)
    # The fetched sources are built in place, so that the compiler cache has them.
    fetched = tmp_path / "first/_deps/baton-src"
    assert (fetched / "CMakeLists.txt").is_file()
    environment["CCACHE_BASEDIR"] = str(fetched)
    options = (f"-DFETCHCONTENT_SOURCE_DIR_BATON={fetched}", f"-DBATON_PYTHON={sys.executable}")
    build_and_run(source, fetched / "build/release", environment, *options)


COLCON_PACKAGE = """<package format="3">
  <name>my_robot</name><version>1.0.0</version><description>The README's programs.</description>
  <maintainer email="me@example.org">me</maintainer><license>none</license>
  <depend>baton</depend>
  <export><build_type>cmake</build_type></export>
</package>
"""


def test_a_colcon_workspace_builds_baton_and_a_package_that_depends_on_it(repository, environment, tmp_path):
    colcon = Path(sys.executable).with_name("colcon")
    if not colcon.exists():
        pytest.skip("needs colcon (scripts/setup.sh test)")
    package = write_project(tmp_path / "src/my_robot", PROJECT)
    with open(package / "CMakeLists.txt", "a") as lists:
        lists.write("install(TARGETS camera viewer DESTINATION bin)\n")
    (package / "package.xml").write_text(COLCON_PACKAGE)
    baton = tmp_path / "src/baton"
    run("git", "clone", "-q", repository, baton)
    environment["CCACHE_BASEDIR"] = str(baton)
    run(
        colcon, "--log-base", tmp_path / "log", "build", "--build-base", baton / "build",
        "--cmake-args", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DBATON_PYTHON={sys.executable}",
        cwd=tmp_path, env=environment, timeout=900,
    )  # fmt: skip
    programs = tmp_path / "install/my_robot/bin"
    environment["LD_LIBRARY_PATH"] = f"{tmp_path}/install/baton/lib"  # as install/setup.bash does
    assert_they_run(programs / "camera", programs / "viewer", environment)


def test_the_installed_command_runs_without_the_checkout(home, environment, tmp_path):
    environment["PATH"] = f"{home}/baton/bin:{environment['PATH']}"
    version = re.search(r"^project\(baton VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    assert run("baton", "--version", env=environment, cwd=tmp_path) == f"baton, version {version}\n"
    assert str(ROOT) not in run("baton", "doctor", env=environment, cwd=tmp_path)
    shown = run("baton", "interface", "show", "geometry_msgs/Point", env=environment, cwd=tmp_path)
    assert re.findall(r"float64 (\w)", shown) == ["x", "y", "z"]


def test_the_installed_command_publishes_to_the_installed_python_package(home, environment, python_bin, tmp_path):
    program = """
import sys, baton
assert baton.__file__.startswith(sys.argv[1]), baton.__file__
from baton.msg.std_msgs import String
node = baton.Node("listener")
subscription = node.subscribe("chatter", String)
print("ready", flush=True)
print(subscription.take(timeout=120).data, flush=True)
"""
    (folder,) = (home / "baton").glob("lib*/**/baton/python")
    listener = subprocess.Popen(
        [python_bin / "python", "-c", program, str(folder)],
        stdout=subprocess.PIPE, text=True, env={**environment, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    try:
        assert listener.stdout.readline() == "ready\n"
        command = home / "baton/bin/baton"
        run(command, "topic", "pub", "--times", "1", "chatter", "std_msgs/String", "{data: hello}", env=environment)
        assert listener.stdout.readline() == "hello\n"
        assert listener.wait(timeout=120) == 0
    finally:
        listener.kill()
        listener.wait()


def test_the_installed_command_names_missing_packages_of_its_python(home, environment, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare")
    environment["PATH"] = f"{tmp_path}/bare/bin:{os.defpath}"
    done = subprocess.run([home / "baton/bin/baton"], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "has no click. Install it (" in done.stderr and "Traceback" not in done.stderr


def test_the_installed_command_preloads_the_installed_library_of_ros_1(home, environment):
    if not (BUILD / "lib/libbaton_roscpp.so").exists():
        pytest.skip("this build is without ROS 1; the part ros1 runs this test with its own")
    preloaded = run(home / "baton/bin/baton", "ros1", "run", "printenv", "LD_PRELOAD", env=environment)
    assert preloaded.strip() == str(home / "baton/lib/libbaton_roscpp.so")
    loaded = "import sys; print('baton_accelerate' in sys.modules)"
    assert run(home / "baton/bin/baton", "ros1", "run", sys.executable, "-c", loaded, env=environment) == "True\n"


def test_the_installed_rmw_is_where_ament_looks_for_it(home):
    if not ros2.TESTED.library.exists():
        pytest.skip("the RMW is not built: no ROS 2 (scripts/setup.sh test)")
    prefix = home / "baton" / ros2.TESTED.name
    index = prefix / "share/ament_index/resource_index"
    assert (index / "packages/rmw_baton_cpp").exists() and (prefix / "share/rmw_baton_cpp/package.xml").exists()
    for language in ("c", "cpp"):
        supports = f"rosidl_typesupport_{language};rosidl_typesupport_introspection_{language}"
        assert (index / f"rmw_typesupport_{language}/rmw_baton_cpp").read_text() == supports
    # It finds libbaton in the same installation, and has no path of the build folder.
    dynamic = run("readelf", "-d", prefix / "lib/librmw_baton_cpp.so")
    assert "$ORIGIN/../../lib" in dynamic and str(BUILD) not in dynamic
    # All parts of Baton that it needs are installed, too.
    bridge = run("readelf", "-d", prefix / "lib/rmw_baton_cpp/baton_bridge")
    assert "$ORIGIN/..:" in bridge and "$ORIGIN/../../../lib" in bridge and str(BUILD) not in bridge
    needed = set(re.findall(r"NEEDED.*\[(libbaton\S*)\]", dynamic + bridge))
    assert needed and all((home / "baton/lib" / library).exists() for library in needed), needed


def test_nothing_that_is_installed_names_the_build_folder(home):
    named = {
        path.name for path in (home / "baton").rglob("*") if path.is_file() and str(BUILD).encode() in path.read_bytes()
    }
    # These come from the build: ROS 2's message packages, roscpp's preloaded library, and the modules of rospy and baton_python.
    peers = ("ros2", "rclpy", "roscpp", "rospy", "baton_python")
    assert named <= {f"baton_perf_{peer}" for peer in peers}
