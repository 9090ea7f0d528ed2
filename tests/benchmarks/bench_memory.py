"""What is still in sight after a compaction: `python tests/benchmarks/bench_memory.py [--peers]`.

A scripted session of six parts, 20 000 tokens as trigger and a tail of 4 000, once with a
summarizer that writes no fact at all and once with one that repeats every fact that it is shown.
The share of the planted facts that stand in the first request after each compaction, averaged
over the compactions. The peers need the `bench` extra.

Decided for fairness:

- Each contestant has the tools of its own kind and the same words on them: longthread its file
  tools and `todo_write`, the peers file tools that answer alike and LangChain's todo middleware.
- longthread's worker answers with tools. The perfect one reads and marks the five files that it
  is offered; the no-fact one writes five empty sections and marks nothing.
- "Everything else" are findings, decisions and finished work that the assistant told. What only the
  body of a tool result said has a row of its own, without a target: longthread shows its worker one
  line of each result, so what nobody spoke of is gone unless a file or the tool gives it again.
- The text of a file is counted line by line, as it stands on disk at that moment.
- Tokens are a quarter of the characters, system prompt and tool schemas included.
- longthread prunes before it compacts, as it does by default.
"""

import argparse

from memory.contestants import deepagents, langchain, longthread
from memory.table import column, render

PEERS = {"LangChain as shipped": langchain, "deepagents": deepagents}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="measure LangChain and deepagents too")
    contestants = {**(PEERS if parser.parse_args().peers else {}), "longthread": longthread}
    print(render({name: column(contestant) for name, contestant in contestants.items()}))


if __name__ == "__main__":
    main()
