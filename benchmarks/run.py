"""Time this library, the reference and the alternatives on the same inputs, in turns,
and hold the goals against it.

    python benchmarks/run.py                      everything; some minutes
    python benchmarks/run.py --quick              a rough picture, in about two minutes
    python benchmarks/run.py --section processes --section memory
    python benchmarks/run.py --only 'volumes.*apply'
    python benchmarks/run.py --docs docs/performance.md --json numbers.json

Cells have the best time in microseconds and, in parentheses, the median. Ratios are of
the best times, which other load on the machine disturbs the least; in the tables of
contenders they say how many times as long the first one takes: below 1, it is the
faster one. In parentheses is the median of the ratios of the single rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

# last: what is installed is what is measured
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks import elsewhere, goals, growth, memory, processes, tables, unions
from benchmarks.contenders import FORMS, NAMES, Absent, Contender, contender
from benchmarks.environment import environment
from benchmarks.inputs import rows
from benchmarks.report import Section, written_into
from benchmarks.timing import FULL, ONCE, QUICK, Effort

# What needs neither rows nor contenders.
_OTHERS: Final[dict[str, Callable[[Effort], Section]]] = {
    "growth": growth.section,
    "elsewhere": elsewhere.section,
    "processes": processes.section,
    "memory": memory.section,
    "unions": unions.section,
}
NAMES_OF_SECTIONS: Final = ("goals", *FORMS, *_OTHERS, "environment")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the report."""
    parser = _parser()
    options = parser.parse_args(arguments)
    narrowed = bool(options.only or options.contender)
    names = options.section or [*FORMS, *(() if narrowed else _OTHERS)]
    if options.docs and (narrowed or options.section):
        parser.error(
            "the documentation wants everything: --docs goes with neither --section, --only nor --contender"
        )
    entered = [contender(name) for name in options.contender or NAMES]
    measured = list(_measured(names, options.only, entered, options.effort))
    sections = [
        goals.section([ratio for section in measured for ratio in section.ratios]),
        *measured,
    ]
    sections.append(_environment([one for one in entered if isinstance(one, Absent)]))
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
    entered: Sequence[Contender | Absent],
    effort: Effort,
) -> Iterator[Section]:
    selected = [row for row in rows() if re.search(only, str(row), re.IGNORECASE)]
    if not selected:
        raise SystemExit(
            f"no row has {only!r} in it; the rows are\n" + "\n".join(map(str, rows()))
        )
    for form in FORMS:
        columns = [
            one for one in entered if isinstance(one, Contender) and one.form == form
        ]
        if columns and form in names:
            yield tables.section(form, selected, columns, effort)
    yield from (_OTHERS[name](effort) for name in names if name in _OTHERS)


def _environment(absent: Sequence[Absent]) -> Section:
    named = environment()
    missing = {one.name: one.reason for one in absent}
    lines = [f"- {name}: {value}" for name, value in named.items()]
    lines += [f"- {name} is absent: {reason}" for name, reason in missing.items()]
    return Section("environment", "Measured on", lines, {**named, "absent": missing})


def _report(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        yield from ("", f"## {section.title}", "", *section.lines)


def as_json(sections: Sequence[Section]) -> dict[str, object]:
    """Return everything that was measured, by section; times are in nanoseconds."""
    return {section.name: section.data for section in sections}


if __name__ == "__main__":
    main()
