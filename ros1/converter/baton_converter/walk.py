# SPDX-License-Identifier: Apache-2.0
"""Walks one function, statement by statement, with the state of its messages.

Each expression is visited with the use that is made of its value: READ (the value is copied), WRITE (it is changed, by code that keeps no
way to it), LOOK (a function gets it as const, and gives no way to it back), KEEP (whoever gets it may look at it later), ESCAPE (and may
change it later). clang shows where an object becomes const; from there on it is no more than KEEP. Whatever is not known is ESCAPE, so
that a rewrite is refused rather than wrong.
"""

from __future__ import annotations

import re
from typing import Any

from . import advice, copies
from .access import Names, Node, method_base, parts, strip
from .candidates import ESCAPE, KEEP, LOOK, READ, WRITE, Candidates
from .effects import Effects, is_const_for_function
from .findings import FileReport
from .messages import Types, is_number, is_string, is_value, is_vector, unqualified
from .state import Origin, State, join

_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")
_LASTING = ("TRANSLATION_UNIT", "NAMESPACE", "CLASS_DECL", "STRUCT_DECL")
# What is left of a use where the object is const.
_OF_CONST = {ESCAPE: KEEP, WRITE: READ}
# Functions of the standard library that write through a pointer or iterator and keep none.
WRITERS = {
    "memcpy", "memmove", "memset", "copy", "copy_n", "copy_if", "copy_backward", "fill", "fill_n", "iota", "sort", "reverse",
    "strncpy", "snprintf", "sprintf", "fread", "read", "transform", "generate", "generate_n", "replace", "replace_copy", "partial_sum",
    "stable_sort", "nth_element", "partial_sort", "rotate", "swap_ranges",
}  # fmt: skip
# Functions of the standard library that read through iterators, and give an iterator of them back or none.
_READERS = {
    "accumulate", "adjacent_find", "binary_search", "count", "distance", "equal", "find", "inner_product", "is_sorted",
    "lexicographical_compare", "lower_bound", "max_element", "min_element", "mismatch", "search", "upper_bound",
}  # fmt: skip
# Functions of the standard library whose result is a way to their first argument, and that do no more.
_PASS_ON = {
    "back_inserter", "begin", "cbegin", "cend", "crbegin", "crend", "data", "end", "front_inserter", "inserter", "next", "prev",
    "rbegin", "rend",
}  # fmt: skip
# Methods of a container of values that copy what their iterators point at, or take them as a place.
_TAKES_ITERATORS = {"append", "assign", "emplace", "erase", "insert", "replace"}
# Functions of ROS's packages that fill a message and keep no way to it, by their namespace.
_FILLERS = {
    "pcl": {"moveToROSMsg", "toROSMsg"},
    "pcl_conversions": {"fromPCL", "moveFromPCL"},
    "pcl_ros": {"transformPointCloud"},
    "sensor_msgs": {"clearImage", "convertPointCloud2ToPointCloud", "convertPointCloudToPointCloud2", "fillImage"},
    "tf": {
        "pointTFToMsg", "poseStampedTFToMsg", "poseTFToMsg", "quaternionTFToMsg", "transformStampedTFToMsg", "transformTFToMsg",
        "vector3TFToMsg",
    },
    "tf2": {"doTransform"},
}  # fmt: skip
_ACCESSORS = {"at", "back", "begin", "data", "end", "front", "rbegin", "rend"}
_C_LIBRARY = re.compile(r"/(?:bits/)?(?:string|strings|string_fortified|stdio2?|unistd)\.h$")
_ITERATOR = re.compile(r"__gnu_cxx::__normal_iterator<|std::(?:reverse|back_insert|insert|front_insert)_iterator<")
_COMPUTES = {
    b"+",
    b"-",
    b"*",
    b"/",
    b"%",
    b"<",
    b">",
    b"<=",
    b">=",
    b"==",
    b"!=",
    b"&",
    b"|",
    b"^",
    b"<<",
    b">>",
    b"<=>",
}
_ASSIGNS = re.compile(rb"^[\s)]*(=(?!=)|[-+*/%&|^]=|<<=|>>=)")


class Loop:
    """A loop or switch that is being walked; `node` is its statement, None for a switch."""

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.breaks: list[State | None] = []
        self.continues: list[State | None] = []
        self.entry: State | None = None  # of a switch


class Function:
    def __init__(self, types: Types, contents: bytes, report: FileReport, node: Node) -> None:
        self.node = node
        self.contents = contents
        self.types = types
        # A constructor's members, and what main finds, were not filled before.
        fresh = node.kind.name == "CONSTRUCTOR" or (node.kind.name == "FUNCTION_DECL" and node.spelling == "main")
        self.names = Names(types, contents, node.spelling, fresh)
        self.loops: list[Loop] = []
        self.returns: list[State | None] = []
        self.tries: list[State | None] = []
        self.lambdas = 0
        self.candidates = Candidates(self.names, node, contents)
        self.effects = Effects(self.names, contents, report, self.candidates)

    def run(self) -> None:
        state: State | None = State()
        for child in self.node.get_children():
            kind = child.kind.name
            if kind == "PARM_DECL":
                access = self.names.variable(child)
                if access is not None:
                    self.effects.message(access.root)
            elif kind in ("COMPOUND_STMT", "CXX_TRY_STMT"):
                state = self.statement(child, state)
            elif kind.endswith("_EXPR") and state is not None:  # the initialisers of a constructor
                self.visit(child, state, ESCAPE)
        for finding in self.candidates.findings():
            self.effects.add(finding)
        messages = self.effects.messages.values()
        self.effects.report.messages += sorted(messages, key=lambda message: (message.line, message.name))

    # Statements.

    def statement(self, node: Node, state: State | None) -> State | None:
        if state is None:
            return self._case_stmt(node, None) if node.kind.name in ("CASE_STMT", "DEFAULT_STMT") else None
        step = getattr(self, f"_{node.kind.name.lower()}", None)
        if step is not None:
            after: State | None = step(node, state)
        else:
            self.visit(node, state, READ)  # the value of an expression statement is dropped
            after = state
        if self.tries:
            self.tries[-1] = join(self.tries[-1], after)
        return after

    def _compound_stmt(self, node: Node, state: State) -> State | None:
        after: State | None = state
        statements = parts(node)
        advice.overwrites(self.effects, statements)
        for child in statements:
            after = self.statement(child, after)
        return after

    def _decl_stmt(self, node: Node, state: State) -> State:
        self.declare_all(node, state)
        for child in node.get_children():
            if child.kind.name == "VAR_DECL":
                self.candidates.declared(child, node, self.lambdas)
        return state

    def declare_all(self, node: Node, state: State) -> None:
        """The variables of a declaration, or of the head of an if, for or switch."""
        for child in [node] if node.kind.name == "VAR_DECL" else node.get_children():
            if child.kind.name == "VAR_DECL":
                self.declare(child, state)
            elif child.kind.name == "UNEXPOSED_DECL":  # a structured binding
                self.visit(child, state, ESCAPE)

    def _if_stmt(self, node: Node, state: State) -> State | None:
        inside = parts(node)
        while inside and inside[0].kind.name in ("DECL_STMT", "VAR_DECL"):
            self.declare_all(inside.pop(0), state)
        self.visit(inside[0], state, READ)
        other = state.copy()
        after = self.statement(inside[1], state)
        return join(after, self.statement(inside[2], other) if len(inside) > 2 else other)

    def _for_stmt(self, node: Node, state: State) -> State | None:
        *head, body = parts(node)
        if head and head[0].kind.name == "DECL_STMT":
            self.declare_all(head.pop(0), state)
        elif len(head) == 3:
            self.visit(head.pop(0), state, READ)
        endless = not head
        step = head.pop() if head and _steps(head[-1]) else None
        return self.turns(node, state, head[0] if head else None, body, step, endless)

    def _while_stmt(self, node: Node, state: State) -> State | None:
        *head, body = parts(node)
        if head and head[0].kind.name == "VAR_DECL":
            self.declare(head.pop(0), state)
        condition = head[0] if head else None
        return self.turns(node, state, condition, body, None, endless=_is_true(condition))

    def _do_stmt(self, node: Node, state: State) -> State | None:
        body, condition = parts(node)
        first = self.turns(node, state, None, body, condition, endless=False)
        return first

    def _cxx_for_range_stmt(self, node: Node, state: State) -> State | None:
        inside = parts(node)
        body, container = inside[-1], inside[-2]
        variable = next((child for child in inside if child.kind.name == "VAR_DECL"), None)
        if variable is None:  # a structured binding
            self.visit(container, state, ESCAPE)
            return self.turns(node, state, None, body, None, endless=False)
        reference = variable.type.kind.name in ("LVALUEREFERENCE", "RVALUEREFERENCE")
        const = variable.type.get_pointee().is_const_qualified() if reference else True
        access = self.names.resolve(container)
        if access is not None and reference:
            element = access.part(f"[each {variable.spelling}]", self.types.message(variable.type.get_pointee()))
            self.names.aliases[Names.key(variable)] = element
            self.visit(container, state, READ if const else WRITE)

            def begin(turn: State) -> None:
                turn.empty(element.path)

        else:
            value = const and (reference or is_value(variable.type, self.types))
            self.visit(container, state, READ if value else ESCAPE)

            def begin(turn: State) -> None:
                copied = self.names.variable(variable)
                if copied is not None:
                    turn.renew(copied.root.key)
                    turn.fill(copied.path, Origin(variable.location.line, "copied it"))

        return self.turns(node, state, None, body, None, endless=False, begin=begin)

    def turns(
        self,
        node: Node,
        state: State,
        condition: Node | None,
        body: Node,
        step: Node | None,
        endless: bool,
        begin: Any = None,
    ) -> State | None:
        """A loop: walked until a further turn adds nothing, so that a second turn sees what the first one did."""
        entry: State | None = state
        done: list[State | None] = []
        for _ in range(10):
            assert entry is not None
            loop = Loop(node)
            self.loops.append(loop)
            self.effects.loops.append(node)
            turn = entry.copy()
            if condition is not None:
                self.visit(condition, turn, READ)
            done = [] if endless else [turn.copy()]
            if begin is not None:
                begin(turn)
            end = join(self.statement(body, turn), *loop.continues)
            if step is not None and end is not None:
                self.visit(step, end, READ)
            self.loops.pop()
            self.effects.loops.pop()
            done += loop.breaks
            if node.kind.name == "DO_STMT":
                done = [end, *loop.breaks]
            again = join(entry, end)
            if again == entry:
                break
            entry = again
        return join(*done)

    def _switch_stmt(self, node: Node, state: State) -> State | None:
        *head, body = parts(node)
        for child in head:
            if child.kind.name in ("VAR_DECL", "DECL_STMT"):
                self.declare_all(child, state)
            else:
                self.visit(child, state, READ)
        switch = Loop(None)
        switch.entry = state.copy()
        self.loops.append(switch)
        after: State | None = None
        has_default = False
        for child in parts(body) if body.kind.name == "COMPOUND_STMT" else [body]:
            has_default |= _has_default(child)
            if child.kind.name in ("CASE_STMT", "DEFAULT_STMT"):
                after = self._label(child, join(after, switch.entry))
            else:
                after = self.statement(child, after)
        self.loops.pop()
        return join(after, *switch.breaks, *([] if has_default else [switch.entry]))

    def _label(self, node: Node, state: State | None) -> State | None:
        inside = parts(node)[-1]
        return (
            self._label(inside, state)
            if inside.kind.name in ("CASE_STMT", "DEFAULT_STMT")
            else self.statement(inside, state)
        )

    def _case_stmt(self, node: Node, state: State | None) -> State | None:
        switch = next((loop for loop in reversed(self.loops) if loop.node is None), None)
        return self._label(node, join(state, switch.entry if switch is not None else None))

    _default_stmt = _case_stmt

    def _label_stmt(self, node: Node, state: State) -> State | None:
        return self.statement(parts(node)[-1], state)

    def _break_stmt(self, node: Node, state: State) -> None:
        if self.loops:
            self.loops[-1].breaks.append(state)

    def _continue_stmt(self, node: Node, state: State) -> None:
        loop = next((loop for loop in reversed(self.loops) if loop.node is not None), None)
        if loop is not None:
            loop.continues.append(state)

    def _return_stmt(self, node: Node, state: State) -> None:
        for child in parts(node):
            self.visit(child, state, READ if is_number(child.type) else ESCAPE)
        self.returns.append(state)

    def _cxx_throw_expr(self, node: Node, state: State) -> None:
        for child in parts(node):
            self.visit(child, state, ESCAPE)

    def _cxx_try_stmt(self, node: Node, state: State) -> State | None:
        body, *handlers = parts(node)
        self.tries.append(state.copy())
        after = self.statement(body, state)
        thrown = self.tries.pop()
        ends = [after]
        for handler in handlers:
            assert thrown is not None
            ends.append(self.statement(parts(handler)[-1], thrown.copy()))
        return join(*ends)

    # Declarations.

    def declare(self, variable: Node, state: State) -> None:
        names = self.names
        inside = parts(variable)
        init = inside[-1] if inside else None
        line = variable.location.line
        key = Names.key(variable)
        reference = variable.type.kind.name in ("LVALUEREFERENCE", "RVALUEREFERENCE")
        for other in inside[:-1]:
            self.visit(other, state, ESCAPE)
        pointer = self.types.pointee(variable.type)
        if init is not None and (reference or pointer):
            target = names.resolve(init)
            static = variable.storage_class.name == "STATIC"
            constant = reference and variable.type.get_pointee().is_const_qualified()
            if target is not None and not static and names.made(init) is None:
                if target.root.made == "result" and (not reference or len(target.path) == 1):
                    self.visit(init, state, ESCAPE)
                    self._own(variable, "result", state, target.root.entry)
                    return
                names.aliases[key] = target
                self.visit(init, state, READ if reference else ESCAPE)
                return
            if reference and target is None and names.made(init) is None:
                self.visit(init, state, KEEP if constant else ESCAPE)
                if names.held(variable.type):
                    self._own(
                        variable,
                        "result",
                        state,
                        Origin(line, f"bound `{variable.spelling}` to something that may have contents"),
                    )
                return
        if init is not None:
            value = not pointer and not reference and is_value(variable.type, self.types)
            self.visit(init, state, READ if value else ESCAPE)
        if names.held(variable.type) is None:
            self._own_parts(variable, init, state)
            return
        made = names.made(init) if init is not None else ("none" if pointer else "stack", False)
        if made is None and variable.type.kind.name.endswith("ARRAY") and _is_empty(init):
            made = "stack", False
        if made is None:
            self._own(
                variable,
                "result" if pointer else "stack",
                state,
                Origin(line, f"set `{variable.spelling}` from something that may have contents"),
            )
        else:
            kind = "stack" if not pointer else made[0]
            self._own(
                variable,
                kind,
                state,
                Origin(line, f"copied another message into `{variable.spelling}`") if made[1] else None,
            )

    def _own(self, variable: Node, made: str, state: State, contents: Origin | None) -> None:
        """A variable with a message of its own; a static one keeps what an earlier call left."""
        type = self.names.held(variable.type)
        assert type is not None
        key = Names.key(variable)
        self.names.aliases.pop(key, None)
        line = variable.location.line
        if variable.storage_class.name == "STATIC":
            made = "static"
        entry = (
            Origin(0, f"an earlier call may have filled `{variable.spelling}`, which is static")
            if made == "static"
            else None
        )
        access = self.names.root(key, variable.spelling, made, line, type, entry, variable.location.offset)
        self.effects.message(access.root)
        if made != "static":
            state.renew(key)
            if contents is not None:
                state.fill(access.path, contents)

    def _own_parts(self, variable: Node, init: Node | None, state: State) -> None:
        """A local struct with messages inside, as `std_srvs::Empty call;`: its messages are new where it is."""
        if variable.storage_class.name == "STATIC":
            return
        key, line = Names.key(variable), variable.location.line
        contents = (
            None
            if _is_empty(init)
            else Origin(line, f"set `{variable.spelling}` from something that may have contents")
        )
        for chain, type in self.names.held_inside(variable.type):
            access = self.names.root(key + chain, variable.spelling + chain, "stack", line, type, None)
            state.renew(access.root.key)
            if contents is not None:
                state.fill(access.path, contents)

    # Expressions.

    def visit(self, node: Node, state: State, use: str) -> None:
        kind = node.kind.name
        step = getattr(self, f"_visit_{kind.lower()}", None)
        if step is not None:
            step(node, state, use)
        elif hasattr(self, f"_{kind.lower()}"):  # a statement within an expression
            _become(state, join(state, self.statement(node, state.copy())))
        else:
            # Assembler without operands, as of ROS_ASSERT, gets no message.
            harmless = kind == "NULL_STMT" or (kind == "ASM_STMT" and not parts(node))
            if kind.endswith(("_STMT", "_DIRECTIVE")) and not harmless:
                self.candidates.distrust(f"line {node.location.line} has a statement that is not followed")
            for child in parts(node):
                self.visit(child, state, ESCAPE)

    def _visit_decl_ref_expr(self, node: Node, state: State, use: str) -> None:
        named = node.referenced
        if named is not None and named.kind.name in ("VAR_DECL", "PARM_DECL"):
            access = self.names.variable(named)
            type = node.type.get_canonical()
            if type.is_const_qualified() and is_value(type, self.types):
                use = _OF_CONST.get(use, use)
            if access is not None:
                self.candidates.mentioned(access, node, state, use, self.lambdas)
            elif use in (ESCAPE, WRITE):
                for root in self.names.parts_of_holder(named):
                    given = f"gave `{named.spelling}` to something that may have filled it"
                    state.fill((root.key,), Origin(node.location.line, given))

    _visit_variable_ref = _visit_decl_ref_expr

    def _visit_array_subscript_expr(self, node: Node, state: State, use: str) -> None:
        array, index = parts(node)
        if not self._is_element(node, array, state, use):
            self.visit(array, state, use)
        self.visit(index, state, READ)

    def _is_element(self, node: Node, array: Node, state: State, use: str) -> bool:
        """An element of a local array of messages is used; the array is not mentioned as a whole."""
        mentions, access = self.candidates.mentions(array), self.names.resolve(node)
        if mentions is None or access is None or strip(array).kind.name != "DECL_REF_EXPR":
            return False
        mentions.elements[node.extent.start.offset] = node
        self.candidates.mentioned(access, node, state, use, self.lambdas)
        return True

    def _visit_member_ref_expr(self, node: Node, state: State, use: str) -> None:
        known = self.names.resolve(node) if self.names.held(node.type) and use in (ESCAPE, WRITE) else None
        if known is not None and self.names.holder(node) is not None and known.root.made == "stack":
            use = READ  # only this message of the struct is used
        for child in parts(node):
            self.visit(child, state, use)

    def _visit_paren_expr(self, node: Node, state: State, use: str) -> None:
        for child in parts(node):
            self.visit(child, state, use)

    def _visit_cast(self, node: Node, state: State, use: str) -> None:
        """A cast that may take away const, or that makes a number of a pointer, is not followed."""
        inside = parts(node)
        type = node.type.get_canonical()
        target = (
            type.get_pointee() if type.kind.name == "POINTER" else type
        )  # a reference has the type of its object here
        constructs = node.kind.name == "CXX_FUNCTIONAL_CAST_EXPR" and type.kind.name == "RECORD"
        if type.kind.name in ("POINTER", "RECORD") and not constructs and not target.is_const_qualified():
            if node.kind.name != "CXX_STATIC_CAST_EXPR":
                self.candidates.distrust(f"line {node.location.line} has a cast")
        for child in inside:
            hides = is_number(type) and not is_number(child.type)
            self.visit(child, state, ESCAPE if hides else use)

    _visit_cxx_static_cast_expr = _visit_cast
    _visit_cxx_const_cast_expr = _visit_cast
    _visit_cxx_reinterpret_cast_expr = _visit_cast
    _visit_cstyle_cast_expr = _visit_cast
    _visit_cxx_functional_cast_expr = _visit_cast

    def _visit_unexposed_expr(self, node: Node, state: State, use: str) -> None:
        inside = parts(node)
        type = node.type.get_canonical()
        pointee = type.get_pointee() if type.kind.name == "POINTER" else None
        if is_number(type):
            use = READ
        elif pointee is not None and pointee.is_const_qualified():
            use = _OF_CONST.get(use, use)
        elif type.is_const_qualified() and is_value(type, self.types):
            use = _OF_CONST.get(use, use)
        for child in inside:
            self.visit(child, state, use)

    def _visit_binary_operator(self, node: Node, state: State, use: str) -> None:
        left, right = (parts(node) + [None, None])[:2]
        if left is None or right is None:
            return
        between = self.contents[left.extent.end.offset : right.extent.start.offset]
        if between.strip(b" \t\r\n()") in (b"&&", b"||"):
            self.visit(left, state, READ)
            self._maybe(state, right, READ)
        elif _ASSIGNS.match(between) or node.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR":
            self.visit(right, state, READ if is_number(node.type) else ESCAPE)
            self.visit(left, state, ESCAPE if use == ESCAPE else WRITE)
            self._wrote(left, state)
            if self.types.pointee(left.type):
                self.effects.assigned(node, left, right, state)
        elif b"," in between:
            self.visit(left, state, READ)
            self.visit(right, state, use)
        else:
            computes = is_number(node.type) and between.strip(b" \t\r\n()") in _COMPUTES
            for child in (left, right):
                self.visit(child, state, READ if computes else use)

    _visit_compound_assignment_operator = _visit_binary_operator

    def _wrote(self, left: Node, state: State) -> None:
        target = strip(left)
        if target.kind.name == "DECL_REF_EXPR":
            state.forget_index(target.spelling)
        access = self.names.resolve(left)
        if access is not None and not self.types.pointee(left.type):
            self.effects.message(access.root).filled.add(left.location.line)

    def _visit_unary_operator(self, node: Node, state: State, use: str) -> None:
        inside = parts(node)
        if not inside:
            return
        text = self.contents[node.extent.start.offset : node.extent.end.offset].strip()
        if text.startswith((b"++", b"--")) or text.endswith((b"++", b"--")):
            self.visit(inside[0], state, ESCAPE if use == ESCAPE else WRITE)
            self._wrote(inside[0], state)
        else:
            self.visit(inside[0], state, use)

    def _visit_conditional_operator(self, node: Node, state: State, use: str) -> None:
        condition, left, right = parts(node)
        self.visit(condition, state, READ)
        other = state.copy()
        self.visit(left, state, use)
        self.visit(right, other, use)
        _become(state, join(state, other))

    def _maybe(self, state: State, node: Node, use: str) -> None:
        other = state.copy()
        self.visit(node, other, use)
        _become(state, join(state, other))

    def _visit_lambda_expr(self, node: Node, state: State, use: str) -> None:
        """Its body may run at any time from here on, any number of times; here it is walked twice."""
        loops, returns, tries, around = self.loops, self.returns, self.tries, self.effects.loops
        self.loops, self.tries, self.effects.loops = [], [], []
        self.lambdas += 1
        for child in node.get_children():
            if child.kind.name == "COMPOUND_STMT":
                for _ in range(2):
                    self.returns = []
                    after = self.statement(child, state.copy())
                    _become(state, join(state, after, *self.returns))
            elif child.kind.name == "PARM_DECL":
                self.names.variable(child)
            elif child.kind.name not in ("TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF"):
                self.visit(child, state, ESCAPE)
                captured = child.referenced if child.kind.name == "VARIABLE_REF" else None
                if captured is not None and captured.location.offset >= node.extent.start.offset:
                    for initialiser in parts(captured):  # [alias = message]
                        self.visit(initialiser, state, ESCAPE)
        self.lambdas -= 1
        self.loops, self.returns, self.tries, self.effects.loops = loops, returns, tries, around

    def _visit_call_expr(self, node: Node, state: State, use: str) -> None:
        name = node.spelling
        arguments = list(node.get_arguments())
        base = method_base(node)
        called = node.referenced
        constructs = called is not None and called.kind.name == "CONSTRUCTOR"
        if name == "operator=" and len(arguments) == 2:
            self.visit(arguments[1], state, self._copied(arguments[1], arguments[0].type))
            self.visit(arguments[0], state, ESCAPE if use == ESCAPE else WRITE)
            self.effects.assigned(node, arguments[0], arguments[1], state)
            return
        if name == "operator[]" and arguments and self._is_element(node, arguments[0], state, use):
            self.visit(arguments[1], state, READ)
            return
        if base is not None and name == "size" and (mentions := self.candidates.mentions(base)) is not None:
            mentions.sizes.add(base.extent.start.offset)
            return
        if base is None and name.startswith("operator") and arguments:
            changes = name in ("operator++", "operator--", "operator+=")
            passes_on = name in ("operator[]", "operator*", "operator->")
            moves = name in ("operator+", "operator-") and _is_standard(called) and _is_iterator(arguments[0])
            value = is_value(arguments[0].type, self.types)
            for argument in arguments:
                looks = _is_standard(called) and is_const_for_function(argument) and is_value(argument.type, self.types)
                given = READ if looks and not passes_on else ESCAPE
                if moves and _is_iterator(argument):
                    given = READ if is_number(node.type) else use
                elif argument is arguments[0]:
                    given = WRITE if changes and value and use != ESCAPE else use if passes_on else given
                self.visit(argument, state, given)
            if changes:
                self._wrote(arguments[0], state)
                self.effects.modified(node, name, arguments[0], arguments[1:], state)
            return
        writer = name in WRITERS and _is_standard(called) and not self._give_elements(arguments)
        fills = base is None and name in _FILLERS.get(_namespace(called), ())
        publishes = name == "publish" and base is not None
        if base is not None:
            self.visit(base, state, self._of_base(node, base, use))
        elif not constructs:
            for child in parts(node)[: -len(arguments) or None]:
                if child.kind.name not in ("UNEXPOSED_EXPR", "DECL_REF_EXPR", "MEMBER_REF_EXPR"):
                    self.visit(child, state, ESCAPE)
        through = self._through_iterators(node, base, use)
        gives_value = _gives_value(called, self.types)
        others = [base, *arguments] if base is not None else arguments
        for argument in arguments:
            given = ESCAPE
            if through and (_is_iterator(argument) or through != READ):
                given = through
            elif constructs and _is_iterator(node) and _is_iterator(argument):  # of an iterator, one to const
                given = use
            elif constructs:
                given = self._copied(argument, node.type)
            elif gives_value and is_const_for_function(argument):
                if publishes or (_is_standard(called) and is_value(argument.type, self.types)):
                    given = READ
                else:
                    given = KEEP if any(self._ends_here(other) for other in others if other is not argument) else LOOK
            if fills and self.types.message(argument.type):
                given = READ if is_const_for_function(argument) else WRITE
            self.visit(argument, state, WRITE if writer and use != ESCAPE else given)
        copies.subscribed(self.effects, node, arguments)
        copies.copied(self.effects, node)
        if base is not None:
            copies.kept(self.effects, node, name, base, arguments)
            self.effects.modified(node, name, base, arguments, state)
        if publishes:
            self.effects.published(node, arguments, state)
        elif not constructs and not _is_standard(called) and self.names.made(node) is None:
            self.effects.passed(node, name, arguments, state)
        if writer:
            for argument in arguments:
                target = self.effects.interior(argument)
                if target is not None and not is_const_for_function(argument):
                    self.effects.message(target.root).filled.add(node.location.line)

    def _of_base(self, node: Node, base: Node, use: str) -> str:
        """The use that a method makes of its object."""
        if not is_value(base.type, self.types):
            return ESCAPE
        if node.spelling in _ACCESSORS:
            return use
        if use in (READ, WRITE) or is_number(node.type) or node.type.kind.name == "VOID":
            return WRITE
        return use if use in (LOOK, KEEP) and is_const_for_function(base) else ESCAPE

    def _through_iterators(self, node: Node, base: Node | None, use: str) -> str:
        """The use that a function of the standard library makes of what its iterators point at, where it keeps none: it is at an end with
        them, or its result is one of them, and `use` says for what. "" for every other function."""
        name = node.spelling
        if not _is_standard(node.referenced):
            return ""
        if base is None and name in _PASS_ON:
            return use if is_value(_of_reference(next(node.get_arguments(), node).type), self.types) else ""
        if use not in (READ, WRITE):
            return ""
        if base is None:
            return use if name in _READERS and not self._give_elements(list(node.get_arguments())) else ""
        element = base.type.get_canonical().get_template_argument_type(0)
        copies_elements = (is_string(base.type) or is_vector(base.type)) and is_value(element, self.types)
        return READ if name in _TAKES_ITERATORS and copies_elements else ""

    def _give_elements(self, arguments: list[Node]) -> bool:
        """Is one of the arguments of an algorithm a function that might keep a pointer to an element that it gets?"""
        return any(self._gets_elements(strip(argument)) for argument in arguments)

    def _gets_elements(self, node: Node) -> bool:
        type = node.type.get_canonical()
        named = node.referenced if node.kind.name in ("DECL_REF_EXPR", "UNARY_OPERATOR") else None
        if node.kind.name == "UNARY_OPERATOR" and type.get_pointee().kind.name == "FUNCTIONPROTO":
            return self._gets_elements(strip(parts(node)[0]))
        if named is not None and named.kind.name == "VAR_DECL" and (inside := parts(named)):
            if strip(inside[-1]).kind.name == "LAMBDA_EXPR":
                return self._gets_elements(strip(inside[-1]))
        if node.kind.name != "LAMBDA_EXPR" and (named is None or named.kind.name != "FUNCTION_DECL"):
            return type.kind.name == "RECORD" and not (
                is_value(type, self.types) or type.spelling.startswith("std::") or _is_iterator(node)
            )
        parameters = [child for child in (named or node).get_children() if child.kind.name == "PARM_DECL"]
        return any(
            parameter.type.get_canonical().kind.name in _REFERENCES
            and (self.types.of_ros2 or not parameter.type.get_canonical().get_pointee().is_const_qualified())
            for parameter in parameters
        )

    def _ends_here(self, node: Node) -> bool:
        """Does the expression name an object of this function, whose destructor may look at what the object got?"""
        named = node.referenced if node.kind.name == "DECL_REF_EXPR" else None
        if named is not None and named.kind.name in ("VAR_DECL", "PARM_DECL"):
            type = named.type.get_canonical()
            local = named.semantic_parent is not None and named.semantic_parent.kind.name not in _LASTING
            if local and type.kind.name == "RECORD" and not is_value(type, self.types):
                return True
        return any(self._ends_here(child) for child in parts(node))

    def _copied(self, from_: Node, type: Any) -> str:
        """The use of an argument of which an object of this type is made, or that is assigned to one."""
        if is_value(type, self.types) and is_const_for_function(from_) and is_value(from_.type, self.types):
            return READ
        return ESCAPE


def _is_empty(init: Node | None) -> bool:
    """Is it no initialiser, `{}`, `T()` or `T{}`?"""
    if init is None:
        return True
    node = strip(init)
    if node.kind.name == "INIT_LIST_EXPR":
        return not parts(node)
    if node.kind.name != "CALL_EXPR" or (node.referenced is not None and node.referenced.kind.name != "CONSTRUCTOR"):
        return False
    arguments = list(node.get_arguments())
    return not arguments or (
        len(arguments) == 1 and strip(arguments[0]).kind.name == "CALL_EXPR" and _is_empty(arguments[0])
    )


def _is_iterator(node: Node) -> bool:
    text = unqualified(node.type.get_canonical().spelling)
    return _ITERATOR.match(text) is not None or (node.type.get_canonical().kind.name == "POINTER")


def _of_reference(type: Any) -> Any:
    return type.get_pointee() if type.kind.name in _REFERENCES else type


def _become(state: State, other: State | None) -> None:
    if other is not None:
        state.become(other)


def _steps(node: Node) -> bool:
    """Is it the step of a for: i++, ++i, i += n, it = next(it)?"""
    kind = strip(node).kind.name
    return (
        not is_number(node.type)
        or node.type.get_canonical().kind.name != "BOOL"
        or kind == "COMPOUND_ASSIGNMENT_OPERATOR"
    )


def _is_true(node: Node | None) -> bool:
    return node is not None and [token.spelling for token in node.get_tokens()] in (["true"], ["1"])


def _has_default(node: Node) -> bool:
    return node.kind.name == "DEFAULT_STMT" or (node.kind.name == "CASE_STMT" and _has_default(parts(node)[-1]))


def _gives_value(called: Any, types: Types) -> bool:
    """Is what the function returns no way to its arguments?"""
    if called is None or called.kind.name not in ("FUNCTION_DECL", "CXX_METHOD", "CONVERSION_FUNCTION"):
        return False
    type = called.result_type.get_canonical()
    return type.kind.name == "VOID" or (type.kind.name not in _REFERENCES and is_value(type, types))


def _namespace(called: Any) -> str:
    """Of a function: the name of its namespace, if that is in no other one."""
    parent = called.semantic_parent if called is not None else None
    if parent is None or parent.kind.name != "NAMESPACE" or parent.semantic_parent.kind.name != "TRANSLATION_UNIT":
        return ""
    return str(parent.spelling)


def _is_standard(called: Any) -> bool:
    """Of the C or C++ library."""
    if called is None:
        return False
    parent = called.semantic_parent
    while parent is not None and parent.kind.name in ("CLASS_DECL", "STRUCT_DECL", "LINKAGE_SPEC", "CLASS_TEMPLATE"):
        parent = parent.semantic_parent
    if parent is not None and parent.kind.name == "NAMESPACE":
        while parent.semantic_parent is not None and parent.semantic_parent.kind.name == "NAMESPACE":
            parent = parent.semantic_parent
        return parent.spelling in ("std", "__gnu_cxx")
    file = called.location.file
    return file is not None and _C_LIBRARY.search(file.name) is not None
