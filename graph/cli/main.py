"""The command `longthread`."""

import os
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword

from longthread.graph.cli.parse import parser
from longthread.graph.cli.traces import traces_sent

COMMANDS = {
    "run": "longthread.graph.cli.work",
    "resume": "longthread.graph.cli.work",
    "compact": "longthread.graph.cli.work",
    "chat": "longthread.graph.cli.chat",
    "threads": "longthread.graph.cli.stored",
    "show": "longthread.graph.cli.stored",
    "fork": "longthread.graph.cli.kept",
    "export": "longthread.graph.cli.kept",
    "import": "longthread.graph.cli.kept",
    "prune": "longthread.graph.cli.kept",
    "delete": "longthread.graph.cli.kept",
    "demo": "longthread.graph.demo.run",
}
"""Where each command lives; loaded when it is asked for, so that `--help` is quick."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code (see `longthread --help`)."""
    try:
        with warnings.catch_warnings():
            _shorten_warnings()
            return _dispatch(argv)
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise  # argparse, after --help and --version
        return _failed(error)


def _dispatch(argv: Sequence[str] | None) -> int:
    grammar = parser()
    given = grammar.parse_args(argv)
    if given.command is None:
        grammar.print_help()
        return 0
    name = f"{given.command}_" if iskeyword(given.command) else given.command
    command: Callable[[Namespace], int] = getattr(import_module(COMMANDS[given.command]), name)
    with traces_sent():
        return command(given)


def _failed(error: BaseException) -> int:
    from longthread.graph.cli.faults import Circumstances, debugging, explained

    line, code = explained(error, Circumstances())
    if debugging():
        traceback.print_exception(error)
    if line:
        print(f"longthread: {line}", file=sys.stderr)
    return code


def _shorten_warnings() -> None:
    """Warnings meant for users take one line; the others are for developers."""

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        if category is UserWarning or os.environ.get("LONGTHREAD_DEBUG"):
            print(f"longthread: warning: {message}", file=sys.stderr)

    warnings.showwarning = show  # type: ignore[assignment]  # the documented way to replace it
