"""The API pages: `python tests/support/api_pages.py FOLDER` writes them with pdoc."""

import sys
from pathlib import Path

import pdoc

import longthread.graph

MODULES = (
    "longthread.graph",
    "longthread.graph.scripted",
    "longthread.graph.context",
    "longthread.graph.remote",
    "longthread.nodes.state",
    "longthread.nodes.refusals",
    "longthread.tools.errors",
)


def write(folder: Path) -> None:
    """Write the pages of the modules that users import from."""
    for name in longthread.graph.__all__:
        # The names are loaded at first use, and pdoc looks only at what is there.
        setattr(longthread.graph, name, getattr(longthread.graph, name))
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
