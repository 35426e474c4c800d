"""What Dask gains on an archive of threads, as `docs/how-to/fold-an-archive.md` folds it.

`python tests/benchmarks/archive.py` folds 10,000 threads of 124 events in one process, then with Dask on every core,
then with Dask once more, when nothing is new. The code is the page's own.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/fold-an-archive.md"
DEFINITIONS = 3
"""How many blocks of the page define what its later ones use."""


def page() -> dict[str, Any]:
    """Return what the page defines."""
    defined: dict[str, Any] = {"__name__": PAGE.stem}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for block in blocks[:DEFINITIONS]:
        exec(block, defined)  # noqa: S102 - the page's own
    return defined


def timed(run: Callable[[], object]) -> float:
    """Return how many seconds a run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    os.chdir(ROOT)
    do = page()
    with tempfile.TemporaryDirectory() as folder:
        archive, alone, shared = (Path(folder) / name for name in ("archive", "alone", "shared"))
        do["write_archive"](archive, args.threads)
        alone.mkdir()
        one = timed(lambda: [do["fold_thread"](*thread) for thread in do["work"](archive, alone).values()])
        many = timed(lambda: do["fold_archive"](archive, shared, args.processes))
        again = timed(lambda: do["fold_archive"](archive, shared, args.processes))
    print(f"{args.threads} threads, one process: {one:.1f} s")
    print(f"Dask, {args.processes} processes: {many:.1f} s, {one / many:.2f} times as fast; nothing new: {again:.1f} s")


if __name__ == "__main__":
    main()
