"""Time this library, the reference and the alternatives on the same inputs, side by side.

    python benchmarks/run.py                      everything; some minutes
    python benchmarks/run.py --quick              a rough picture, in about half a minute
    python benchmarks/run.py --only 'volumes.*apply'

Prints one table for bytes in and bytes out, and one for dicts. Each cell has the best time in
microseconds, in parentheses the median, and then how many times as long the first contender of the
table takes: below 1, it is the faster one. Ratios are of the best times, which other load on the
machine disturbs the least.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contenders import NAMES, Absent, Contender, contender
from benchmarks.inputs import Row, rows
from benchmarks.timing import FULL, ONCE, QUICK, Effort, Sample
from smp.values import JSONObject

_PRECISE: Final = 100  # microseconds, below which the tenths are worth their place
REFERENCE_MODULES: Final = Path(__file__).parent / "reference" / "go.mod"


@dataclass(frozen=True, slots=True)
class Result:
    """What the contenders needed for a row; None for what a contender does not do."""

    row: Row
    samples: dict[str, Sample | None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = _parser().parse_args(arguments)
    entered = [contender(name) for name in options.contender or NAMES]
    present = [one for one in entered if isinstance(one, Contender)]
    selected = [row for row in rows() if re.search(options.only, str(row), re.IGNORECASE)]
    if not selected:
        raise SystemExit(f"no row has {options.only!r} in it; the rows are\n" + "\n".join(map(str, rows())))
    results = list(_measured(selected, present, options.effort))
    absent = [one for one in entered if isinstance(one, Absent)]
    print("\n".join(report(results, present, absent)))
    if options.json:
        options.json.write_text(json.dumps(as_json(results, present, absent), indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", dest="effort", action="store_const", const=QUICK, help="few runs of each")
    effort.add_argument("--once", dest="effort", action="store_const", const=ONCE, help="one run of each, no warm-up")
    parser.add_argument("--only", metavar="PATTERN", default="", help="rows that a regular expression finds")
    parser.add_argument("--contender", action="append", choices=NAMES, help="only this one; may be repeated")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the numbers to a file")
    parser.set_defaults(effort=FULL)
    return parser


def _measured(selected: Iterable[Row], contenders: Sequence[Contender], effort: Effort) -> Iterator[Result]:
    for row in selected:
        print(row, file=sys.stderr)
        yield Result(row, {one.name: one.measure(row, effort) for one in contenders})


# --- the report ------------------------------------------------------------------------------------------------------


def report(results: Sequence[Result], present: Sequence[Contender], absent: Sequence[Absent]) -> Iterator[str]:
    """Yield the lines of the report, in Markdown."""
    for form in ("bytes", "dicts"):
        columns = [one for one in present if one.form == form]
        if columns:
            yield from ("", f"{form.capitalize()} in, {form} out; microseconds", "")
            yield from _table(results, [one.name for one in columns])
            yield ""
            yield from (f"- {f'{one.name} {one.version}'.strip()}: {one.computes}" for one in columns)
    yield from (f"- {one.name} is absent: {one.reason}" for one in absent)
    yield ""
    yield from (f"- {name}: {value}" for name, value in environment().items())


def _table(results: Iterable[Result], names: Sequence[str]) -> Iterator[str]:
    yield _line("row", "input bytes", *names)
    yield _line("---", *["---:"] * (len(names) + 1))
    for result in results:
        cells = (_cell(result.samples[name], result.samples[names[0]]) for name in names)
        yield _line(str(result.row), f"{sum(map(len, result.row.texts)):,}", *cells)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(sample: Sample | None, first: Sample | None) -> str:
    if sample is None:
        return "-"
    times = f"{_microseconds(sample.minimum)} ({_microseconds(sample.median)})"
    return times if first is None or first is sample else f"{times} {first.minimum / sample.minimum:.3g}x"


def _microseconds(nanoseconds: int) -> str:
    microseconds = nanoseconds / 1_000
    return f"{microseconds:,.{1 if microseconds < _PRECISE else 0}f}"


def as_json(results: Sequence[Result], present: Sequence[Contender], absent: Sequence[Absent]) -> JSONObject:
    """Return everything that was measured, in nanoseconds."""
    return {
        "environment": {**environment()},
        "contenders": {
            one.name: {"form": one.form, "computes": one.computes, "version": one.version} for one in present
        },
        "absent": {one.name: one.reason for one in absent},
        "rows": [
            {
                "name": result.row.name,
                "operation": result.row.operation,
                "input_bytes": sum(map(len, result.row.texts)),
                "nanoseconds": {name: asdict(sample) if sample else None for name, sample in result.samples.items()},
            }
            for result in results
        ],
    }


def environment() -> dict[str, str]:
    """Say what the numbers were measured on."""
    modules = re.search(r"k8s\.io/apimachinery (\S+)", REFERENCE_MODULES.read_text())
    return {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Go": _output("go", "env", "GOVERSION"),
        "k8s.io/apimachinery": modules[1] if modules else "",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    text = described.read_text() if described.exists() else ""
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return model[1] if model else platform.processor() or platform.machine()


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "absent"


if __name__ == "__main__":
    main()
