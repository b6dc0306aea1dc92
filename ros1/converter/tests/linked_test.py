# SPDX-License-Identifier: Apache-2.0
"""`baton migrate check` on small programs whose messages only look like Baton's; ros1/tests/recompiled_build_test.py has the real ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from baton_converter.verbs.migrate import command
from click.testing import CliRunner, Result

pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")

MESSAGES = """\
#pragma once
#ifdef RECOMPILED
namespace baton::ros1::recompiled {
template <class M> struct Allocated {};
struct [[gnu::abi_tag("baton")]] Allocator {};
}
namespace msgs {
template <class A> struct Image_ {};
using Image = Image_<baton::ros1::recompiled::Allocator>;
template <> struct Image_<::baton::ros1::recompiled::Allocator> : baton::ros1::recompiled::Allocated<Image> { char big[100]; };
}
#else
namespace msgs { template <class A> struct Image_ { int small; }; using Image = Image_<int>; }
#endif
"""
LIBRARY = """\
#pragma once
#include "msgs.hpp"
#include <functional>
#include <memory>
#include <utility>
#include <vector>
namespace lib {
template <class T> struct Box { T content; };
class Deep { public: Deep(); std::vector<std::shared_ptr<Box<msgs::Image>>> images; };
class Callback { public: Callback(); std::function<void(const msgs::Image*)> call; };
class Hidden;                                     // the program knows no more of it
class Plain { public: Plain(); Hidden* hidden; Plain* next; int number; };
inline namespace v1 { class Versioned { public: Versioned(); msgs::Image image[2]; }; }
struct Outer { struct Inner { Inner(); msgs::Image image; }; };
struct Either { Either(); union { int number; msgs::Image* image; }; };
struct Friend { friend int seen(const Friend&); friend Friend operator+(const Friend&, int); msgs::Image image; };
Outer::Inner operator*(const Plain&, int);
extern Outer::Inner global;
extern "C" int plain_name(const Outer::Inner&);
int count(const Plain&);
int count(int);
template <class T> struct Pair { Pair(); std::pair<T, msgs::Image> both; };
template <class T> struct Derived : Box<std::pair<T, Outer>> { Derived(); std::pair<T, Outer::Inner>* inner; };
template <class T> struct Enclosing { struct Inner { Inner(); msgs::Image image; }; };
template <class T> struct Members {
  static Outer::Inner shared;
  static int number;
  Outer::Inner* make();
  int count(Outer::Inner*);
  int count();
};
struct Pointing { Pointing(); template <class T> struct Behind { T number; msgs::Image image; }; Behind<int>* behind; };
inline char peek() { static Outer::Inner last; return *reinterpret_cast<char*>(&last); }
}
"""
SOURCE = """\
#include "lib.hpp"
namespace lib {
class Hidden { msgs::Image image; };
Deep::Deep() {}
Callback::Callback() {}
Plain::Plain() : hidden(nullptr) {}
Versioned::Versioned() {}
Outer::Inner::Inner() {}
Either::Either() {}
int seen(const Friend&) { return 1; }
Outer::Inner operator*(const Plain&, int) { return {}; }
Outer::Inner global;
int plain_name(const Outer::Inner&) { return 1; }
int count(const Plain&) { return 1; }
int count(int) { return 2 + peek(); }
template <class T> Pair<T>::Pair() {}
template <class T> Derived<T>::Derived() {}
template <class T> Enclosing<T>::Inner::Inner() {}
template <class T> Outer::Inner Members<T>::shared;
template <class T> int Members<T>::number;
template <class T> Outer::Inner* Members<T>::make() { return nullptr; }
template <class T> int Members<T>::count(Outer::Inner*) { return 1; }
template <class T> int Members<T>::count() { return 1; }
template struct Pair<int>;
template struct Derived<int>;
template struct Enclosing<int>;
template struct Members<int>;
Pointing::Pointing() {}
}
"""


def compile(folder: Path, *words: str) -> None:
    done = subprocess.run(["c++", "-std=c++17", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    (folder / "msgs.hpp").write_text(MESSAGES)
    (folder / "lib.hpp").write_text(LIBRARY)
    (folder / "lib.cpp").write_text(SOURCE)
    first = folder / "include/baton/ros1/recompiled/first.hpp"
    first.parent.mkdir(parents=True)
    first.write_text('#define RECOMPILED\nextern "C" { extern const char baton_ros1_recompiled = 1; }\n')
    compile(folder, "-shared", "-fPIC", "lib.cpp", "-o", "liblib.so")
    return folder


def check(folder: Path, name: str, body: str, library: str = "liblib.so") -> Result:
    (folder / f"{name}.cpp").write_text(f'#include "lib.hpp"\nint main() {{ {body} }}\n')
    options = ["-std=c++17", "-Iinclude", "-include", "baton/ros1/recompiled/first.hpp"]
    compile(folder, *options[1:], f"{name}.cpp", library, f"-Wl,-rpath,{folder}", "-o", name)
    arguments = ["c++", *options, "-o", f"{name}.dir/{name}.o", "-c", f"{name}.cpp"]
    database = [{"directory": str(folder), "file": f"{name}.cpp", "arguments": arguments}]
    (folder / "compile_commands.json").write_text(json.dumps(database))
    return CliRunner().invoke(command, ["check", str(folder / name), "-p", str(folder), "--target", name])


# What a program uses of the library, the name that the error has, and where its message is.
USES = [
    ("lib::Deep a;", "lib::Deep", "its member images"),
    ("lib::Callback a;", "lib::Callback", "its member call"),
    ("lib::Versioned a;", "lib::v1::Versioned", "its member image"),
    ("lib::Outer::Inner a;", "lib::Outer::Inner", "its member image"),
    ("lib::Either a;", "lib::Either", "its anonymous union"),
    ("lib::Friend a; return seen(a);", "lib::Friend", "its member image"),
    ("lib::Plain a; (void)(a * 2);", "lib::operator*(lib::Plain const&, int)", "its type"),
    ("return lib::global.image.big[0];", "lib::global", "its type"),
    ("return lib::plain_name({});", "plain_name", "its type"),
    ("lib::Pair<int> a;", "lib::Pair", "its member both"),
    ("lib::Derived<int> a;", "lib::Derived", "its member inner"),
    ("lib::Enclosing<int>::Inner a;", "lib::Enclosing::Inner", "its member image"),
    ("lib::Members<int>::shared = lib::Outer::Inner();", "lib::Members<int>::shared", "its type"),
    ("lib::Members<int>().make();", "lib::Members<int>::make()", "its type"),
    ("lib::Pointing a;", "lib::Pointing", "its member behind"),
    ("return lib::peek() + lib::count(1);", "lib::peek()::last", "its type"),
]


def test_every_class_with_a_message_somewhere_inside_is_found(folder: Path) -> None:
    functions = "".join(f"  []() -> int {{ {body} return 0; }}();\n" for body, _, _ in USES)
    result = check(folder, "program", functions)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    said = {
        line.partition(": error: ")[2].partition(" of program has Baton's messages, and liblib.so was compiled")[
            0
        ]: reason
        for line, reason in zip(lines, lines[1:], strict=False)
        if ": error: " in line
    }
    expected = {
        culprit: f"  {reason} has msgs::Image inside; program and the library share" for _, culprit, reason in USES
    }
    assert said == expected
    assert "way out: compile the library's sources, too" in lines[-1]


def test_what_has_no_message_and_what_was_recompiled_is_not_found(folder: Path) -> None:
    options = ["-Iinclude", "-include", "baton/ros1/recompiled/first.hpp"]
    compile(folder, *options, "-shared", "-fPIC", "lib.cpp", "-o", "libown.so")
    for body, library in (
        ("lib::Plain a; return lib::count(a) + lib::count(1);", "liblib.so"),
        ("return lib::Members<int>::number + lib::Members<int>().count();", "liblib.so"),
        ("lib::Deep a;", "libown.so"),
    ):
        result = check(folder, "program", body, library)
        assert (result.exit_code, result.output) == (0, ""), body


def test_a_static_library_that_was_not_recompiled_is_found(folder: Path) -> None:
    compile(folder, "-c", "lib.cpp", "-o", "lib.o")
    subprocess.run(["ar", "rc", "lib.a", "lib.o"], cwd=folder, check=True)
    assert check(folder, "program", "lib::Deep a;", "lib.a").exit_code == 0, "nothing says that it was not"
    says(
        folder,
        "program",
        "error: lib::Deep of program has Baton's messages, and lib.a was compiled with ROS's",
        "--archive",
        folder / "lib.a",
    )


def test_what_cannot_be_checked_is_an_error(folder: Path) -> None:
    compile(folder, "-shared", "-fPIC", "lib.cpp", "-o", "libgone.so")
    check(folder, "program", "lib::Deep a;", "libgone.so")
    says(
        folder,
        "program",
        "has no recompiled source of other. Link the target that baton_ros1_messages makes",
        "--target",
        "other",
    )
    for name in ("lib.cpp", "nowhere"):
        says(folder, name, f"nm -D {folder / name}: nm: ")
    (folder / "libgone.so").unlink()
    says(folder, "program", "the library libgone.so is not found; set LD_LIBRARY_PATH as for the program itself")


def says(folder: Path, program: str, sentence: str, *options: str | Path) -> None:
    result = CliRunner().invoke(command, ["check", str(folder / program), "-p", str(folder), *map(str, options)])
    assert result.exit_code == 1 and sentence in result.output, result.output
