"""The command line's grammar. Nothing heavy is imported here, so that `--help` and mistakes answer at once."""

import argparse
from importlib.metadata import version
from typing import NoReturn

from longthread.tools.errors import LongthreadError
from longthread.tools.text import clean

EXIT_CODES = """\
exit codes:
  0    done, or nothing to do
  1    a fault that was not foreseen; LONGTHREAD_DEBUG=1 shows where
  2    something has to be put right first; one line on stderr says what
  130  interrupted with Ctrl-C; everything is saved
  141  the reader of the output went away; everything is saved
  143  ended by SIGTERM at a step boundary; everything is saved

A run that was cut off, in whichever way, goes on with `longthread resume THREAD`.
"""
ENVIRONMENT = """\
environment:
  LONGTHREAD_MODEL   the model, where --model is not given (else openai:gpt-5-mini)
  LONGTHREAD_DB      the thread store, where --db is not given
  OPENAI_API_KEY     key for openai:NAME; a server of your own needs none
  OPENAI_BASE_URL    server for openai:NAME, where --base-url is not given
"""
RUN_EXAMPLES = """\
examples:
  longthread run "make the failing test pass" --allow-commands always
  longthread run "now update the docs too" --thread make-the-failing-test-3fa2
  longthread run - --json < task.md
  longthread run "tidy up" --base-url http://127.0.0.1:11434/v1 --model qwen3:8b --context-window 32768
"""
CHAT_EXAMPLES = """\
in the conversation:
  /todos                    show the todo list
  /compact [instructions]   make the context small now
  /resume                   go on where an interrupted turn was
  /help                     these lines
  /exit                     leave (Ctrl-D too); the thread stays
  Ctrl-C                    interrupt the turn; at the prompt: leave
"""
OVERVIEW = """\
examples:
  longthread demo
  longthread run "make the failing test pass"
  longthread resume make-the-failing-test-3fa2
  longthread show make-the-failing-test-3fa2

`longthread COMMAND --help` says more.
"""
REMEMBERED = "the one that the thread remembers"


class UsageError(LongthreadError):
    """The command line does not say what to do."""


class Parser(argparse.ArgumentParser):
    """Reports a mistake as one line, by the way of every other error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def parser() -> Parser:
    """The whole grammar."""
    top = Parser(
        prog="longthread",
        description="An agent for long work: it keeps its plan in sight and its context small.",
        epilog=f"{OVERVIEW}\n{EXIT_CODES}\n{ENVIRONMENT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"longthread {version('longthread')}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    _working(commands)
    _reading(commands)
    _keeping(commands)
    return top


def _working(commands: "argparse._SubParsersAction[Parser]") -> None:
    run = _command(commands, "run", "do a task in a folder", f"{RUN_EXAMPLES}\n{EXIT_CODES}")
    run.add_argument("task", type=clean, help="what to do; - reads it from standard input")
    _add_working_options(run)
    chat = _command(commands, "chat", "the same as a conversation", f"{CHAT_EXAMPLES}\n{EXIT_CODES}")
    _add_working_options(chat)
    resume = _command(commands, "resume", "go on where an interrupted run was", EXIT_CODES)
    resume.add_argument("thread", type=clean, metavar="THREAD")
    _add_options(resume, REMEMBERED)
    _add_running_options(resume)
    compact = _command(commands, "compact", "make a thread's context small now", EXIT_CODES)
    compact.add_argument("thread", type=clean, metavar="THREAD")
    compact.add_argument("instructions", type=clean, nargs="*", help="what the summary should heed")
    _add_options(compact, REMEMBERED)
    compact.set_defaults(allow_commands=None, max_requests=None)
    demo = _command(commands, "demo", "see it work, without key or network", EXIT_CODES)
    demo.add_argument("--keep", metavar="DIR", help="leave the project and its thread store in this new folder")
    demo.add_argument("--json", action="store_true", help="one event a line, as JSON")


def _reading(commands: "argparse._SubParsersAction[Parser]") -> None:
    threads = _command(commands, "threads", "list the threads", EXIT_CODES)
    show = _command(commands, "show", "show a thread: todos, occupancy, segments, last messages", EXIT_CODES)
    show.add_argument("thread", type=clean, metavar="THREAD")
    show.add_argument("--messages", type=_whole, default=8, metavar="N", help="newest messages shown (default: 8)")
    show.add_argument("--full", action="store_true", help="the whole conversation over all segments")
    for each in (threads, show):
        _add_store(each)
        each.add_argument("--json", action="store_true", help="JSON: one object a line")


def _keeping(commands: "argparse._SubParsersAction[Parser]") -> None:
    fork = _command(commands, "fork", "begin a new thread where another one is or was", EXIT_CODES)
    fork.add_argument("--segment", type=_whole, metavar="N", help="where it was before its compaction number N")
    fork.add_argument("--to", type=clean, metavar="NAME", help="the new thread's name")
    export = _command(commands, "export", "write a thread as JSON lines, one message each", EXIT_CODES)
    export.add_argument("--live", action="store_true", help="what the next request is made from, instead of everything")
    export.add_argument("-o", "--output", metavar="FILE", default="-", help="(default: standard output)")
    prune = _command(commands, "prune", "thin out a thread: of closed segments only a snapshot stays", EXIT_CODES)
    prune.add_argument(
        "--drop-history", action="store_true", help="keep no snapshots: only what came after the last compaction"
    )
    delete = _command(commands, "delete", "delete a thread for good", EXIT_CODES)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    for each in (fork, export, prune, delete):
        each.add_argument("thread", type=clean, metavar="THREAD")
        _add_store(each)
    importing = _command(commands, "import", "begin a thread with the messages of an export", EXIT_CODES)
    importing.add_argument("file", metavar="FILE", help="JSON lines; - reads standard input")
    importing.add_argument("--thread", type=clean, metavar="NAME", help="the thread to begin (default: a new name)")
    _add_store(importing)


def _command(commands: "argparse._SubParsersAction[Parser]", name: str, does: str, epilog: str) -> Parser:
    return commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_working_options(command: Parser) -> None:
    command.add_argument(
        "--thread", type=clean, metavar="NAME", help="the thread to begin or go on with (default: a new one)"
    )
    _add_options(command, "this one, or the one that the thread remembers")
    _add_running_options(command)


def _add_running_options(command: Parser) -> None:
    """Options of a command whose agent may use tools."""
    command.add_argument(
        "--allow-commands",
        choices=("ask", "always", "never"),
        help="shell commands: ask for each one (default), run them unasked, or do without",
    )
    command.add_argument("--max-requests", type=_whole, metavar="N", help="stop after N requests; resume goes on")


def _add_options(command: Parser, workspace: str) -> None:
    """Options of every command that may ask a model; a thread remembers those that were used last."""
    command.add_argument(
        "--workspace", metavar="DIR", help=f"the folder that the agent works in (default: {workspace})"
    )
    command.add_argument(
        "--model", type=clean, metavar="M", help="openai:NAME, or a string for LangChain's init_chat_model"
    )
    command.add_argument(
        "--base-url", type=clean, metavar="URL", help="an OpenAI-compatible server; NAME alone will do for M then"
    )
    command.add_argument(
        "--context-window", type=_whole, metavar="N", help="tokens of the model's window; sets both thresholds"
    )
    command.add_argument("--settings", metavar="FILE.toml", help="a file with the tables [compaction] and [reminders]")
    command.add_argument("--json", action="store_true", help="one event a line, as JSON")
    _add_store(command)


def _add_store(command: Parser) -> None:
    command.add_argument("--db", metavar="PATH", help="the SQLite file of the threads (default: in your state folder)")


def _whole(text: str) -> int:
    """A positive whole number; `1_000` and `1000` alike."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number
