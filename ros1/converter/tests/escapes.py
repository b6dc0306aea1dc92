# SPDX-License-Identifier: Apache-2.0
"""Programs whose functions each publish a message on the stack, and of which it is known whether a rewrite is allowed.

A function has harmless statements in a context (a loop, a branch, a lambda ...), and perhaps one construct of ESCAPES: something by which the
message changes after it was published. The stand-ins of ROS print what a subscription of the same process sees, at the end (ROS 1,
where it shares the message), or at once and then change it (ROS 2, where it owns the message). So a wrong rewrite changes the output.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Flavour:
    """`T` in the constructs is the message's type, `PUBLISH(x)` publishes."""

    header: str
    type: str
    head: str  # the type of its part `header`
    publish: str
    publisher: str


ROS1 = Flavour(
    "tiny_ros.hpp", "sensor_msgs::Image", "std_msgs::Header", "publisher.publish", "ros::Publisher publisher;"
)
ROS2 = Flavour(
    "tiny_ros2.hpp",
    "sensor_msgs::msg::Image",
    "std_msgs::msg::Header",
    "publisher->publish",
    "auto publisher = std::make_shared<rclcpp::Publisher<sensor_msgs::msg::Image>>();",
)

PRELUDE = """
#include <sys/wait.h>
#include <unistd.h>

#include <any>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <tuple>
#include <variant>

using T = {type};
using Head = {head};
{publisher}
unsigned long total = 0;
bool flag() {{ return total % 2 == 0; }}
std::vector<T*> given;
std::vector<const T*> looked;
T* global = nullptr;
uint32_t* global_height = nullptr;
std::function<void()> later;
void change() {{
  for (auto* m : given) m->height += 100;
}}
void keep(T& m) {{ given.push_back(&m); }}
void keep_pointer(T* m) {{ given.push_back(m); }}
void keep_const(const T& m) {{ looked.push_back(&m); }}
void show_kept() {{
  for (const auto* m : looked) std::cout << "kept " << m->height << '\\n';
}}
uint32_t look(const T& m) {{ return m.height + m.data.size(); }}
T& same(T& m) {{ return m; }}
const T& same_const(const T& m) {{ return m; }}
void set(T& m, uint32_t height) {{ m.height = height; }}
void set_number(uint32_t& number) {{ number = 50; }}
template <class A>
void keep_any(A& m) {{ given.push_back(&m); }}
template <class A>
void set_any(A&& m) {{ m.height = 51; }}
struct Holder {{
  T& message;
}};
struct Element {{
  Element(uint8_t& b) : at(&b) {{}}
  uint8_t* at;
}};
struct Guard {{
  explicit Guard(T& m) : m_(m) {{}}
  ~Guard() {{ m_.height += 52; }}
  T& m_;
}};
struct Show {{
  explicit Show(const T& m) : m_(m) {{}}
  ~Show() {{ std::cout << "at end " << m_.height << '\\n'; }}
  const T& m_;
}};
struct Watcher {{
  ~Watcher() {{
    if (m_ != nullptr) std::cout << "watched " << m_->height << '\\n';
  }}
  void watch(const T& m) {{ m_ = &m; }}
  const T* m_ = nullptr;
}};
void watch(Watcher& watcher, const T& m) {{ watcher.watch(m); }}
struct Scale {{}};
T& operator*=(T& m, Scale) {{
  m.height *= 2;
  return m;
}}
T& operator<<(T& m, uint32_t height) {{
  m.height = height;
  return m;
}}
#define RAISE(m) (m).height += 53
#define PUBLISH({argument}) {publish}({argument})
"""

# (what stands after the declaration, what stands after the publish). {n} is a number of two digits (in HARMLESS of one), and ' a double quote.
ESCAPES: dict[str, tuple[str, str]] = {
    "written": ("", "m.height = {n};"),
    "written_part": ("", "m.header.frame_id += 'x';"),
    "counted": ("", "++m.height;"),
    "counted_behind": ("", "m.height++;"),
    "added": ("", "m.height += {n};"),
    "shifted": ("m.height = 1;", "m.height <<= 2;"),
    "pushed": ("", "m.data.push_back({n});"),
    "element_written": ("m.data.resize(3);", "m.data[1] = {n};"),
    "element_at": ("m.data.resize(3);", "m.data.at(1) = {n};"),
    "element_back": ("m.data.resize(3);", "m.data.back() = {n};"),
    "address_kept": ("given.push_back(&m);", "change();"),
    "address_of_part": ("global_height = &m.height;", "++*global_height;"),
    "addressof": ("given.push_back(std::addressof(m));", "change();"),
    "pointer": ("T* pointer = &m;", "pointer->height = {n};"),
    "pointer_later": ("T* pointer = nullptr; pointer = &m;", "pointer->height = {n};"),
    "pointer_to_pointer": ("T* pointer = &m; T** further = &pointer;", "(*further)->height = {n};"),
    "global_pointer": ("global = &m;", "global->height = {n};"),
    "static_pointer": ("static T* last; last = &m;", "last->height = {n};"),
    "void_pointer": ("void* raw = &m;", "static_cast<T*>(raw)->height = {n};"),
    "number": ("auto number = reinterpret_cast<uintptr_t>(&m);", "reinterpret_cast<T*>(number)->height = {n};"),
    "bytes": ("auto& bytes = reinterpret_cast<uint32_t&>(m.height);", "bytes = {n};"),
    "const_cast": ("const T& fixed = m;", "const_cast<T&>(fixed).height = {n};"),
    "const_cast_pointer": ("const T* fixed = &m;", "const_cast<T*>(fixed)->height = {n};"),
    "c_cast": ("const T* fixed = &m;", "((T*)fixed)->height = {n};"),
    "reference": ("T& alias = m;", "alias.height = {n};"),
    "reference_auto": ("auto& alias = m;", "alias.height = {n};"),
    "reference_forward": ("auto&& alias = m;", "alias.height = {n};"),
    "reference_chain": ("auto& one = m; auto& two = one;", "two.height = {n};"),
    "reference_to_part": ("std::vector<uint8_t>& bytes = m.data;", "bytes.push_back({n});"),
    "reference_to_header": ("Head& head = m.header;", "head.frame_id = '{n}';"),
    "reference_to_number": ("uint32_t& height = m.height;", "height = {n};"),
    "reference_of_function": ("T& alias = same(m);", "alias.height = {n};"),
    "reference_of_choice": ("T other; T& alias = flag() ? m : m;", "alias.height = {n};"),
    "reference_static": ("static T* at = nullptr; at = &same(m);", "at->height = {n};"),
    "binding": ("auto& [head, height, width, encoding, data] = m;", "height = {n};"),
    "iterator": ("m.data.resize(3); auto at = m.data.begin();", "*at = {n};"),
    "iterator_end": ("m.data.resize(3); auto at = m.data.rbegin();", "*at = {n};"),
    "data_pointer": ("m.data.resize(3); uint8_t* at = m.data.data();", "*at = {n};"),
    "element_pointer": ("m.data.resize(3); uint8_t* at = &m.data[1];", "*at = {n};"),
    "element_reference": ("m.data.resize(3); uint8_t& at = m.data.front();", "at = {n};"),
    "passed": ("keep(m);", "change();"),
    "passed_pointer": ("keep_pointer(&m);", "change();"),
    "passed_to_template": ("keep_any(m);", "change();"),
    "passed_afterwards": ("", "set(m, {n});"),
    "passed_number": ("", "set_number(m.height);"),
    "passed_to_template_afterwards": ("", "set_any(m);"),
    "passed_by_pointer_to_function": ("void (*function)(T&, uint32_t) = set;", "function(m, {n});"),
    "passed_to_method": ("std::function<void(T&)> f = [](T& x) {{ x.height = {n}; }};", "f(m);"),
    "macro": ("", "RAISE(m);"),
    "operator": ("m.height = 1;", "m *= Scale();"),
    "operator_shift": ("", "m << {n}u;"),
    "lambda_reference": ("auto f = [&m] {{ m.height = {n}; }};", "f();"),
    "lambda_default": ("auto f = [&] {{ m.height = {n}; }};", "f();"),
    "lambda_init": ("auto f = [&alias = m] {{ alias.height = {n}; }};", "f();"),
    "lambda_pointer": ("auto f = [pointer = &m] {{ pointer->height = {n}; }};", "f();"),
    "lambda_at_once": ("", "[&] {{ m.height = {n}; }}();"),
    "lambda_nested": ("auto f = [&] {{ return [&] {{ m.height = {n}; }}; }};", "f()();"),
    "lambda_kept": ("later = [&m] {{ m.height = {n}; }};", "later();"),
    "lambda_for_each": ("m.data.resize(2);", "std::for_each(m.data.begin(), m.data.end(), [](auto& b) {{ b = {n}; }});"),
    "bind": ("auto f = std::bind(set, std::ref(m), {n});", "f();"),
    "reference_wrapper": ("std::reference_wrapper<T> wrapped(m);", "wrapped.get().height = {n};"),
    "wrappers": ("std::vector<std::reference_wrapper<T>> all{{m}};", "all[0].get().height = {n};"),
    "list_of_pointers": ("std::vector<T*> all{{&m}};", "all[0]->height = {n};"),
    "array_of_pointers": ("T* all[] = {{&m}};", "all[0]->height = {n};"),
    "map_of_pointers": ("std::map<int, T*> all; all[1] = &m;", "all[1]->height = {n};"),
    "pair": ("std::pair<T*, int> pair{{&m, 1}};", "pair.first->height = {n};"),
    "tuple": ("auto tuple = std::tie(m);", "std::get<0>(tuple).height = {n};"),
    "tuple_of_parts": ("auto tuple = std::tie(m.height, m.data);", "std::get<0>(tuple) = {n};"),
    "optional": ("std::optional<T*> maybe = &m;", "(*maybe)->height = {n};"),
    "any": ("std::any any = &m;", "std::any_cast<T*>(any)->height = {n};"),
    "variant": ("std::variant<int, T*> either = &m;", "std::get<1>(either)->height = {n};"),
    "holder": ("Holder holder{{m}};", "holder.message.height = {n};"),
    "guard": ("Guard guard(m);", ""),
    "guard_brace": ("Guard guard{{m}};", ""),
    "shared_pointer": ("std::shared_ptr<T> shared(&m, [](T*) {{}});", "shared->height = {n};"),
    "unique_pointer": ("auto none = [](T*) {{}}; std::unique_ptr<T, decltype(none)> own(&m, none);", "own->height = {n};"),
    "shared_part": (
        "std::shared_ptr<T> whole(&m, [](T*) {{}}); std::shared_ptr<uint32_t> part(whole, &m.height);",
        "*part = {n};",
    ),
    "member_pointer": ("uint32_t T::*member = &T::height;", "m.*member = {n};"),
    "member_pointer_before": ("uint32_t& height = m.*(&T::height);", "height = {n};"),
    "mem_fn": ("auto height = std::mem_fn(&T::height);", "height(m) = {n};"),
    "thread": ("", "std::thread([&m] {{ m.height = {n}; }}).join();"),
    "thread_of_function": ("", "std::thread(set, std::ref(m), {n}).join();"),
    "deferred": ("auto task = std::async(std::launch::deferred, [&m] {{ m.height = {n}; }});", "task.get();"),
    "swapped": ("T other; other.height = {n};", "std::swap(m, other);"),
    "swapped_part": ("std::vector<uint8_t> bytes(2);", "m.data.swap(bytes);"),
    "swapped_into": ("m.data.resize(2); std::vector<uint8_t> bytes;", "bytes.swap(m.data);"),
    "moved": ("m.encoding = std::string(40, 0x78);", "T taken = std::move(m); total += taken.data.size();"),
    "moved_part": ("m.data.resize(2);", "auto bytes = std::move(m.data); total += bytes.size();"),
    "moved_into": ("m.data.resize(2); std::vector<uint8_t> bytes;", "bytes = std::move(m.data);"),
    "exchanged": ("", "total += std::exchange(m.height, {n});"),
    "assigned": ("T other; other.height = {n};", "m = other;"),
    "assigned_new": ("m.height = 1;", "m = T();"),
    "assigned_in_condition": ("", "if ((m.height = {n})) ++total;"),
    "placement": ("m.height = 5;", "m.~T(); new (&m) T();"),
    "chosen": ("T other;", "(flag() ? m : m).height = {n};"),
    "comma": ("", "(++total, m).height = {n};"),
    "result_of_function": ("", "same(m).height = {n};"),
    "result_of_assignment": ("", "(m.height = 1) = {n};"),
    "reference_to_assigned": ("auto& height = (m.height = 1);", "height = {n};"),
    "reference_behind_comma": ("auto& height = (++total, m.height);", "height = {n};"),
    "pointer_in_if": ("", "if (T* pointer = &m) pointer->height = {n};"),
    "pointer_in_for": ("", "for (T* pointer = &m; pointer != nullptr; pointer = nullptr) pointer->height = {n};"),
    "pointer_in_list": ("", "for (T* pointer : {{&m}}) pointer->height = {n};"),
    "range": ("m.data.resize(2);", "for (auto& b : m.data) b = {n};"),
    "range_kept": ("m.data.resize(2); std::vector<uint8_t*> at; for (auto& b : m.data) at.push_back(&b);", "*at[0] = {n};"),
    "stream": ("", "std::istringstream('{n}') >> m.height;"),
    "getline": ("std::istringstream in('line');", "std::getline(in, m.encoding);"),
    "sscanf": ("", "std::sscanf('{n}', '%u', &m.height);"),
    "memcpy": ("m.data.resize(3);", "std::memcpy(m.data.data(), 'abc', 3);"),
    "fill": ("m.data.resize(3);", "std::fill(m.data.begin(), m.data.end(), {n});"),
    "iota": ("m.data.resize(3);", "std::iota(m.data.begin(), m.data.end(), {n});"),
    "inserter": ("", "std::fill_n(std::back_inserter(m.data), 2, {n});"),
    "inserter_kept": ("m.data.reserve(9); auto at = std::back_inserter(m.data);", "*at = {n};"),
    "iterator_sum": ("m.data.resize(3); auto at = m.data.begin() + 1;", "*at = {n};"),
    "iterator_difference": ("m.data.resize(3); auto at = m.data.end() - 1;", "*at = {n};"),
    "iterator_found": ("m.data.assign(3, 1); auto at = std::find(m.data.begin(), m.data.end(), 1);", "*at = {n};"),
    "iterator_greatest": ("m.data.assign(3, 1); auto at = std::max_element(m.data.begin(), m.data.end());", "*at = {n};"),
    "iterator_inserted": ("auto at = m.data.insert(m.data.end(), 1);", "*at = {n};"),
    "iterator_erased": ("m.data.resize(3); auto at = m.data.erase(m.data.begin());", "*at = {n};"),
    "iterator_next": ("m.data.resize(3); auto at = std::next(m.data.begin());", "*at = {n};"),
    "iterator_of_free_begin": ("m.data.resize(3); auto at = std::begin(m.data);", "*at = {n};"),
    "inserted": ("std::vector<uint8_t> some(2);", "m.data.insert(m.data.end(), some.begin(), some.end());"),
    "erased": ("m.data.resize(3);", "m.data.erase(m.data.begin());"),
    "generated": ("m.data.resize(3);", "std::generate(m.data.begin(), m.data.begin() + 2, [] {{ return {n}; }});"),
    "found_and_set": ("m.data.resize(3);", "*std::max_element(m.data.begin(), m.data.end()) = {n};"),
    "transform_keeps": (
        "m.data.resize(1); uint8_t* at = nullptr; "
        "std::transform(m.data.begin(), m.data.end(), m.data.begin(), [&at](uint8_t& b) {{ at = &b; return b; }});",
        "*at = {n};",
    ),
    "sum_keeps": (
        "m.data.resize(1); uint8_t* at = nullptr; "
        "std::accumulate(m.data.begin(), m.data.end(), 0, [&at](int sum, uint8_t& b) {{ at = &b; return sum + b; }});",
        "*at = {n};",
    ),
    "pointers_inserted": (
        "m.data.resize(2); std::vector<Element> all; all.insert(all.end(), m.data.begin(), m.data.end());",
        "*all[0].at = {n};",
    ),
    "copied_with_pointer": ("Holder holder{{m}}; Holder second = holder;", "second.message.height = {n};"),
    "local_class": ("struct Local {{ T* at; void set() {{ at->height = {n}; }} }} local{{&m}};", "local.set();"),
    "thrown": ("", "try {{ throw &m; }} catch (T* caught) {{ caught->height = {n}; }}"),
    "goto": ("int turn = 0; again:", "if (turn++ < 1) {{ m.height = {n}; goto again; }}"),
    "sizeof_trick": ("constexpr auto size = sizeof(decltype(m)); total += size;", "m.height = {n};"),
}  # fmt: skip
# In ROS 2 the message is gone after it was published.
LOOKS: dict[str, tuple[str, str]] = {
    "read": ("", "total += m.height; std::cout << m.height;"),
    "read_by_function": ("", "std::cout << look(m);"),
    "read_in_condition": ("m.height = 1;", "if (m.height == 1) std::cout << 'one';"),
    "printed": ("m.encoding = 'x';", "std::cout << m.encoding;"),
    "copied": ("m.height = {n};", "T copy = m; std::cout << copy.height;"),
    "published_again": ("m.height = {n};", "PUBLISH(m);"),
    "pointer_to_const": ("const T* pointer = &m; m.height = {n};", "std::cout << pointer->height;"),
    "pointer_to_number": ("const uint32_t* pointer = &m.height;", "std::cout << *pointer;"),
    "reference_to_const": ("const T& alias = m;", "std::cout << alias.height;"),
    "reference_to_text": ("const std::string& text = m.encoding;", "std::cout << text;"),
    "reference_of_function": ("const T& alias = same_const(m);", "std::cout << alias.height;"),
    "kept_const": ("keep_const(m);", "show_kept();"),
    "text": ("m.encoding = std::string(40, 0x78); const char* text = m.encoding.c_str();", "std::cout << text;"),
    "view": ("m.encoding = std::string(40, 0x78); std::string_view text = m.encoding;", "std::cout << text;"),
    "bytes": ("m.data.resize(3); const uint8_t* bytes = m.data.data();", "std::cout << +bytes[0];"),
    "const_iterator": ("m.data.resize(3); auto at = m.data.cbegin();", "std::cout << +*at;"),
    "lambda": ("auto f = [&m] {{ std::cout << m.height; }};", "f();"),
    "reference_to_const_in_wrapper": ("auto wrapped = std::cref(m);", "std::cout << wrapped.get().height;"),
    "watched": ("Watcher watcher; watcher.watch(m);", ""),
    "watched_by_function": ("Watcher watcher; watch(watcher, m);", ""),
    "watched_by_pointer": ("auto watcher = std::make_unique<Watcher>(); watcher->watch(m);", ""),
    "shown_at_end": ("Show show(m);", ""),
    "kept_in_list": ("std::vector<const T*> all{{&m}};", "std::cout << all[0]->height;"),
    "minimum": ("T other; const T& less = std::min(m, other, [](const T& a, const T& b) {{ return a.height < b.height; }});",
                "std::cout << less.height;"),
}  # fmt: skip
# Statements before the publish that forbid nothing.
HARMLESS = [
    "m.height = {n};",
    "m.height += {n};",
    "m.encoding = 'mono{n}';",
    "m.header.frame_id += 'f';",
    "m.data.resize({n});",
    "m.data.push_back({n});",
    "m.data.assign({n}, 7);",
    "m.data = std::vector<uint8_t>({n}, 1);",
    "if (!m.data.empty()) m.data[0] = {n};",
    "for (auto& b : m.data) b += {n};",
    "for (auto b : m.data) total += b;",
    "for (size_t i = 0; i < m.data.size(); ++i) m.data[i] = i;",
    "std::fill(m.data.begin(), m.data.end(), {n});",
    "std::fill(m.data.begin(), m.data.begin() + m.data.size() / 2, {n});",
    "std::fill_n(std::back_inserter(m.data), {n}, 3);",
    "m.data.insert(m.data.end(), {n}, 4);",
    "{{ std::vector<uint8_t> some({n}, 5); m.data.insert(m.data.begin(), some.begin(), some.end()); }}",
    "{{ std::vector<uint8_t> some; some.insert(some.end(), m.data.begin(), m.data.end()); total += some.size(); }}",
    "{{ std::vector<uint8_t> some({n}, 6); std::copy(some.begin(), some.end(), std::back_inserter(m.data)); }}",
    "if (!m.data.empty()) m.data.erase(m.data.begin(), m.data.begin() + 1);",
    "total += std::accumulate(m.data.begin(), m.data.end(), 0);",
    "if (!m.data.empty()) total += *std::max_element(m.data.begin(), m.data.end());",
    "total += m.data.end() - m.data.begin();",
    "std::generate(m.data.begin(), m.data.end(), [] {{ return {n}; }});",
    "std::sort(m.data.begin(), m.data.end(), [](uint8_t a, uint8_t b) {{ return a > b; }});",
    "std::transform(m.data.begin(), m.data.end(), m.data.begin(), [](uint8_t b) {{ return b + {n}; }});",
    "if (m.data.size() > 2) std::memcpy(&m.data[0], 'ab', 2);",
    "{{ T copy = m; copy.height = 1; total += copy.height; }}",
    "{{ auto& head = m.header; head.frame_id = 'part'; }}",
    "total += m.height + m.data.size();",
    "if (m.encoding == 'mono1') ++total;",
    "std::string text = m.encoding + 'x'; total += text.size();",
    "m.height = m.height > 3 ? 1 : 2;",
    "switch (m.height) {{ case 1: m.height = 9; break; default: ++total; }}",
]
# Contexts around a function's statements; @ is where they stand.
CONTEXTS = {
    "plain": "@",
    "block": "{ @ }",
    "loop": "for (int round = 0; round < 2; ++round) { @ }",
    "while": "int left = 2; while (left-- > 0) { @ }",
    "do": "int left = 2; do { @ } while (--left > 0);",
    "range": "for (int each : {1, 2}) { total += each; @ }",
    "branch": "if (total < 1000000) { @ } else { ++total; }",
    "switch": "switch (total % 1) { case 0: { @ break; } default: ++total; }",
    "try": "try { @ } catch (const std::exception&) { ++total; }",
    "lambda": "auto whole = [&] { @ }; whole();",
}
# How the publish is written; @ is the argument, `then` comes after it on the same way.
PUBLISHES = {
    "plain": "PUBLISH(m);",
    "in_block": "{ PUBLISH(m); }",
    "in_branch": "if (total < 1000000) PUBLISH(m);",
    "in_both": "if (flag()) { PUBLISH(m); } else { PUBLISH(m); }",
    "in_switch": "switch (total % 1) { case 0: PUBLISH(m); break; default: break; }",
}


@dataclass
class Case:
    name: str
    text: str
    rewritten: bool | None  # None: either way is right


def case(
    number: int, pick: random.Random, flavour: Flavour, construct: str | None, escapes: dict[str, tuple[str, str]]
) -> Case:
    """A function; `construct` names one of `escapes`, None: a harmless one."""
    before, after = escapes[construct] if construct is not None else ("", "")
    context, publish = pick.choice(list(CONTEXTS)), pick.choice(list(PUBLISHES))
    if construct == "goto" and context != "plain":
        context = "block"
    statements = ["T m;"]
    fillers = [pick.choice(HARMLESS) for _ in range(pick.randint(0, 4))]
    at = pick.randint(0, len(fillers))
    if re.search(r"m\.(data|encoding)", before):  # a pointer to contents is valid until these grow
        at = len(fillers)
    for filler in [*fillers[:at], before, *fillers[at:]]:
        if filler:
            constructs = filler is before
            opened = pick.random() < 0.15 and not constructs
            written = f"if (total % 2 == 0) {{{{ {filler} }}}}" if opened else _scoped(filler, constructs)
            statements.append(_literals(written, pick.randint(11, 99) if constructs else pick.randint(1, 9)))
    statements.append(PUBLISHES[publish])
    if after:
        statements.append(_literals(after, pick.randint(11, 99)))
    body = CONTEXTS[context].replace("@", "\n    ".join(statements))
    name = f"f{number}_{construct or 'harmless'}_{context}_{publish}"
    text = f"void {name}() {{\n  {body}\n}}\n".replace("PUBLISH(", f"{flavour.publish}(")
    return Case(name, text, construct is None)


def _scoped(filler: str, keeps: bool) -> str:
    return filler if keeps or not re.match(r"std::string text", filler) else f"{{{{ {filler} }}}}"


def _literals(text: str, number: int) -> str:
    return text.format(n=number).replace("'", '"')


def cases(seed: int, flavour: Flavour, harmless: int) -> list[Case]:
    """Each construct of the flavour once, in a context of chance, and harmless functions."""
    pick = random.Random(seed)
    escapes = ESCAPES | ({f"{name}_looked": pair for name, pair in LOOKS.items()} if flavour is ROS2 else {})
    names = [*sorted(escapes), *[None] * harmless]
    found = [case(number, pick, flavour, name, escapes) for number, name in enumerate(names)]
    if flavour is ROS1:  # looking is no reason to stay
        looks = [case(number, pick, flavour, name, LOOKS) for number, name in enumerate(sorted(LOOKS), len(found))]
        found += [Case(look.name, look.text, None) for look in looks]
    return found


def program(found: list[Case], flavour: Flavour) -> str:
    prelude = PRELUDE.format(
        type=flavour.type, head=flavour.head, publisher=flavour.publisher, publish=flavour.publish, argument="argument"
    )
    printed = "ros::print_published();" if flavour is ROS1 else "rclcpp::print_owned();"
    # In a process each, so that one that dies, as a wrongly rewritten one may, changes no other.
    show = (
        "void show(const char* name, unsigned long number, void (*function)()) {\n"
        "  std::cout << name << '\\n' << std::flush;\n  const pid_t child = fork();\n  if (child == 0) {\n    total = number;\n"
        f"    function();\n    {printed}\n    std::cout << total << '\\n' << std::flush;\n    _exit(0);\n  }}\n"
        "  waitpid(child, nullptr, 0);\n}\n"
    )
    functions = "".join(each.text for each in found)
    calls = "".join(f'  show("{each.name}", {number}, {each.name});\n' for number, each in enumerate(found))
    return f'#include "{flavour.header}"\n{prelude}\n{functions}{show}int main() {{\n{calls}}}\n'


def rewritten(before: str, after: str) -> set[str]:
    """The functions whose text differs."""
    old, new = _functions(before), _functions(after)
    assert old.keys() == new.keys()
    return {name for name in old if old[name] != new[name]}


def _functions(text: str) -> dict[str, str]:
    return {
        found[1]: found[0]
        for found in re.finditer(r"^void (f\d+_\w+)\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    }


def all_rewritten(text: str, flavour: Flavour) -> str:
    """The program with every message rewritten, right or wrong."""
    maker = "boost::make_shared" if flavour is ROS1 else "std::make_unique"
    given = "m_ptr" if flavour is ROS1 else "std::move(m_ptr)"
    text = text.replace("T m;", f"auto m_ptr = {maker}<T>(); T& m = *m_ptr;")
    return text.replace(f"{flavour.publish}(m)", f"{flavour.publish}({given})")
