"""Exceptions from outside, thrown at any step of a verb where CPython lets them in.

A signal handler that raises, a task queue's time limit and `PyThreadState_SetAsyncExc` are seen by
the interpreter at calls, at the start of a function and at jumps backwards. `Interrupter` counts
those steps in this library (and in the few modules of the standard library that it calls for locks
and contexts) and raises at a chosen one: so every place can be tried, and each again.
"""

from __future__ import annotations

import contextlib
import dis
import queue
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hbase_orm

_ROOTS = (str(Path(hbase_orm.__file__).parent),)
_MODULES = frozenset(module.__file__ for module in (contextlib, queue, socket, threading))
# Where the interpreter looks for what came from outside, once the instruction has been carried out.
_LOOKS = frozenset(
    dis.opmap[name]
    for name in dis.opmap
    if name.startswith(("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD"))
)


class Interrupted(BaseException):
    """What Ctrl-C or a test's time limit raises: no `Exception`."""


class TimeLimit(Exception):  # noqa: N818  # named for what task queues call it
    """What a task queue's soft time limit raises: an `Exception` like any other."""


class Interrupter:
    """Raises at the n-th step at which an exception from outside may come; counts them all.

    Attributes:
        steps: How many steps there were.
        where: The step it raised at: file, line, function and instruction.
    """

    def __init__(self, at: int = 0, kind: type[BaseException] = Interrupted) -> None:
        self.steps = 0
        self.where = ""
        self._at = at
        self._kind = kind

    def __repr__(self) -> str:
        return f"step {self._at} at {self.where}"

    def run(self, act: Callable[[], Any]) -> Any:
        """Run `act` in this thread; what interrupts it is raised."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            return act()
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        name = frame.f_code.co_filename
        if name not in _MODULES and not name.startswith(_ROOTS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._steps_of(frame.f_code)

    def _steps_of(self, code: CodeType) -> Any:
        last = -1

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            del argument
            if event == "opcode":
                looks = last >= 0 and code.co_code[last] in _LOOKS
                last = frame.f_lasti
                if looks:
                    self._step(frame)
            return step

        return step

    def _step(self, frame: FrameType) -> None:
        self.steps += 1
        if self.steps == self._at:
            code = frame.f_code
            instruction = dis.opname[code.co_code[frame.f_lasti]]
            self.where = (
                f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname} {instruction}"
            )
            sys.settrace(None)
            raise self._kind
