"""Bar charts of the tables on docs/performance.md, as SVG.

The tables are what the benchmark last wrote into the page, so a chart and its table
have the same numbers.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import Final

import msgspec

# The tables of times, and what their charts say. By the marks on the page.
CHARTS: Final = {
    "bytes": "Bytes in, bytes out: microseconds, on a logarithmic scale",
    "dicts": "Dicts in, dicts out: microseconds, on a logarithmic scale",
}
_ROW: Final = 14
_GAP: Final = 22
_LEFT: Final = 210
_WIDTH: Final = 820
_RIGHT: Final = 90
_TOP: Final = 54
_LEGEND: Final = 118
# From here on times are printed without tenths.
_PRECISE: Final = 100
# The first number of a cell: the best time.
_TIME: Final = re.compile(r"[\d,]+(\.\d+)?")


class Chart(msgspec.Struct, frozen=True):
    """Times in microseconds, for each row by contender; None where there is none."""

    title: str
    contenders: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def charts_in(page: str) -> dict[str, Chart]:
    """Return the charts of the tables on a page by their marks."""
    return {name: _chart(title, _table(page, name)) for name, title in CHARTS.items()}


def with_charts(page: str) -> str:
    """Return the page with each chart before its table."""
    for name, chart in charts_in(page).items():
        picture = f'<figure class="chart">\n{svg(chart)}\n</figure>\n'
        mark = f"<!-- {name} -->\n"
        page = page.replace(mark, f"{mark}\n{picture}\n", 1)
    return page


def _table(page: str, name: str) -> list[list[str]]:
    """Return the cells of the table between two marks, its head first."""
    between = page.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    lines = [line for line in between.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    # The second line is the rule between head and body.
    return [rows[0], *rows[2:]]


def _chart(title: str, table: list[list[str]]) -> Chart:
    # The first column names the row, the second is the size of its input.
    head, *body = table
    rows = []
    for name, _, *cells in body:
        rows.append((name, tuple(_microseconds(cell) for cell in cells)))
    return Chart(title, tuple(head[2:]), tuple(rows))


def _microseconds(cell: str) -> float | None:
    found = _TIME.match(cell)
    return float(found[0].replace(",", "")) if found else None


def svg(chart: Chart) -> str:
    """Draw the bars of each row, one for each contender, from one power of ten on."""
    times = [time for _, row in chart.rows for time in row if time is not None]
    lowest = math.floor(math.log10(min(times)))
    highest = math.ceil(math.log10(max(times)))
    scale = (_WIDTH - _LEFT - _RIGHT) / (highest - lowest)
    bars: list[str] = []
    y = _TOP
    for name, row in chart.rows:
        bars.append(_text(_LEFT - 8, y + 11, name, "end"))
        for index, time in enumerate(row):
            if time is None:
                continue
            length = (math.log10(time) - lowest) * scale
            bars.append(
                f'<rect class="c{index}" x="{_LEFT}" y="{y}" width="{length:.1f}"'
                f' height="{_ROW - 2}"/>'
            )
            words = f"{time:,.0f}" if time >= _PRECISE else f"{time:,.1f}"
            bars.append(_text(_LEFT + length + 5, y + 10, words, "start"))
            y += _ROW
        y += _GAP - _ROW
    lines = []
    for power in range(lowest, highest + 1):
        x = _LEFT + (power - lowest) * scale
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{y}"/>')
    legend = _legend(chart.contenders)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {y + 4}" role="img">',
            f"<title>{html.escape(chart.title)}</title>",
            _text(0, 14, chart.title, "start"),
            *legend,
            *lines,
            *bars,
            "</svg>",
        ]
    )


def _legend(contenders: Sequence[str]) -> list[str]:
    parts = []
    for index, contender in enumerate(contenders):
        x = index * _LEGEND
        parts.append(f'<rect class="c{index}" x="{x}" y="26" width="10" height="10"/>')
        parts.append(_text(x + 14, 35, contender, "start"))
    return parts


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{html.escape(words)}</text>'
    )
