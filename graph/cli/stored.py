"""`threads` and `show`: what is stored."""

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from langchain_core.messages import messages_to_dict

from longthread.graph.cli.faults import DONE
from longthread.graph.cli.options import shown_store, store_of
from longthread.graph.cli.store import is_there, open_store
from longthread.graph.cli.stored_lines import details_lines, thread_lines
from longthread.graph.cli.views import open_printer
from longthread.graph.lineage import transcript
from longthread.graph.threads import ThreadDetails, describe, list_threads


def threads(given: Namespace) -> int:
    """List the threads."""
    where, printer = store_of(given), open_printer()
    if not is_there(where):
        if not given.json:
            printer.say(f"no threads yet in {where}")
        return DONE
    with open_store(where) as saver:
        found = list_threads(saver)
    if given.json:
        for info in found:
            printer.raw(_json(asdict(info)))
        return DONE
    for line in thread_lines(found, shown_store(where)):
        printer.show(line)
    return DONE


def show(given: Namespace) -> int:
    """Show one thread."""
    with open_store(store_of(given), must_exist=True) as saver:
        details = describe(saver, given.thread)
        if given.full:
            details = replace(details, messages=transcript(saver, given.thread))
    printer = open_printer()
    newest = len(details.messages) if given.full else given.messages
    if given.json:
        printer.raw(_json(_plain(details, newest)))
        return DONE
    for line in details_lines(details, newest, printer.glyphs, whole=given.full):
        printer.show(line)
    return DONE


def _plain(details: ThreadDetails, messages: int) -> dict[str, Any]:
    """The thread as one JSON object, with its newest messages."""
    return {
        **asdict(details.info),
        "segments": details.segments,
        "compaction": details.compaction,
        "questions": [question.value for question in details.questions],
        "pending": details.pending,
        "messages": messages_to_dict(_newest(details.messages, messages)),
    }


def _newest(messages: Sequence[Any], number: int) -> Sequence[Any]:
    return messages[-number:] if number else ()


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, default=repr) + "\n"
