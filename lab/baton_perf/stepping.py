# SPDX-License-Identifier: Apache-2.0
"""Single-steps one thread of another process, and notes each cache line that its instructions read, write or lie in (ptrace(2)). Each
instruction is decoded by Capstone, whose operands and the registers give the addresses. x86-64 alone."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

LINE, PAGE = 64, 4096
_SINGLESTEP, _CONT, _SYSCALL, _GETREGS, _SETREGS, _GETREGSET, _SEIZE, _INTERRUPT, _DETACH = (
    9,
    7,
    24,
    12,
    13,
    0x4204,
    0x4206,
    0x4207,
    17,
)
_SYSGOOD = 1  # PTRACE_O_TRACESYSGOOD: stops at system calls are SIGTRAP | 0x80
_EXITKILL = 0x100000  # PTRACE_O_EXITKILL: a program with a breakpoint in it does not outlive this process
_XSTATE = 0x202  # NT_X86_XSTATE
_WALL = 0x40000000
_NO_CALL = 2**64 - 1  # orig_rax outside of a system call
_CALL_BYTES = 2  # of the instruction syscall
_AT_ENTRY = 9
_PATIENCE_S = 30
_BACKWARDS = 0x400  # the direction flag


class _Registers(ctypes.Structure):
    """user_regs_struct of <sys/user.h>."""

    _fields_ = [
        (name, ctypes.c_ulonglong)
        for name in (
            "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs"
        ).split()
    ]


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class CannotStep(Exception):
    """Says why, and the way out."""


class Ended(CannotStep):
    """The process has ended. It is not reaped: the Popen object that started it gets its status as ever."""

    def __init__(self, message: str, by: int = 0) -> None:
        super().__init__(message)
        self.signal = by  # 0: it has exited


def check() -> None:
    """Raises CannotStep where this machine cannot."""
    if platform.machine() != "x86_64":
        raise CannotStep(f"instructions of {platform.machine()} are not decoded: this needs x86-64")
    try:
        import capstone  # noqa: F401
    except ImportError as problem:
        raise CannotStep("the Python package capstone is missing: pip install capstone") from problem


@dataclass
class Touched:
    """The cache lines that one window has touched, as numbers (address / 64) of code and of data, each with an address or instruction."""

    code: dict[int, int] = field(default_factory=dict)  # line -> the first address that was executed in it
    data: dict[int, int] = field(default_factory=dict)  # line -> the first address that was read or written
    first_by: dict[int, int] = field(default_factory=dict)  # line -> the instruction that did so
    instruction: int = 0  # the present one's address
    instructions: int = 0
    system_calls: list[int] = field(default_factory=list)

    def lines(self) -> set[int]:
        return {*self.code, *self.data}

    def pages(self) -> set[int]:
        return {line * LINE // PAGE for line in self.lines()}

    def note(self, address: int, size: int) -> None:
        for line in range(address // LINE, (address + max(size, 1) - 1) // LINE + 1):
            self.data.setdefault(line, address)
            self.first_by.setdefault(line, self.instruction)


Operand = Callable[[_Registers], tuple[int, int]]  # -> address and size


@dataclass(frozen=True)
class _Instruction:
    size: int
    operands: list[Operand]  # in memory
    is_call: bool  # of the system
    counter: int = 0  # of a string instruction that is repeated: the bits of rcx that count


class Thread:
    """A process's first thread, stopped and stepped by this one. A context: at its end the thread goes on by itself. If this process
    is killed, the other dies too."""

    def __init__(self, pid: int) -> None:
        import capstone

        self.pid = pid
        self.registers = _Registers()
        self._memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self._decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._decoder.detail = True
        self._decoded: dict[int, _Instruction] = {}
        self._x86 = capstone.x86
        self._stops = 0
        auxiliary = Path(f"/proc/{pid}/auxv").read_bytes()  # empty of a process that has ended
        self._entry = dict(struct.iter_unpack("QQ", auxiliary)).get(_AT_ENTRY, 0)

    def __enter__(self) -> Thread:
        self._ptrace(_SEIZE, 0, _SYSGOOD | _EXITKILL)
        self._ptrace(_INTERRUPT, 0, 0)
        self._wait()
        # Some calls end with EINTR even when no signal is delivered (signal(7), "by stop signals"). The program, which may take this for
        # its end, makes the call again instead.
        if self.registers.orig_rax != _NO_CALL and ctypes.c_longlong(self.registers.rax).value == -errno.EINTR:
            self.registers.rax, self.registers.orig_rax = self.registers.orig_rax, _NO_CALL
            self._jump(self.registers.rip - _CALL_BYTES)
        return self

    def __exit__(self, *_: object) -> None:
        _libc.ptrace(_DETACH, self.pid, None, None)
        os.close(self._memory)

    def _ptrace(self, request: int, address: int, data: object) -> None:
        if _libc.ptrace(request, self.pid, address, data) < 0:
            error = ctypes.get_errno()
            if error == errno.ESRCH and request != _SEIZE:  # it was killed while it was stopped
                raise self._ended(os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | _WALL))
            raise CannotStep(
                f"ptrace of process {self.pid}: {os.strerror(error)} (ptrace(2), kernel.yama.ptrace_scope)"
            )

    def _ended(self, found: os.waitid_result) -> Ended:
        if found.si_code == os.CLD_EXITED:
            return Ended(f"process {self.pid} has ended with status {found.si_status}")
        name = next((each.name for each in signal.Signals if each == found.si_status), f"signal {found.si_status}")
        return Ended(f"process {self.pid} was ended by {name}", found.si_status)

    def _wait(self) -> int:
        """Until it stops; the signal, with 0x80 at a system call, and above these eight bits the event."""
        while True:
            # WNOWAIT leaves the end to the Popen object: the kernel reports an end once, and Popen takes a missing report for status 0.
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT | _WALL)
            if found.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
                raise self._ended(found)
            found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | _WALL)
            if found is not None:  # else it was killed just now
                break
        self._stops += 1
        self._ptrace(_GETREGS, 0, ctypes.addressof(self.registers))
        return found.si_status

    def _go(self, request: int) -> int:
        """Goes on until the next stop that is this tracer's; signals for the program are handed on."""
        self._ptrace(request, 0, 0)
        while True:
            got = self._wait()
            if got in (signal.SIGTRAP, signal.SIGTRAP | 0x80):
                return got
            self._ptrace(request, 0, got if got != signal.SIGSTOP and not got >> 8 else 0)

    def _jump(self, address: int) -> None:
        self.registers.rip = address
        self._ptrace(_SETREGS, 0, ctypes.addressof(self.registers))

    def run_to(self, address: int) -> None:
        """Runs at full speed to this instruction. Another thread that comes there ends the process."""
        before = os.pread(self._memory, 1, address)
        os.pwrite(self._memory, b"\xcc", address)
        try:
            self._go(_CONT)
        except Ended as end:
            if end.signal == signal.SIGTRAP:
                raise CannotStep(
                    f"another thread came to the breakpoint at {address:#x}, which is for the first one of process {self.pid}: the process has died of it"
                ) from end
            raise
        finally:
            os.pwrite(self._memory, before, address)
        if self.registers.rip != address + 1:
            raise CannotStep(f"process {self.pid} has stopped at {self.registers.rip:#x} by itself (SIGTRAP)")
        self._jump(address)

    def _sleeps(self) -> int:
        """How often it has slept, as the kernel counts: it left its CPU because it had to wait (also for a lock inside the kernel, which is
        rare). Being preempted does not count, however long it takes, nor does a call's own work. A stop for the tracer is such a switch too,
        exactly one, and is taken off. It has been counted once _wait() has the registers: ptrace(2) waits until the thread has left its CPU."""
        status = Path(f"/proc/{self.pid}/task/{self.pid}/status").read_bytes()
        return int(status.rsplit(b"\nvoluntary_ctxt_switches:", 1)[1].split(maxsplit=1)[0]) - self._stops

    def run_to_end_of_a_wait(self) -> None:
        """Runs at full speed to the end of a system call in which it has waited."""
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            if self._go(_SYSCALL) != signal.SIGTRAP | 0x80:
                continue
            before = self._sleeps()
            self._go(_SYSCALL)
            if self._sleeps() > before:
                return
        raise CannotStep(f"process {self.pid} does not sleep")

    def step(self, touched: Touched | None) -> bool:
        """One instruction; notes it. True: it was a system call that has waited."""
        registers = self.registers
        if registers.rip not in self._decoded:
            self._decoded[registers.rip] = self._decode(registers.rip)
        instruction = self._decoded[registers.rip]
        if touched is not None:
            touched.instructions += 1
            touched.instruction = registers.rip
            for line in range(registers.rip // LINE, (registers.rip + instruction.size - 1) // LINE + 1):
                touched.code.setdefault(line, registers.rip)
            if instruction.is_call:
                touched.system_calls.append(registers.rax)
        if instruction.counter:
            self._repeat(instruction, touched)
            return False
        if touched is not None:
            for operand in instruction.operands:
                touched.note(*operand(registers))
        before = self._sleeps() if instruction.is_call else 0
        self._go(_SINGLESTEP)
        return instruction.is_call and self._sleeps() > before

    def _repeat(self, instruction: _Instruction, touched: Touched | None) -> None:
        """All iterations of a repeated string instruction, as one. Stepped, it would stop after each. So a copy runs at full speed up to a
        breakpoint, where no other thread can come: at the program's entry, which has been run once and for all."""
        registers = self.registers
        here, count, backwards = registers.rip, registers.rcx & instruction.counter, registers.eflags & _BACKWARDS
        if not count:
            self._go(_SINGLESTEP)
            return
        firsts = [operand(registers) for operand in instruction.operands]
        before = os.pread(self._memory, instruction.size, self._entry)
        os.pwrite(self._memory, os.pread(self._memory, instruction.size, here), self._entry)
        try:
            self._jump(self._entry)
            self.run_to(self._entry + instruction.size)
        finally:
            os.pwrite(self._memory, before, self._entry)
        self._jump(here + instruction.size)
        if touched is not None:
            count -= registers.rcx & instruction.counter  # a comparison may have ended it
            for address, size in firsts:
                touched.note(address - (count - 1) * size if backwards else address, count * size)

    def _decode(self, address: int) -> _Instruction:
        x86 = self._x86
        code = os.pread(self._memory, 15, address)
        if not code:  # no memory: it was killed, which this says
            self._ptrace(_GETREGS, 0, ctypes.addressof(self.registers))
        instruction = next(self._decoder.disasm(code, address, 1), None)
        if instruction is None:
            raise CannotStep(f"the instruction {code.hex()} is not known to Capstone")
        name = instruction.mnemonic.split()[-1]  # without prefixes
        if name in _NOT_COUNTED or (
            name in _BITS and [each.type for each in instruction.operands] == [x86.X86_OP_MEM, x86.X86_OP_REG]
        ):
            raise _unknown(instruction)
        operands: list[Operand] = []
        after = address + instruction.size
        idle = (x86.X86_INS_LEA, x86.X86_INS_NOP, x86.X86_INS_ENDBR64)
        if instruction.id not in idle:
            for operand in instruction.operands:
                if operand.type == x86.X86_OP_MEM:
                    operands.append(self._address_of(instruction, operand, after, _SIZES.get(name, operand.size)))
            if name in _STATES:
                operands = [self._state(name, operands[0])]
            elif name in _IMPLIED:
                operands.append(_IMPLIED[name])
            elif instruction.id == x86.X86_INS_ENTER and instruction.operands[1].imm != 0:
                raise _unknown(instruction)  # it copies frame pointers
            elif (
                instruction.id in (x86.X86_INS_PUSH, x86.X86_INS_PUSHFQ, x86.X86_INS_ENTER)
                or x86.X86_GRP_CALL in instruction.groups
            ):
                operands.append(lambda registers: (registers.rsp - 8, 8))
            elif instruction.id in (x86.X86_INS_POP, x86.X86_INS_POPFQ) or x86.X86_GRP_RET in instruction.groups:
                operands.append(lambda registers: (registers.rsp, 8))
        repeated = instruction.prefix[0] in (0xF2, 0xF3) and instruction.opcode[0] in _STRINGS
        counter = (1 << 8 * instruction.addr_size) - 1 if repeated else 0
        return _Instruction(instruction.size, operands, instruction.id == x86.X86_INS_SYSCALL, counter)

    def _address_of(self, instruction, operand, after: int, size: int) -> Operand:
        memory = operand.mem
        segment = {self._x86.X86_REG_FS: "fs_base", self._x86.X86_REG_GS: "gs_base"}.get(memory.segment, "")
        names = [instruction.reg_name(register) or "" for register in (memory.base, memory.index)]
        base, index = ("" if name in ("riz", "eiz") else _WHOLE.get(name, name) for name in names)
        if base not in _GENERAL or index not in _GENERAL:
            raise _unknown(instruction)  # the index is a vector: a gather or scatter
        mask = (1 << 8 * instruction.addr_size) - 1
        scale, displacement = memory.scale, memory.disp

        def address(registers: _Registers) -> tuple[int, int]:
            at = displacement
            if base:
                at += after if base == "rip" else getattr(registers, base)
            if index:
                at += getattr(registers, index) * scale
            at &= mask
            if segment:
                at += getattr(registers, segment)
            return at & 0xFFFFFFFFFFFFFFFF, size

        return address

    def _state(self, name: str, where: Operand) -> Operand:
        """Of XSAVE and its kin. What they touch depends on the parts asked for (edx:eax), and but for XSAVE itself on those in use. The
        parts behind AVX lie where the CPU says; with one of these it is the whole area, which is the most that it can be."""

        def operand(registers: _Registers) -> tuple[int, int]:
            address, _ = where(registers)
            area = self._extended_state()
            enabled, in_use = (int.from_bytes(area[at : at + 8], "little") for at in (464, 512))
            parts = ((registers.rdx & 0xFFFFFFFF) << 32 | registers.rax & 0xFFFFFFFF) & enabled
            if name.startswith("xrstor"):
                parts &= int.from_bytes(os.pread(self._memory, 8, address + 512), "little")
            elif name.removesuffix("64") != "xsave":
                parts &= in_use
            size = 512 + 64  # x87 and SSE, and the header
            if parts >> 2:
                size = size + 256 if parts >> 2 == 1 else len(area)
            return address, size

        return operand

    def _extended_state(self) -> bytes:
        """As XSAVE writes it, with the enabled parts in byte 464."""
        area = ctypes.create_string_buffer(1 << 16)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(area), len(area))  # struct iovec
        self._ptrace(_GETREGSET, _XSTATE, ctypes.addressof(vector))
        return area.raw[: vector[1]]


def _unknown(instruction) -> CannotStep:
    return CannotStep(
        f"it is not known what the instruction {instruction.mnemonic} {instruction.op_str} at {instruction.address:#x} touches"
    )


_GENERAL = {"", "rip", *"rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split()}
# Parts of registers, which addresses of 32 bits are made of (prefix 0x67).
_WHOLE = {f"e{name}": f"r{name}" for name in "ax bx cx dx si di bp sp ip".split()} | {
    f"r{number}d": f"r{number}" for number in range(8, 16)
}
_STRINGS = {0xA4, 0xA5, 0xA6, 0xA7, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xAF}  # opcodes of movs, cmps, stos, lods and scas

# What Capstone does not say, or says wrongly (it gives 4 or 8 bytes for the first):
_SIZES = {"fxsave": 512, "fxsave64": 512, "fxrstor": 512, "fxrstor64": 512, "fnsave": 108, "frstor": 108}
_STATES = {
    name + size for name in "xsave xsavec xsaveopt xsaves xrstor xrstors".split() for size in ("", "64")
}  # _state()
_IMPLIED: dict[str, Operand] = {  # memory that is no operand
    "leave": lambda registers: (registers.rbp, 8),
    "xlatb": lambda registers: ((registers.rbx + (registers.rax & 0xFF)) & 0xFFFFFFFFFFFFFFFF, 1),
    "maskmovq": lambda registers: (registers.rdi, 8),
    "maskmovdqu": lambda registers: (registers.rdi, 16),
    "vmaskmovdqu": lambda registers: (registers.rdi, 16),
    "clzero": lambda registers: (registers.rax // LINE * LINE, LINE),
}
# These have an address in a register that is no operand in memory.
_NOT_COUNTED = {"movdir64b", "enqcmd", "enqcmds", "monitorx", "umonitor"}
_BITS = {"bt", "bts", "btr", "btc"}  # in memory, with the number of the bit in a register: that may be anywhere
