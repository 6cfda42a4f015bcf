"""Time this library, the reference in Go and other libraries on the same inputs.

    python benchmarks/run.py                      everything; some minutes
    python benchmarks/run.py --quick              a rough picture, in three minutes
    python benchmarks/run.py --section processes --section memory
    python benchmarks/run.py --only 'volumes.*apply'
    python benchmarks/run.py --docs docs/performance.md --json numbers.json

All take turns. Cells have the best time in microseconds and, in parentheses, the
median. Ratios are those of the best times, which other load on the machine affects
least. In the tables of contenders they are the time of the first one divided by that of
the other: below 1, the first one is faster. In parentheses is the median of the ratios
of the single rounds. The report begins with the goals and whether they are met.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

# At the end of the path: an installed smp is measured rather than the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks import (
    elsewhere,
    goals,
    growth,
    memory,
    processes,
    server_side,
    tables,
    unions,
    whole_job,
)
from benchmarks.contenders import FORMS, NAMES, Absent, Contender, contender
from benchmarks.environment import environment
from benchmarks.inputs import rows
from benchmarks.report import Section, written_into
from benchmarks.timing import FULL, ONCE, QUICK, Effort, Ratio

# The sections that need neither rows nor contenders.
_OTHERS: Final[dict[str, Callable[[Effort], Section]]] = {
    "growth": growth.section,
    "elsewhere": elsewhere.section,
    "processes": processes.section,
    "memory": memory.section,
    "unions": unions.section,
    "whole_job": whole_job.section,
    "server_side": server_side.section,
}
NAMES_OF_SECTIONS: Final = ("goals", *FORMS, *_OTHERS, "environment")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the report."""
    parser = _parser()
    options = parser.parse_args(arguments)
    is_narrowed = bool(options.only or options.contender)
    if options.section:
        names = options.section
    elif is_narrowed:
        names = FORMS
    else:
        names = [*FORMS, *_OTHERS]
    if options.docs and (is_narrowed or options.section):
        parser.error(
            "--docs cannot be used with --section, --only or --contender: "
            "the documentation has all numbers"
        )
    contenders = [contender(name) for name in options.contender or NAMES]
    measured = list(_measured(names, options.only, contenders, options.effort))
    ratios: list[Ratio] = []
    for section in measured:
        ratios += section.ratios
    absent = [column for column in contenders if isinstance(column, Absent)]
    sections = [goals.section(ratios), *measured, _environment(absent)]
    print("\n".join(_report(sections)))
    if options.json:
        options.json.write_text(json.dumps(as_json(sections), indent=2) + "\n")
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), sections))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument(
        "--quick",
        dest="effort",
        action="store_const",
        const=QUICK,
        help="few runs of each",
    )
    effort.add_argument(
        "--once",
        dest="effort",
        action="store_const",
        const=ONCE,
        help="one run of each, no warm-up",
    )
    parser.add_argument(
        "--section",
        action="append",
        choices=[*FORMS, *_OTHERS],
        help="only this part; repeatable",
    )
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        default="",
        help="only rows that a regular expression finds",
    )
    parser.add_argument(
        "--contender", action="append", choices=NAMES, help="only this one; repeatable"
    )
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="also write the numbers to a file"
    )
    parser.add_argument(
        "--docs",
        metavar="FILE",
        type=Path,
        help="also write the tables between a file's marks",
    )
    parser.set_defaults(effort=FULL)
    return parser


def _measured(
    names: Sequence[str],
    only: str,
    contenders: Sequence[Contender | Absent],
    effort: Effort,
) -> Iterator[Section]:
    selected = [row for row in rows() if re.search(only, str(row), re.IGNORECASE)]
    if not selected:
        names_of_rows = "\n".join(str(row) for row in rows())
        raise SystemExit(f"no row matches {only!r}; the rows are\n{names_of_rows}")
    for form in FORMS:
        columns = [
            column
            for column in contenders
            if isinstance(column, Contender) and column.form == form
        ]
        if columns and form in names:
            yield tables.section(form, selected, columns, effort)
    for name in names:
        if name in _OTHERS:
            yield _OTHERS[name](effort)


def _environment(absent: Sequence[Absent]) -> Section:
    facts = environment()
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- {column.name} is absent: {column.reason}" for column in absent]
    reasons = {column.name: column.reason for column in absent}
    data = {**facts, "absent": reasons}
    return Section("environment", "Measured on", lines, data)


def _report(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        yield from ("", f"## {section.title}", "", *section.lines)


def as_json(sections: Sequence[Section]) -> dict[str, object]:
    """Return everything that was measured, by section; times are in nanoseconds."""
    return {section.name: section.data for section in sections}


if __name__ == "__main__":
    main()
