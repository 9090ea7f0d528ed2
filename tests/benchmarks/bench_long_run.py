"""Seconds per loop over a long run: `python tests/benchmarks/bench_long_run.py [LOOPS]` (default 1 000).

Prints each tenth of the run, and the ratio of the last tenth to the first; at most 1.2 is wanted.
The model is scripted, so what is measured is the graph, the counting and SQLite.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from long_runs import LongRun  # found through the line above


def main() -> None:
    """Run and print."""
    loops = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with TemporaryDirectory() as folder:
        run = LongRun(Path(folder) / "t.db", loops).run()
        figures = {"wall": run.tenths(lambda loop: loop.seconds), "processor": run.tenths(lambda loop: loop.cpu)}
        size = run.file_size()
    for name, tenths in figures.items():
        print(f"ms per loop ({name}):", ", ".join(f"{seconds * 1_000:.1f}" for seconds in tenths))
        print(f"last tenth / first tenth ({name}): {tenths[-1] / tenths[0]:.2f}")
    print(f"{len(run.values['segments'])} compactions, {size / loops / 1_000:.1f} KB of file per loop")


if __name__ == "__main__":
    main()
