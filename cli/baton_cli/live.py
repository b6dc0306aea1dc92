# SPDX-License-Identifier: Apache-2.0
"""Access to a running domain for the verbs that need it: a node, the graph that it sees, message types, output."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
from baton_generator.diagnostics import InterfaceError
from baton_generator.packages import Universe

from . import middleware
from .near import did_you_mean
from .output import counted, json_text
from .output import harmless as harmless


class Unchanged:
    """A context in which a verb reads one message. If the publisher changes the message meanwhile, the message is left out, and the verb
    goes on. The first such message is reported on stderr."""

    def __init__(self) -> None:
        self._said = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, load().MalformedMessage):
            return False
        if not self._said:
            click.echo(harmless(f"a message is left out: {error}"), err=True)
        self._said = True
        return True


def load() -> ModuleType:
    """The package baton: installed, or of this checkout's build."""
    try:
        import baton
    except ImportError:
        builds = Path(__file__).resolve().parents[2] / "build"
        folders = [builds / preset / "python" for preset in ("release", "ros1", "lab")]
        built = next((folder for folder in folders if folder.is_dir()), None)
        if built is None:
            raise click.ClickException(
                "this verb needs Baton's Python package: `pip install .` or `make build` in a checkout"
            ) from None
        sys.path.insert(0, str(built))
        try:
            import baton
        except ImportError as error:
            raise click.ClickException(
                f"{built} is not complete, or of another Python ({error}): let `make build` end, or start it again"
            ) from None
    return baton


_OTHER = "baton.middleware"  # key of a context's meta: whether the user wants the domain of another middleware's nodes


def _keep_other(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_OTHER] = True


def domain_option(function: Callable) -> Callable:
    """Adds --domain, and the option of another middleware (`--ros1`). join() reads both."""
    if other := middleware.brought():
        option = click.option(f"--{other.KEY}", is_flag=True, expose_value=False, callback=_keep_other, help=other.HELP)
        function = option(function)
    return click.option("--domain", type=click.IntRange(0, 9999), help="Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")(
        function
    )


def search_option(text: str) -> Callable[[Callable], Callable]:
    """Adds --search, with this help. add_search() and join() take its value."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--search", multiple=True, type=folder, metavar="DIR", help=text)


def domain_options(function: Callable) -> Callable:
    """Adds the options of domain_option(), and --search."""
    text = "Directory with message packages, for types that are not standard; may be repeated."
    return search_option(text)(domain_option(function))


def add_search(search: tuple[Path, ...]) -> None:
    """Adds the folders of --search to the sources of this process's message classes."""
    try:
        load().search(*search)
    except InterfaceError as error:
        raise click.ClickException(reason(error)) from None


def join(
    domain: int | None,
    search: tuple[Path, ...] = (),
    name: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Any:
    """Makes a node with this name. Without `name` the node only observes, and listings leave it out. For each process that does not answer,
    `say` is called with a sentence; the default prints it on stderr."""
    baton = load()
    add_search(search)
    domain = chosen_domain(domain)
    try:
        node = baton.Node(name or f"_baton_{os.getpid()}", domain=domain)
    except baton.BatonError as error:
        raise click.ClickException(str(error)) from None
    settle(node)
    for sentence in unanswered(node):
        say(sentence) if say else click.echo(sentence, err=True)
    return node


def unanswered(node: Any) -> list[str]:
    """A sentence about each process of the domain that has not answered: its nodes and topics are missing in what a verb shows."""
    pids = node._unmet_pids()
    sentences = []
    for pid in pids:
        try:
            # "4242 (name) T ...": a name may have spaces and parentheses.
            name, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").partition("(")[2].rpartition(")")
        except OSError:
            continue  # the process has ended meanwhile
        stopped = rest.split()[:1] in (["T"], ["t"])
        why, way_out = (
            ("is stopped", f"kill -CONT {pid}")
            if stopped
            else ("does not answer", "it is busy, hangs, or has just begun")
        )
        sentences.append(harmless(f"process {pid} ({name}) {why}, so its nodes and topics are unknown; {way_out}"))
    if not pids and (others := node._unmet()):
        processes, them = ("process", "its") if others == 1 else ("processes", "their")
        sentences.append(
            f"{others} {processes} of this domain {'does' if others == 1 else 'do'} not answer, so {them} nodes and topics are unknown"
        )
    return sentences


def that_answers(node: Any) -> str:
    """The end of a sentence which reports that nothing was found: " that answers" if a process of the domain has not answered."""
    return " that answers" if node._unmet() else ""


def chosen_domain(domain: int | None) -> int | None:
    """The domain that the options of domain_option() name; None: the default domain."""
    if not wants_other():
        return domain
    other = middleware.brought()
    if domain is not None:
        raise click.UsageError(f"--domain and --{other.KEY} name a domain each: give one")
    return None if os.environ.get("BATON_DOMAIN") else other.domain()


def wants_other() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and _OTHER in context.meta


def other_graph(node: Any, quiet: bool = False) -> middleware.ForeignGraph | None:
    """The graph of another middleware, if its nodes are in the node's domain."""
    if (other := middleware.brought()) is None:
        return None
    graph: middleware.ForeignGraph | None = other.look(wants_other(), node.domain, others(node))
    if wants_other() and graph is not None and not graph.answers and not quiet:
        click.echo(other.silence(), err=True)
    return graph


MOST_WATCHED = 4096  # topics to which one command subscribes: each takes memory, and other processes hear of it
LOOK_S = 0.03  # the time between two readings of the graph
ANSWER_S = 1.0  # how long each process may take to answer


def settle(node: Any, limit: float = 2.0) -> None:
    """Waits until each process with a name in the domain is connected and has answered, and the graph was the same in four readings.
    Counts readings, as many as fit into `limit` seconds, because other processes have no time either while the machine stands still."""
    before, same, heard = None, 0, []
    for _ in range(round(limit / LOOK_S)):
        now = sorted((e.gid, e.topic) for e in node.endpoints()), sorted(node.nodes())
        same = same + 1 if now == before and node._unmet() == 0 else 0
        if same >= 4:
            if now in heard or len(heard) == 2:  # the limit if the graph never rests, or a process never answers
                return
            # A connected process may not have sent its endpoints yet. Its answer to this question comes after them.
            node.holdings(ANSWER_S)
            heard.append(now)
            continue
        before = now
        time.sleep(LOOK_S)


def others(node: Any) -> list[Any]:
    """The endpoints of all other nodes: without those of this command."""
    return [e for e in node.endpoints() if not e.node.startswith("_baton_")]


def maps_of(pid: int) -> str | None:
    """The mappings of a process. None: they cannot be read, because the process is another user's or is in another container."""
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace") or None
    except OSError:
        return None


def saved_link(domain: int | None) -> Any:
    """The state that this host's link has saved for a domain: a baton._link.SavedLink."""
    load()
    from baton import _link

    return _link.saved(domain)


def say_if_link_is_dead(node: Any) -> bool:
    """Reports on stderr that this host's link was killed, since topics of other hosts are then missing. True if it was killed."""
    try:
        link = saved_link(node.domain)
    except load().BatonError:
        return False
    dead = link.state is not None and not link.alive
    if dead:
        click.echo(f"the link (process {link.state.pid}) is dead; start it again: baton link", err=True)
    return dead


def absolute(topic: str) -> str:
    full = topic if topic.startswith("/") else "/" + topic
    if not re.fullmatch(r"(/[A-Za-z0-9_]+)+", full):
        raise click.ClickException(f"{topic!r} is no topic name: use letters, digits and '_', separated by single '/'")
    return full


def node_name(name: str) -> str:
    """A node's name in the form that is compared and printed. Names of the RMW's nodes begin with a slash, those of Baton's nodes do not."""
    return name if name.startswith("/") else "/" + name


def harmless_part(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value


HINT_S = 1.0  # how long to wait for a topic before similar names are shown


def topics_of(node: Any) -> set[str]:
    """The topics that `baton topic list` shows."""
    return {e.topic for e in others(node) if "/_" not in e.topic}


def instead_of(node: Any, topic: str) -> str:
    """A hint for a topic without publishers: similar names, or how to list the other topics."""
    there = topics_of(node)
    if graph := other_graph(node):
        if topic in graph.topics:
            other = middleware.brought()
            return f"{other.NAME}'s nodes have it, but no publisher with types of Baton: {other.ECHO} {topic}"
        there |= graph.topics
    if topic in there:
        return "it has subscriptions only"
    if not there:
        return nobody_there(node)
    return did_you_mean(topic, there) or f"there {is_are(len(there), 'other topic')}: baton topic list"


def wait_for_topic(node: Any, topic: str, there: Callable[[], object], timeout: float | None = None) -> None:
    """Waits until there() is true, at most `timeout` seconds. Reports on stderr that it waits, and after HINT_S which topics have a similar name."""
    click.echo(f"waiting for {topic} ...", err=True)
    say_if_link_is_dead(node)
    moment = HINT_S if timeout is None else min(HINT_S, timeout)
    node.wait_for(there, moment)
    if not there() and (timeout is None or moment < timeout):
        has = "publishes" if topic in topics_of(node) else "has"
        click.echo(f"nobody {has} {topic}; {instead_of(node, topic)}", err=True)
        node.wait_for(there, None if timeout is None else timeout - moment)


def types_of(node: Any, topic: str, wait: bool = True, timeout: float | None = None) -> list[str]:
    """The types of a topic, usually one. Waits for the topic to appear, at most `timeout` seconds."""
    topic = absolute(topic)

    def types() -> list[str]:
        return sorted({e.type_name for e in others(node) if e.topic == topic})

    if not types() and wait:
        wait_for_topic(node, topic, types, timeout)
    found = types()
    if not found and not wait and (graph := other_graph(node)) and topic in graph.topics:
        return [graph.type_of(topic)]
    if not found:
        raise click.ClickException(f"nobody publishes or subscribes {topic}; {instead_of(node, topic)}")
    return found


def type_of(node: Any, topic: str, timeout: float | None = None) -> str:
    """The one type of a topic; with several the user has to name one."""
    found = types_of(node, topic, timeout=timeout)
    if len(found) > 1:
        raise click.ClickException(
            f"{absolute(topic)} has several types: {', '.join(found)}; name one behind the topic: {absolute(topic)} {found[0]}"
        )
    return found[0]


def _complete(find: Callable[[Any], Collection[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completion in the shell: names that begin with the typed text, with or without a leading slash. An error gives no names, because
    a shell has no place for its text."""

    def names(ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
        try:
            with ctx.scope(cleanup=False):
                found = find(join(ctx.params.get("domain"), tuple(ctx.params.get("search") or ()), say=lambda _: None))
        except Exception:
            return []
        slash = begun.startswith("/")
        shown = {name if slash or not name.startswith("/") else name[1:] for name in found}
        return sorted(name for name in shown if name.startswith(begun))

    return names


complete_topics = _complete(topics_of)
complete_nodes = _complete(lambda node: {node_name(n) for n, _ in node.nodes() if not n.startswith("_baton_")})
complete_services = _complete(
    lambda node: {e.topic.rpartition("/")[0] for e in others(node) if e.topic.endswith(("/_request", "/_response"))}
)


def _complete_types(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def names(ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
        try:
            universe = Universe(search=ctx.params.get("search") or ())
            package, slash, _name = begun.partition("/")
            if not slash:
                return [f"{p}/" for p in universe.packages() if p.startswith(begun)]
            return [full for k, full in universe.types_of(package) if k == kind and full.startswith(begun)]
        except Exception:
            return []

    return names


complete_messages = _complete_types("msg")
complete_service_types = _complete_types("srv")


def reason(error: InterfaceError) -> str:
    """The text of an error in a type that the command line names. An error in a file has its place; any other error its message and advice."""
    text = "\n".join(
        d.render() if d.location.line else f"{d.message}\n  way out: {d.way_out}" for d in error.diagnostics
    )
    # The error's advice is for Python programs, so the command gives its own.
    return text.replace("baton.search(directory)", "--search DIR")


def message_class(name: str) -> Any:
    return _class_of(load().message, name)


def message_class_as(endpoint: Any) -> Any:
    """The class of an endpoint's type, with the definition that the endpoint has: from this process's sources, or from ROS 1's
    standard set, where types such as sensor_msgs/Range have the name of another type of ROS 2."""
    cls = message_class(endpoint.type_name)
    if cls._struct.hash == endpoint.type_hash:
        return cls
    with contextlib.suppress(InterfaceError, ValueError):
        of_ros1 = _ros1_types().message(endpoint.type_name)
        if of_ros1._struct.hash == endpoint.type_hash:
            return of_ros1
    raise click.ClickException(
        f"{endpoint.node} ({endpoint.pid}) defines {endpoint.type_name} differently: put the directory of its packages into BATON_MSG_PATH"
    )


@functools.cache
def _ros1_types() -> Any:
    load()
    from baton._messages import TypeSource

    return TypeSource(standard="ros1_noetic")


def service_class(name: str) -> Any:
    return _class_of(load().service, name)


def _class_of(find: Callable[[str], Any], name: str) -> Any:
    try:
        return find(name)
    except InterfaceError as error:
        raise click.ClickException(reason(error)) from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def show_names(
    node: Any, found: Mapping[str, Collection[str]], what: str, types: bool, count: bool, as_json: bool
) -> None:
    """Prints a `list` of topics or services: names, with their types if wanted, or their number."""
    if as_json:
        click.echo(json_text({name: sorted(kinds) for name, kinds in sorted(found.items())}))
    elif count:
        click.echo(len(found))
    else:
        say_if_empty(node, found, what)
        for name, kinds in sorted(found.items()):
            click.echo(f"{name} [{', '.join(sorted(kinds))}]" if types else name)


def message_from_yaml(cls: Any, values: str, type_name: str) -> Any:
    """A message with the values of a text on the command line."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        given = YAML(typ="safe").load(values)
        return cls({} if given is None else given)
    except (YAMLError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise click.ClickException(f"VALUES are no {type_name}: {error}") from None


def condition(text: str | None) -> Callable[[Any], bool]:
    """A Python expression about the message `m`, as a function. It runs unrestricted, in the user's own process, as with ros2."""
    if text is None:
        return lambda message: True
    try:
        code = compile(text, "--filter", "eval")
    except SyntaxError as error:
        raise click.ClickException(f"--filter is no Python expression: {error.msg}: {text}") from None

    def true_for(message: Any) -> bool:
        try:
            return bool(eval(code, {"np": np}, {"m": message}))
        except Exception as error:
            raise click.ClickException(f"--filter '{text}': {type(error).__name__}: {error}") from None

    return true_for


_TYPE_NAME = re.compile(r"[A-Za-z]\w*/((msg|srv)/)?[A-Za-z]\w*", re.ASCII)


def type_and_values(given: tuple[str, ...]) -> tuple[str | None, str]:
    """[TYPE] [VALUES] of the command line: a single word is the type if it has the form of one."""
    if len(given) > 2:
        raise click.UsageError(f"too many arguments: {' '.join(given[2:])}; put VALUES into quotation marks")
    if len(given) == 2:
        return given[0], given[1]
    if given and _TYPE_NAME.fullmatch(given[0]):
        return given[0], "{}"
    return None, given[0] if given else "{}"


def short_type(name: str) -> str:
    """package/Name, also of ROS 2's package/msg/Name."""
    parts = name.split("/")
    return f"{parts[0]}/{parts[-1]}" if len(parts) == 3 and parts[1] in ("msg", "srv") else name


def is_are(count: int, thing: str) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, thing)}"


def nodes_there(node: Any) -> list[str]:
    """Names of nodes, those of other hosts among them, as in `baton node list`."""
    nodes = [name for name, pid in node.nodes() if not name.startswith("_baton_") and pid != os.getpid()]
    return nodes + sorted({e.node for e in others(node) if "@" in e.node})


def nobody_there(node: Any) -> str:
    """A sentence with the domain's number and runtime directory, the settings that choose them, and the number of its nodes."""
    nodes = nodes_there(node)
    there = f"there {is_are(len(nodes), 'node')}" if nodes else "nobody is there"
    there += "" if nodes else that_answers(node)
    runtime = Path(saved_link(node.domain).path).parents[1]  # it has a folder for each domain, with the link's file
    chosen = f"domain {node.domain} (BATON_DOMAIN, --domain) in {runtime} (BATON_RUNTIME_DIR)"
    return f"{chosen}: {there}{'' if nodes else _other_elsewhere(node)}"


def _other_elsewhere(node: Any) -> str:
    """A clause that names the domain of another middleware, if that is another domain with processes; else empty."""
    other = middleware.brought()
    if other is None or not os.environ.get(other.VARIABLE) or (domain := other.domain()) == node.domain:
        return ""
    baton = load()
    try:
        there = baton.Node(f"_baton_{os.getpid()}_{other.KEY}", domain=domain)
    except baton.BatonError:
        return ""
    settle(there)
    if not (count := len({e.pid for e in others(there)})):
        return ""
    processes = f"{count} process{'es' * (count != 1)}"
    return f"; {other.NAME}'s domain is {domain} ({other.VARIABLE}), with {processes}: --{other.KEY}"


def say_if_empty(node: Any, found: Collection[object], what: str) -> None:
    """Reports on stderr that a list is empty, and which domain was read."""
    if not found:
        click.echo(f"no {what} in {nobody_there(node)}", err=True)


def say_no_type(node: Any, wanted: str, kind: str, used: Collection[str]) -> None:
    """Reports on stderr that nothing in the domain has the type `wanted`, with a similar type of `used`. Raises if the type is unknown."""
    what = "topic" if kind == "msg" else "service"
    hint = did_you_mean(wanted, used)
    try:
        (message_class if kind == "msg" else service_class)(wanted)
    except click.ClickException as error:
        raise click.ClickException(error.message + (f"\n  in domain {node.domain}: {hint}" if hint else "")) from None
    click.echo(f"no {what} in domain {node.domain} has the type {wanted}" + (f"; {hint}" if hint else ""), err=True)


def subscribe(
    node: Any,
    topic: str,
    type_name: str | None,
    depth: int = 10,
    timeout: float | None = None,
    callback: Callable[[Any], object] | None = None,
) -> Any:
    """A subscription with the quality of service that the publishers offer."""
    baton = load()
    topic = absolute(topic)
    type_name = type_name or type_of(node, topic, timeout=timeout)
    cls = message_class(type_name)  # an unknown type is an error at once

    def published() -> bool:
        return any(e.topic == topic and e.is_publisher for e in others(node))

    if not published():
        wait_for_topic(node, topic, published, timeout)
        if not published():
            raise click.ClickException(f"nobody publishes {topic} within {timeout:g} s")
    publishers = [e for e in others(node) if e.topic == topic and e.is_publisher]
    offered = [e.qos for e in publishers]
    with contextlib.suppress(click.ClickException):  # then the subscription's error says how the definitions differ
        cls = next((message_class_as(e) for e in publishers if e.type_name == type_name), cls)
    reliable = all(q.reliability == "reliable" for q in offered)
    durable = bool(offered) and all(q.durability == "transient_local" for q in offered)
    qos = baton.QoS(
        depth,
        reliability="reliable" if reliable else "best_effort",
        durability="transient_local" if durable else "volatile",
    )
    return node.subscribe(topic, cls, callback, qos)


def members(message: Any) -> dict[str, Any]:
    """The fields of a message that are shown."""
    return {m.name: getattr(message, m.name) for m in _shown_members(message._struct)}


def _shown_members(struct: Any) -> list[Any]:
    """The members without Header.seq, which ROS 2's Header does not have."""
    return [m for m in struct.members if (struct.full_name, m.name) != ("std_msgs/Header", "seq")]


def plain(value: Any, limit: int, struct: Any = None) -> Any:
    """A message as JSON's types. A long array is cut to `limit` elements, and a last entry has the number of the others. `struct`: the type
    of the messages in `value`, if `value` comes from to_dict()."""
    baton = load()
    if isinstance(value, baton.Message):
        struct, value = value._struct, baton.to_dict(value)  # one copy; its size is bounded by the message's
    if isinstance(value, dict):
        return {m.name: plain(value[m.name], limit, struct.nested.get(m.type.base)) for m in _shown_members(struct)}
    if not isinstance(value, np.ndarray | list | baton.Sequence):
        return value
    shown = value[:limit] if limit else value
    if isinstance(shown, np.ndarray):
        items = [_row(r) for r in shown] if shown.dtype.names else shown.tolist()
    else:
        items = [plain(v, limit, struct) for v in shown]
    return items + ([f"... {len(value) - limit} more"] if limit and len(value) > limit else [])


def _row(record: Any) -> Any:
    if record.dtype.names is None:
        return record.tolist()
    return {
        n: _row(record[n]) if record[n].dtype.names or record[n].shape else record[n].item() for n in record.dtype.names
    }


def leaves(value: Any) -> Iterator[Any]:
    """All values of a result of plain(), in order: a line of CSV."""
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def field_of(message: Any, path: str) -> Any:
    """A field by its path, e.g. pose.position.x or poses[0].header."""
    value = message
    for part in path.replace("[", ".").replace("]", "").split("."):
        try:
            value = value[int(part)] if part.isdigit() else getattr(value, part)
        except (AttributeError, IndexError, KeyError, TypeError):
            raise click.ClickException(f"the message has no field '{path}'") from None
    return value
