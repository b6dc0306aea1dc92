# SPDX-License-Identifier: Apache-2.0
"""Compares each table of the documents that the sources can prove: offsets, sizes, numbers, enumerators, error codes,
environment variables, threads. Names are read from the sources, so a rename in a source fails until the document has it."""

import ast
import json
import re
import runpy
import subprocess
from pathlib import Path

import cpp_facts
import make_results
import pytest
from baton_perf import papers_page

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def constants(*paths):
    return cpp_facts.constants(*(read(path) for path in paths))


def tables(page):
    """All tables of a page: lists of rows, which are dictionaries by the heading of the column."""
    found, heading = [], None
    for line in read(page).splitlines() + [""]:
        if not line.startswith("|"):
            heading = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if heading is None:
            heading = cells
            found.append([])
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            found[-1].append(dict(zip(heading, cells, strict=True)))
    return found


def table(page, *columns):
    """The rows of the one table of a page with these columns."""
    (rows,) = [rows for rows in tables(page) if rows and list(rows[0]) == list(columns)]
    return rows


def test_the_page_of_the_report_has_each_field_of_its_classes():
    modules = [ast.parse(read(f"python/baton/{name}.py")) for name in ("_node", "_link")]
    classes = {each.name: each for module in modules for each in module.body if isinstance(each, ast.ClassDef)}
    for row in table("docs/format/report.md", "class", "fields"):
        name = row["class"].strip("`")
        declared = [each.target.id for each in classes[name].body if isinstance(each, ast.AnnAssign)]
        assert sorted(re.findall(r"`([a-z_]+)`", row["fields"])) == sorted(declared), name


def snake(name):
    """kBestEffort: best_effort."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removeprefix("k")).lower()


def grouped(number):
    return f"{number:,}"


# --- environment variables ---

ENVIRONMENT = "docs/guides/environment.md"
QUOTED = re.compile(r"[\"'](BATON_[A-Z0-9_]+)(?=[\"'=])")
OF_A_SHELL = re.compile(r"\$\{?(BATON_[A-Z0-9_]+)|\benv (BATON_[A-Z0-9_]+)=")


def variables_of_the_sources():
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = set()
    for path in out.splitlines():
        if path == str(Path(__file__).relative_to(ROOT)) or not (ROOT / path).is_file():
            continue
        if path.endswith((".cpp", ".hpp", ".py", ".pth")):
            found |= set(QUOTED.findall(read(path)))
        elif path.endswith((".sh", ".sh.in")) or path in ("Makefile", ".ci/run"):
            found |= {one or other for one, other in OF_A_SHELL.findall(read(path))}
    return found


def test_every_environment_variable_has_a_row():
    page = read(ENVIRONMENT)
    named = {row["variable"].strip("`") for rows in tables(ENVIRONMENT) for row in rows}
    internal = set(re.findall(r"`(BATON_\w+)`", page[page.index("Between a test's processes only") :]))
    ours = {name for name in named | internal if name.startswith("BATON_")}
    assert variables_of_the_sources() - ours == set(), "in the sources, and in no row"
    assert ours - variables_of_the_sources() == set(), "in a row, and in no source"


def test_every_environment_variable_is_read_where_the_table_says():
    for rows in tables(ENVIRONMENT):
        for row in rows:
            readers = re.findall(r"`([^`]+)`", row["read by"])
            assert readers, row
            for path in readers:
                assert row["variable"].strip("`") in read(path), f"{path} does not name {row['variable']}"


# Sources that only tests, measurements and examples build.
OWN_ENVIRONMENT = re.compile(r"(^|/)(tests|lab|examples|bench|fuzz|testing)/|_(test|test_support)\.")


def test_only_one_file_calls_getenv():
    """A set-user-ID program must not obey its caller's environment: all of Baton reads it through baton/os/environment.hpp."""
    listed = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.hpp", "*.h", "*.c", "*.j2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {
        path
        for path in listed.stdout.splitlines()
        if not OWN_ENVIRONMENT.search(path)
        and (ROOT / path).is_file()
        and re.search(r"\b(?:secure_)?getenv\((?!\d\))", read(path))
    }
    assert found == {"core/os/src/environment.cpp"}


def test_the_page_names_the_variables_that_a_set_user_id_program_still_reads():
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.hpp"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = {
        name
        for path in listed.stdout.splitlines()
        if (ROOT / path).is_file() and not OWN_ENVIRONMENT.search(path)
        for name in re.findall(r"harmless_environment\(\"(\w+)\"", read(path))
    }
    (sentence,) = re.findall(r"capabilities of its file\)\s+reads only ([^.]*)\.", read(ENVIRONMENT))
    assert set(re.findall(r"`(\w+)`", sentence)) == found | {"ROS_DOMAIN_ID"}  # read in a loop


# --- error codes ---


def test_the_page_of_error_codes_is_the_table_of_the_sources():
    wanted = re.findall(r'BATON_ERROR_CODE\((\w+), (\d+), "(.*)"\)', read("core/os/include/baton/os/error_codes.def"))
    rows = table("docs/format/error-codes.md", "code", "name", "meaning")
    assert [(row["name"].strip("`"), row["code"], row["meaning"]) for row in rows] == wanted


# --- packets and frames ---

HANDSHAKE, CONNECTION = "docs/format/handshake.md", "docs/format/connection.md"
NUMBERS = constants("core/transport/src/hub.hpp", "core/transport/src/handshake.hpp")


def spans(rows):
    """Checks that byte rows follow each other without a gap; returns {field: (offset, bytes)}, `n` bytes as None."""
    found, following = {}, int(rows[0]["offset"])
    for row in rows:
        assert int(row["offset"]) == following, row
        size = None if row["bytes"] == "n" else int(row["bytes"])
        found[row["field"]] = (following, size)
        following = None if size is None else following + size
    return found


def test_the_packet_header():
    of_the_header, *_ = [rows for rows in tables(HANDSHAKE) if rows and "offset" in rows[0]]
    fields = cpp_facts.layout(read("core/transport/src/handshake.hpp"), "PacketHeader", {})
    assert list(spans(of_the_header).values()) == [(offset, size) for offset, size, _ in fields]
    assert fields[-1][0] + fields[-1][1] == NUMBERS["kPacketHeaderBytes"]
    values = {row["field"]: row["value"] for row in of_the_header}
    assert f"{NUMBERS['kHelloFrame']} HELLO, {NUMBERS['kByeFrame']} BYE" in values["type"]
    assert f"from {NUMBERS['kFirstUserFrame']:#06x} on" in values["type"]
    assert str(NUMBERS["kMaxPacketPayloadBytes"]) in values["payload bytes"]


def test_hello_is_the_bytes_that_the_code_is_tested_with():
    _, of_hello, *_ = [rows for rows in tables(HANDSHAKE) if rows and "offset" in rows[0]]
    fields = spans(of_hello)
    page = read(HANDSHAKE)
    shown = re.search(r"^((?:[0-9A-F]{2} )+ .*\n){5,}", page, re.MULTILINE)[0]
    example = bytes(int(pair, 16) for line in shown.splitlines() for pair in line.split("  ")[0].split())
    test = read("core/transport/src/handshake_test.cpp")
    expected = re.search(r"HelloIsExactlyTheBytesOfTheSpecification\) \{.*?\{(.*?)\};", test, re.DOTALL)[1]
    characters = re.findall(r"0x([0-9A-Fa-f]{2})|'(\\?.)'", cpp_facts.without_comments(expected))
    escaped = {r"\r": 13, r"\n": 10}
    assert example == bytes(int(h, 16) if h else escaped.get(c) or ord(c) for h, c in characters)

    at, size = fields["version"]
    assert int.from_bytes(example[at : at + size], "little") == NUMBERS["kProtocolVersion"]
    at, size = fields["pid"]
    assert int.from_bytes(example[at : at + size], "little") == 4711
    at, size = fields["name bytes"]
    counts = 16  # behind the name, which keeps its place in every version
    assert int.from_bytes(example[at : at + size], "little") == len(example) - counts - fields["name"][0]
    assert fields["name"] == (at + size, None)


def test_the_version_of_the_protocol():
    version = NUMBERS["kProtocolVersion"]
    for page in (HANDSHAKE, CONNECTION):
        assert re.search(r"^# .*, protocol version (\d+)$", read(page), re.MULTILINE)[1] == str(version)
    assert table(HANDSHAKE, "version", "what changed")[0]["version"] == str(version)


def test_the_seeds_of_the_handshake_get_past_hello():
    magic = bytes.fromhex("894241544F4E0D0A")
    for seed in sorted((ROOT / "core/transport/fuzz/seeds/handshake").iterdir()):
        before, found, after = seed.read_bytes().partition(magic)
        if found and seed.name != "other-version.bin":
            assert int.from_bytes(after[:2], "little") == NUMBERS["kProtocolVersion"], seed.name


def test_the_reasons_of_bye():
    reasons = cpp_facts.enumeration(read("core/transport/src/handshake.hpp"), "Bye")
    rows = table(HANDSHAKE, "reason", "meaning", "afterwards")
    assert [row["reason"] for row in rows] == [str(value) for value in reasons.values()]
    final = {row["reason"] for row in rows if row["afterwards"] == "neither tries again"}
    text = re.search(r"bool is_final\(.*?\}", read("core/transport/src/handshake.hpp"))[0]
    assert final == {str(reasons[name]) for name in re.findall(r"Bye::(\w+)", text)}


def test_the_numbers_of_frames():
    frames = cpp_facts.enumeration(read("core/transport/src/frames.hpp"), "FrameType", NUMBERS)
    rows = table(CONNECTION, "type", "name", "from", "payload", "descriptors")
    assert {row["name"]: row["type"] for row in rows} == {
        snake(name).upper(): f"0x{value:04X}" for name, value in frames.items()
    }


BOUNDS = [  # page, words with the number in them, constant, its file, what one of the number is in the constant's unit
    (HANDSHAKE, "at most\n{} bytes and it has", "kMaxPayloadBytes", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "it has at most {} descriptors", "kMaxFrameFds", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "| name bytes | at most {} |", "kMaxProcessNameBytes", "core/transport/src/handshake.hpp", 1),
    (HANDSHAKE, "u32 text bytes (at most {})", "kMaxByeTextBytes", "core/transport/src/handshake.hpp", 1),
    (HANDSHAKE, "longer than {} bytes", "kMaxPacketBytes", "core/transport/src/handshake.hpp", 1),
    (HANDSHAKE, "beyond {} MiB or", "kMaxQueuedBytes", "core/transport/src/hub.hpp", 1 << 20),
    (HANDSHAKE, "or {} descriptors it is disconnected", "kMaxQueuedFds", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "beyond {} MiB or half", "kHardQueuedBytes", "core/transport/src/hub.hpp", 1 << 20),
    (HANDSHAKE, "| have {} links", "kMaxLinksPerProcess", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "| begin {} links in", "kMaxArrivals", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "links in {} seconds", "kArrivalsWindow", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "| break the protocol {} times", "kMaxViolations", "core/transport/src/hub.hpp", 1),
    (HANDSHAKE, "when there are more than {}.", "kMaxSilentLinks", "core/transport/src/hub_impl.hpp", 1),
    (CONNECTION, "looks at its queues every {} ms", "kWakeSocketPause", "core/transport/src/wake_descriptor.hpp", 1),
    (CONNECTION, "Names have at most {} bytes", "kMaxNameBytes", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "str text (at most {} KiB)", "kMaxDefinitionBytes", "core/transport/src/frames.hpp", 1024),
    (CONNECTION, "depth and u32 held (1 to {})", "kMaxDepth", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "depth and u32 held (1 to {})", "kMaxHeld", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "u32 number of readers (at most {})", "kMaxHoldings", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "(at most {} bytes: why", "kMaxReasonBytes", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "most {} rows of connections", "kMaxConnectionRows", "core/transport/src/writer_grants.cpp", 1),
    (CONNECTION, "and {} of refusals", "kMaxRefusedRows", "core/transport/src/writer_grants.cpp", 1),
    (CONNECTION, "| endpoints | {}, and", "kMaxAnnouncedPerPeer", "core/transport/src/graph.hpp", 1),
    (CONNECTION, ", and {} on one topic", "kMaxAnnouncedPerTopic", "core/transport/src/graph.hpp", 1),
    (CONNECTION, "in bytes: {} an endpoint", "kEndpointBytes", "core/transport/src/graph.hpp", 1),
    (CONNECTION, "and {} a node", "kNodeBytes", "core/transport/src/graph.hpp", 1),
    (CONNECTION, "| a frame under reassembly | {} KiB", "kMaxPayloadBytes", "core/transport/src/hub.hpp", 1024),
    (CONNECTION, "| frames that wait for it | {} MiB", "kHardQueuedBytes", "core/transport/src/hub.hpp", 1 << 20),
    (CONNECTION, "| the same, of all peers of a user | {} MiB | BYE 5", "kMaxQueuedBytesPerUser", "core/transport/src/hub.hpp", 1 << 20),
    (CONNECTION, "to one question | {}, and", "kMaxAnswersPerPeer", "core/transport/src/frames.hpp", 1),
    (CONNECTION, ", and {} of all peers | left out", "kMaxAnswers", "core/transport/src/frames.hpp", 1),
    (CONNECTION, "has not sent | {} |", "kMaxWanted", "core/transport/src/matching.cpp", 1),
    (CONNECTION, "DEFINITION_REQUEST | {} | HOLDINGS", "kMaxAnswered", "core/transport/src/matching.cpp", 1),
    (CONNECTION, "ended connections) | {} |", "kMaxReports", "core/transport/src/participant.hpp", 1),
    (CONNECTION, "about all peers together | {}, and", "kMost", "core/os/include/baton/os/line_budget.hpp", 1),
    (CONNECTION, "over all its connections | at most in {} s |", "kReportWindow", "core/transport/src/participant.hpp", 1),
    (CONNECTION, "more than {} of one writer", "kMaxSegments", "core/transport/src/participant_frames.cpp", 1),
    (CONNECTION, "the index of a release word in the lower {};", "kEntryBits", "core/memory/include/baton/memory/entry_token.hpp", 1),
    ("docs/format/qos.md", "| up to {} | granted in full", "kBasicHeld", "core/transport/src/grants.hpp", 1),
    ("docs/format/qos.md", "than {} slots cannot serve", "kFewestSlots", "core/transport/src/grants.hpp", 1),
    ("docs/format/qos.md", "`PublisherOptions::slot_count`, {} by default", "kDefaultSlots", "core/memory/include/baton/memory/pool.hpp", 1),
]  # fmt: skip


def test_a_bound_is_the_constant_of_the_code():
    wrong = []
    for page, words, constant, path, unit in BOUNDS:
        value, rest = divmod(constants("core/transport/src/hub.hpp", path)[constant], unit)
        text, words = (re.sub(r"\s+", " ", each) for each in (read(page), words))
        if rest or (words.format(value) not in text and words.format(grouped(value)) not in text):
            wrong.append(f"{page}: '{words}': {constant} is {value} {unit}")
    assert wrong == []


def test_budgets_in_bytes():
    text = read("core/transport/src/budgets.hpp")
    per_process, per_user = (
        [
            int(re.search(rf"k{what}Of{whose} = std::size_t\{{(\d+)\}} << 20", text)[1])
            for what in ("AnnouncedBytes", "ConnectionBytes")
        ]
        for whose in ("Process", "User")
    )
    rows = table(CONNECTION, "what one peer makes this process keep", "at most", "beyond it")
    mib = [
        int(n) << (10 if unit == "G" else 0)
        for row in rows
        for n, unit in [re.match(r"(\d*) ?([KMG]?)i?B?", row["at most"].replace(",", "")).groups()]
        if unit in ("M", "G") and "BYE 5" not in row["beyond it"]
    ]
    assert mib == [per_process[0], per_user[0], per_process[1], per_user[1]]


def test_budgets_in_descriptors():
    source = read("core/transport/src/budgets.cpp")
    least = [int(n) for n in re.findall(r"max<std::size_t>\((\d+), os::descriptor_limit\(\) / k", source)]
    assert "descriptor_limit() / kDescriptorsPartOfProcess)" in source
    assert "descriptor_limit() / kDescriptorsPartOfUser * 3)" in source
    header = read("core/transport/src/budgets.hpp")
    assert "kDescriptorsPartOfProcess = 2;" in header and "kDescriptorsPartOfUser = 4;" in header
    rows = table(CONNECTION, "what one peer makes this process keep", "at most", "beyond it")
    first = next(
        i for i, row in enumerate(rows) if row["what one peer makes this process keep"].startswith("descriptors")
    )
    assert [row["at most"] for row in rows[first : first + 2]] == [
        f"half of `RLIMIT_NOFILE`, at least {least[0]}",
        f"three quarters of `RLIMIT_NOFILE`, at least {least[1]}",
    ]


def test_budgets_in_memory_areas():
    header = read("core/transport/src/budgets.hpp")
    assert "kAreasPartOfProcess = 8;" in header and "kAreasPartOfUser = 4;" in header
    rows = table(CONNECTION, "what one peer makes this process keep", "at most", "beyond it")
    first = next(
        i
        for i, row in enumerate(rows)
        if row["what one peer makes this process keep"].startswith("memory areas of connections")
    )
    assert [row["at most"] for row in rows[first : first + 2]] == [
        "an eighth of `vm.max_map_count`",
        "a quarter of `vm.max_map_count`",
    ]


# --- memory that two processes share ---


def rows_with_offsets(page, *columns):
    return [rows for rows in tables(page) if rows and list(rows[0]) == list(columns)]


def test_the_event_page():
    text = read("core/transport/src/connection.hpp")
    fields = cpp_facts.layout(text, "ControlLine", {"WakeWord": 4, "std::atomic<std::int64_t>": 8})
    rows, _ring, *_ = rows_with_offsets(CONNECTION, "offset", "type", "meaning")
    sizes = {"u32": 4, "i64": 8, "48 bytes": 48}
    assert [(int(row["offset"]), sizes[row["type"]]) for row in rows] == [(at, size) for at, size, _ in fields]
    known = constants("core/transport/src/connection.hpp")
    line = fields[-1][0] + fields[-1][1]
    assert (
        f"{known['kEventPageBytes']} bytes: {known['kEventPageBytes'] // line} control lines of {line} bytes"
        in read(CONNECTION)
    )


def test_the_ring():
    text = read("core/memory/include/baton/memory/handle_queue.hpp").replace(
        "typename Platform::template atomic<", "atomic<"
    )
    fields = cpp_facts.layout(text, "RingSlot", {"atomic<std::uint64_t>": 8, "atomic<std::int64_t>": 8})
    (rows,) = rows_with_offsets(CONNECTION, "offset in slot", "type", "meaning")
    types = {"handle": "u64", "entry": "u64", "source_monotonic_ns": "i64", "sequence": "u64"}
    assert [(int(row["offset in slot"]), row["type"]) for row in rows] == [(at, types[name]) for at, _, name in fields]
    _event, rows, *_ = rows_with_offsets(CONNECTION, "offset", "type", "meaning")
    line = constants("core/memory/include/baton/memory/platform.hpp")["kCacheLineBytes"]
    assert [int(row["offset"]) for row in rows] == [0, line]
    assert f"of {sum(size for _, size, _ in fields)} bytes" in rows[1]["meaning"]


def test_the_connection_segment():
    line = constants("core/memory/include/baton/memory/platform.hpp")["kCacheLineBytes"]
    text = read("core/memory/include/baton/memory/channel.hpp")
    places = re.search(r"static ConnectionLayout at\(.*?\n};", text, re.DOTALL)[0]
    strides = sorted([0] + [line * int(factor or 1) for factor in re.findall(r"\+ (?:(\d) \* )?kStride\)", places)])
    rows = table(CONNECTION, "offset", "type", "written by", "meaning")
    assert [int(row["offset"]) for row in rows] == strides


CHUNK = "docs/format/chunk.md"


def test_the_chunk_header():
    text = read("core/memory/include/baton/memory/chunk_header.hpp")
    fields = cpp_facts.layout(text, "ChunkHeader", {"ByteOrder": 1, "Selection": 1})
    rows = table(CHUNK, "offset", "bytes", "field", "value")
    assert list(spans(rows).values()) == [(at, size) for at, size, _ in fields]
    assert f"sizeof(ChunkHeader) == {fields[-1][0] + fields[-1][1]} " in text
    renamed = {"size": "size_bytes", "skeleton size": "skeleton_bytes", "source time": "source_time_ns",
               "source monotonic time": "source_monotonic_ns", "reserved": "reserved1"}  # fmt: skip
    assert [renamed.get(row["field"], row["field"].replace(" ", "_")) for row in rows] == [name for *_, name in fields]

    values = {row["field"]: row["value"] for row in rows}
    known = cpp_facts.constants(text)
    assert f"`0x{known['kChunkMagic']:08X}`" in values["magic"]
    assert values["version"] == str(known["kChunkVersion"])
    assert known["kMaxMessageBytes"] == 1 << 31 and "at most 2^31" in values["size"]
    orders = cpp_facts.enumeration(text, "ByteOrder")
    assert values["byte order"] == ", ".join(f"{value} {snake(name)}" for name, value in orders.items())
    for value in cpp_facts.enumeration(text, "Selection").values():
        assert re.search(rf"[:,] {value} ", values["selection"])


def test_the_sizes_of_fields():
    text = re.search(
        r"^SCALAR_BYTES = (\{.*?\n\})", read("generator/baton_generator/model.py"), re.DOTALL | re.MULTILINE
    )[1]
    sizes = ast.literal_eval(text)
    shown = {}
    for row in table("docs/format/sfm.md", "field", "bytes", "alignment", "value"):
        for name in set(re.findall(r"`(\w+)`", row["field"])) & set(sizes):
            assert row["alignment"] == row["bytes"], "a scalar is aligned to its size"
            shown[name] = int(row["bytes"])
    assert shown == sizes


def test_the_primitives_of_canonical_definitions():
    text = re.search(
        r"^SCALAR_BYTES = (\{.*?\n\})", read("generator/baton_generator/model.py"), re.DOTALL | re.MULTILINE
    )[1]
    rule = re.search(r"^primitive +=(.*)$", read("docs/format/type-hash.md"), re.MULTILINE)[1]
    assert re.findall(r'"(\w+)"', rule) == list(ast.literal_eval(text))


# --- quality of service ---


def test_the_values_and_defaults_of_quality_of_service():
    text = read("core/transport/include/baton/transport/qos.hpp")
    rows = {
        row["policy"]: row for row in table("docs/format/qos.md", "policy", "values", "default", "meaning in Baton")
    }
    fields = dict(
        re.findall(
            r"^  [\w:]+ (\w+) = ([\w:]+);", re.search(r"struct QoS \{(.*?)\n\};", text, re.DOTALL)[1], re.MULTILINE
        )
    )
    for kind in re.findall(r"^enum class (?!Policy\b)(\w+)", text, re.MULTILINE):
        values = [snake(name).removesuffix("_") for name in cpp_facts.enumeration(text, kind)]
        policy = next(name for name in rows if name.split(",")[0].strip("`") == kind.lower())
        assert re.findall(r"`(\w+)`", rows[policy]["values"]) == values
        default = snake(fields[kind.lower()].split("::")[1])
        assert re.findall(r"`(\w+)`", rows[policy]["default"]) == [default]
    for policy in ("depth", "held"):
        assert rows[f"`{policy}`"]["default"] == fields[policy]
    for policy in ("deadline", "lifespan"):
        assert fields[policy] == "kInfinite" and rows[f"`{policy}`"]["default"] == "infinite"


def test_the_policies_of_a_full_pool():
    policies = cpp_facts.enumeration(read("core/memory/include/baton/memory/pool.hpp"), "Policy")
    rows = table(
        "docs/concepts/ownership.md",
        "policy",
        "an unread message",
        "a message that a reader holds",
        "when nothing is found",
    )
    assert [re.match(r"`(\w+)`", row["policy"])[1] for row in rows] == list(policies)


# --- other lists ---


def test_every_named_thread_has_a_row():
    out = subprocess.run(["git", "grep", "-h", "-E", r"(start_thread|ServingThread::start)\(\"", "--", "*.cpp", ":!*_test.cpp"],
                         cwd=ROOT, capture_output=True, text=True, check=True).stdout  # fmt: skip
    rows = table("docs/architecture.md", "thread", "of", "started by", "does")
    named = {row["thread"].strip("`") for row in rows if row["thread"].startswith("`")}
    assert named == set(re.findall(r'(?:start_thread|ServingThread::start)\("([^"]+)"', out))


def test_every_event_has_a_row():
    rows = table("docs/guides/guide.md", "event", "at", "when")
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row["event"])]
    enumerated = cpp_facts.enumeration(read("core/transport/include/baton/transport/transport.hpp"), "Event")
    assert sorted(named) == sorted(enumerated)


TRANSPORT, PYTHON = "core/transport/include/baton/transport", "docs/guides/python.md"


def of_struct(text, name):
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", text, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^  [\w:]+ (\w+) = ", body, re.MULTILINE)


def of_enumeration(text, name):
    return cpp_facts.enumeration(text, name, dict.fromkeys(re.findall(r"\bk[A-Z]\w*", text), 0))


@pytest.mark.parametrize(
    ("row", "header", "read_names", "name"),
    [
        ("a reason for which a message is lost", f"{TRANSPORT}/transport.hpp", of_struct, "Losses"),
        ("a quality-of-service policy", f"{TRANSPORT}/qos.hpp", of_struct, "QoS"),
        ("a kind of message field", "core/message/include/baton/message/type.hpp", of_enumeration, "Kind"),
        ("a frame between endpoints", "core/transport/src/frames.hpp", of_enumeration, "FrameType"),
        ("a frame between hosts of a link", "link/src/stream/frames.hpp", of_enumeration, "FrameKind"),
        ("another way to sleep and to be woken", "core/memory/include/baton/memory/wake.hpp", of_enumeration, "Sleeping"),
    ],
)  # fmt: skip
def test_a_row_of_hacking_names_each_file_that_has_all_names_of_a_list(row, header, read_names, name):
    names = set(read_names(read(header), name)) - {"held", "lifespan", "stamp"}
    assert len(names) >= 3
    listed = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.hpp", "*.py", ":!generator/golden"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {
        path
        for path in listed.stdout.splitlines()
        if (ROOT / path).is_file()
        and (not OWN_ENVIRONMENT.search(path) or "/fuzz/" in path)
        and names <= set(re.findall(r"\w+", read(path)))
    }
    line = re.search(rf"^\| {row} \|.*$", read("HACKING.md"), re.MULTILINE)[0]
    assert found and not {path for path in found if not re.search(rf"\b{Path(path).name}`", line)}


def test_every_verb_has_a_row():
    listed = subprocess.run(
        ["git", "ls-files", "cli/baton_cli/verbs/*.py", "record/baton_record/verbs/*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    verbs = {Path(path).stem for path in listed.stdout.splitlines()} - {"__init__"}
    named = set(re.findall(r"`baton ([\w-]+)", "".join(row["command"] for row in table(PYTHON, "command", "what"))))
    assert verbs - named == set(), "in the sources, and in no row"


def test_presets_and_options_are_named_in_hacking():
    text = re.search(r"^Presets: .*?\n\n", read("HACKING.md"), re.DOTALL | re.MULTILINE)[0]
    presets = json.loads(read("CMakePresets.json"))["configurePresets"]
    visible = {preset["name"] for preset in presets if not preset.get("hidden")}
    options = set(re.findall(r"^(?:option|set)\((BATON_\w+|BUILD_SHARED_LIBS) ", read("CMakeLists.txt"), re.MULTILINE))
    named = set(re.findall(r"`([\w-]+)`", text))
    assert visible | options <= named, "not named"
    assert {name for name in named if name.startswith("BATON_")} - options == {"BATON_PERF_RUST"}, "not there"


def test_the_numbers_of_the_pages_are_those_of_the_recording():
    summary = make_results.load()
    for page in make_results.PAGES:
        text = read(page)
        assert len(make_results.BLOCK.findall(text)) == text.count("<!-- results:"), f"{page}: a table without an end"
        # Which rows are stale depends on the clone: `make docs` marks them.
        wanted, found = (papers_page.unmarked(each) for each in (make_results.filled(text, summary), text))
        assert wanted == found, f"{page}: run scripts/make_results.py"
    assert read(make_results.PICTURE) == make_results.draw(summary), "run scripts/make_results.py"
    assert f"({make_results.PICTURE})" in read("README.md")


# --- README's first screen ---


def test_the_first_screen_of_the_readme_names_products_status_platforms_and_installation():
    first = read("README.md").split("\n## ")[0]
    assert "**Unchanged ROS 2 programs**" in first and "**Unchanged programs of roscpp and rospy**" in first
    rows = dict(re.findall(r"^\| (\w+) \| (.+) \|$", first, re.MULTILINE))
    assert list(rows) == ["status", "platforms", "install"]
    (version,) = re.findall(r"^project\(baton VERSION ([\d.]+)", read("CMakeLists.txt"), re.MULTILINE)
    released = re.findall(r"^## \[?(\d+\.\d+\.\d+)", read("CHANGELOG.md"), re.MULTILINE)
    assert version in rows["status"] and ("before its first release" in rows["status"]) == (not released)
    supported = {
        row[""]: row["supported"] for row in table("docs/guides/support.md", "", "supported", "how it is tested")
    }
    (python,) = re.findall(r'^requires-python = ">=([\d.]+)"', read("pyproject.toml"), re.MULTILINE)
    wanted = [supported["Kernel"], *supported["Architecture"].split("; "), f"CPython {python} or newer"]
    wanted += re.findall(r"gcc \d+|clang \d+", supported["Compiler"])
    wanted += re.findall(r"^Debian \d+", supported["Distribution"])
    assert [word for word in wanted if word not in rows["platforms"]] == []
    commands = re.findall(r"`([^`]+)`", rows["install"])
    assert any("pip install ." in command for command in commands), "one line that installs it"
    targets = re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE)
    assert {command.split()[1] for command in commands if command.startswith("make ")} <= set(targets)


# --- the conformance table of ROS 1 ---


@pytest.fixture(scope="module")
def conformance():
    return runpy.run_path(str(ROOT / "ros1/tests/conformance.py"))


def test_the_page_of_the_conformance_table_is_the_one_that_its_command_writes(conformance):
    assert read("docs/concepts/ros1-conformance.md") == conformance["page"]()


def test_each_scenario_of_the_conformance_table_has_each_of_its_kinds_at_both_ends(conformance):
    for scenario in conformance["SCENARIOS"]:
        rows = [row.kinds for row in conformance["rows"]() if row.scenario is scenario]
        assert len(set(rows)) == len(rows)
        for place, kinds in enumerate((scenario.publishers, scenario.subscribers, scenario.third)):
            found = [row[place] for row in rows if len(row) > place]
            each = [name for names in found for name in (names.split(" and ") if scenario.together else [names])]
            assert set(each) == set(kinds), (scenario.name, place)
