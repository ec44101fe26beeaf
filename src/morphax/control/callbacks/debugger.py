"""The prompt of a breakpoint: look at frames and variables of a program that waits."""

from __future__ import annotations

import cmd
import pprint
import sys
from collections.abc import Sequence
from typing import IO, Any, final

from .stack_frames import StackFrame


@final
class Debugger(cmd.Cmd):
    """Reads commands until one of them leaves.

    Args:
        frames: innermost first.
        stdin: where commands come from, `sys.stdin` if left out.
        stdout: where answers go, `sys.stdout` if left out.

    What is no command is evaluated as an expression.
    """

    prompt = "(jdb) "

    def __init__(
        self,
        frames: Sequence[StackFrame],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        # Editing of lines is for terminals only.
        self.use_rawinput = stdin is None and stdout is None and sys.stdin.isatty()
        self._frames = frames
        self._position = 0

    def run(self) -> None:
        """Talk to the user until the program may go on."""
        self._say("Entering jdb:")
        self.cmdloop()

    def _say(self, text: str) -> None:
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def _evaluate(self, expression: str) -> tuple[bool, Any]:
        frame = self._frames[self._position] if self._frames else None
        names = {} if frame is None else {**frame.module, **frame.variables}
        try:
            return True, eval(expression, names)
        except Exception as error:
            self._say(f"*** {type(error).__name__}: {error}")
            return False, None

    def default(self, line: str) -> None:
        self.do_p(line)

    def emptyline(self) -> bool:
        return False

    def do_p(self, arg: str) -> None:
        """p expression: print its value."""
        known, value = self._evaluate(arg)
        if known:
            self._say(repr(value))

    def do_pp(self, arg: str) -> None:
        """pp expression: print its value over several lines."""
        known, value = self._evaluate(arg)
        if known:
            self._say(pprint.pformat(value))

    def do_list(self, arg: str) -> None:
        """l(ist): show the source around the line of this frame."""
        if not self._frames:
            return self._say("There are no frames.")
        frame = self._frames[self._position]
        self._say(f"> {frame.file}({frame.line})")
        for number, line in frame.lines:
            self._say(("->  " if number == frame.line else "    ") + line)

    def do_where(self, arg: str) -> None:
        """w(here), bt: show all frames, the innermost last."""
        self._say("Traceback:")
        for frame in reversed(self._frames):
            self._say(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
            self._say(f"    {frame.source}")

    def do_up(self, arg: str) -> None:
        """u(p): go to the frame that called this one."""
        if self._position + 1 < len(self._frames):
            self._position += 1
        else:
            self._say("At topmost frame.")
        self.do_list("")

    def do_down(self, arg: str) -> None:
        """d(own): go to the frame that this one called."""
        if self._position > 0:
            self._position -= 1
        else:
            self._say("At bottommost frame.")
        self.do_list("")

    def do_continue(self, arg: str) -> bool:
        """c(ont(inue)): let the program go on."""
        return True

    def do_quit(self, arg: str) -> bool:
        """q(uit), exit, end of input: end the program."""
        raise SystemExit(0)

    do_l = do_list
    do_w = do_bt = do_where
    do_u, do_d = do_up, do_down
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit
