"""Measures the page of a long log in a browser: `python -m tests.benchmarks.trace [EVENTS]`.

Says how long the page takes to make and to open, and what a step, a jump to anywhere, a search take in it, drawing
included, in milliseconds: the median, the 95th percentile and the worst.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from reducer import decode
from reducer._trace.page import page
from tests.browser import Browser, program
from tests.test_trace import long_log

MEASURE = """(() => {
  const timed = (count, go) => {
    const took = [];
    for (let number = 0; number < count; number += 1) {
      const from = performance.now();
      trace.go(go(number));
      trace.render();
      took.push(performance.now() - from);
    }
    took.sort((one, other) => one - other);
    return [0.5, 0.95, 1].map((part) => Number(took[Math.ceil(part * count) - 1].toFixed(1)));
  };
  let seed = 7;
  const chance = () => (seed = (seed * 1103515245 + 12345) % 2147483648) % (trace.total + 1);
  const step = timed(300, (number) => Math.floor(trace.total / 2) + number), jump = timed(200, chance);
  const from = performance.now();
  trace.search('agent');
  trace.render();
  return { step, jump, search: Math.round(performance.now() - from), elements: document.querySelectorAll('*').length };
})()"""


def main(size: int) -> None:
    """Measure, and print."""
    found = program()
    if found is None:
        raise SystemExit("Chromium is not installed")
    log = [decode(event) for event in long_log(size)]
    start = time.perf_counter()
    text = "".join(page(log, "long.jsonl"))
    print(f"{len(log)} events: a page of {len(text.encode()) / 1e6:.1f} MB in {time.perf_counter() - start:.1f} s")
    browser = Browser(found)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(text, encoding="utf-8")
        start = time.perf_counter()
        shown = browser.open(file)
        print(f"opened in {time.perf_counter() - start:.2f} s")
        for name, figure in shown.run(MEASURE).items():
            print(name, figure)
    browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
