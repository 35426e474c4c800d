"""The picture: for each log and system the ratio to the peer, median and spread, on one logarithmic scale, as SVG."""

from __future__ import annotations

from html import escape
from math import floor, log10
from typing import NamedTuple


class Ratio(NamedTuple):
    """How a system stands to the peer on a log: the median of all rounds, the least and the most."""

    median: float
    least: float
    most: float


ROW, TOP, LEFT, RIGHT, WIDTH = 34, 76, 96, 24, 760
# Readable on white and on black; the shapes tell them apart where colours do not.
MARKS = {
    "fold": ("#2f81f7", '<circle r="5.5"/>'),
    "fold_all": ("#1a9e55", '<path d="M0-6 6 5H-6Z"/>'),
    "floor": ("#8b949e", '<path d="M-5-5H5V5H-5Z"/>'),
    "client": ("#d9822b", '<path d="M0-7 7 0 0 7-7 0Z"/>'),
}
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.grid { stroke: #8b949e; stroke-opacity: .3 }
.peer { stroke: #59636e; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .small { fill: #9198a1 } .peer { stroke: #9198a1 } }"""


def picture(title: str, labels: dict[str, str], rows: dict[str, dict[str, Ratio]]) -> str:
    """Return the picture of the ratios in `rows`, by log and system; `labels` says what the systems are."""
    found = [ratio for row in rows.values() for ratio in row.values()]
    low = floor(log10(min(ratio.least for ratio in found)))
    high = floor(log10(max(ratio.most for ratio in found))) + 1
    height = TOP + ROW * len(rows) + 40

    def x(value: float) -> float:
        return round(LEFT + (log10(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    bottom = TOP + ROW * len(rows)
    parts = [f'<text x="8" y="22">{escape(title)}</text>']
    at = 8
    for system, label in labels.items():
        colour, mark = MARKS[system]
        parts.append(f'<g transform="translate({at + 6} 44)" fill="{colour}">{mark}</g>')
        parts.append(f'<text class="small" x="{at + 18}" y="48">{escape(label)}</text>')
        at += 34 + 7 * len(label)
    for power in range(low, high + 1):
        here, shown = x(10**power), f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"
        parts.append(f'<path class="{"grid" if power else "peer"}" d="M{here} {TOP - 12}V{bottom}"/>')
        parts.append(f'<text class="small" x="{here}" y="{bottom + 20}" text-anchor="middle">{shown}</text>')
    for number, (log, row) in enumerate(rows.items()):
        y = TOP + ROW * number + ROW // 2
        parts.append(
            f'<text x="8" y="{y + 4}">{escape(log)}</text><path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
        )
        for system, ratio in row.items():
            colour, mark = MARKS[system]
            what = f"{log}, {labels[system]}: {ratio.median:.3g} ({ratio.least:.3g} to {ratio.most:.3g})"
            parts.append(
                f'<g fill="{colour}" stroke="{colour}"><title>{escape(what)}</title>'
                f'<path d="M{x(ratio.least)} {y}H{x(ratio.most)}" stroke-width="3"/>'
                f'<g transform="translate({x(ratio.median)} {y})" stroke="none">{mark}</g></g>'
            )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">\n<style>\n{STYLE}\n</style>\n{body}\n</svg>\n'
    )
