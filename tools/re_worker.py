"""Searches files with `re`, in a process of its own, so that a pattern that never ends can be killed.

Run by path with the arguments `-i|-s --regexp=PATTERN FILE...` (ignore case or not). It prints what
`rg` prints with the options in `grep`: one `file NUL line:column:` per matching line, 201 of them
per file at most. Exit code 2: the pattern is invalid, and why is on stderr. Imports nothing but the
standard library.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator

MAX_PER_FILE = 201
MAX_BYTES = 10_000_000


def main(arguments: list[str]) -> int:
    """Search; the exit code is 0, or 2 for an invalid pattern."""
    case, pattern, *files = arguments
    try:
        expression = re.compile(pattern.removeprefix("--regexp="), re.IGNORECASE if case == "-i" else re.NOFLAG)
    except (re.error, OverflowError, RecursionError) as error:
        print(error, file=sys.stderr)
        return 2
    for file in files:
        for line, column in hits(expression, file):
            sys.stdout.buffer.write(os.fsencode(file) + f"\0{line}:{column}:\n".encode())
        sys.stdout.buffer.flush()
    return 0


def hits(expression: re.Pattern[str], file: str) -> Iterator[tuple[int, int]]:
    """Line number and column in bytes, both from 1, of the first match in each line."""
    found = 0
    for number, raw in enumerate(read(file).split(b"\n"), 1):
        line = raw.removesuffix(b"\r").decode(errors="replace")
        if match := expression.search(line):
            yield number, len(line[: match.start()].encode()) + 1
            if (found := found + 1) >= MAX_PER_FILE:
                return


def read(file: str) -> bytes:
    """The bytes of a regular file, without the newline at their end; nothing of a link, a pipe, a huge file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        fd = os.open(file, flags)
    except OSError:
        return b""
    with open(fd, "rb", closefd=True) if stat.S_ISREG(os.fstat(fd).st_mode) else open(os.devnull, "rb") as opened:
        return opened.read(MAX_BYTES).removesuffix(b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
