"""Values to YAML text that kubectl and YAML 1.1 and 1.2 readers read alike, without
recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import yaml

from smp.documents._json import dump_json, not_json
from smp.documents._scalars import is_text
from smp.documents._text import MAX_DEPTH
from smp.errors import DepthError
from smp.values import JSON, type_name

_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_FOREIGN: Final = yaml.SafeLoader.yaml_implicit_resolvers
_NEVER_FOLD: Final = 2**30
_BRACKETS: Final = {
    True: (yaml.MappingStartEvent, yaml.MappingEndEvent),
    False: (yaml.SequenceStartEvent, yaml.SequenceEndEvent),
}
_ODD_BREAK: Final = re.compile("[\r\x85\u2028\u2029]")
_LITERAL: Final = re.compile(r"(?=\S)(?:[^\n]*\S)?(?:\n(?:[^\n]*\S)?)+")


def dump_yaml(values: Iterable[JSON]) -> str:
    """Write values as YAML documents; see smp.documents."""
    try:
        return str(
            yaml.emit(
                _stream(values), Dumper=_DUMPER, allow_unicode=True, width=_NEVER_FOLD
            )
        )
    except (UnicodeError, yaml.YAMLError) as error:
        raise not_json(str(error)) from None


def _stream(values: Iterable[JSON]) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    for index, value in enumerate(values):
        yield yaml.DocumentStartEvent(explicit=index > 0)
        yield from _events(value)
        yield yaml.DocumentEndEvent()
    yield yaml.StreamEndEvent()


def _events(root: JSON) -> Iterator[yaml.Event]:
    depth = 0
    pending: list[JSON | yaml.Event] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.Event):
            depth -= 1
            yield node
        elif not isinstance(node, dict | list):
            yield _scalar(node)
        elif depth == MAX_DEPTH:
            raise DepthError(f"the value is nested more than {MAX_DEPTH} levels deep")
        else:
            depth += 1
            start, end = _BRACKETS[isinstance(node, dict)]
            yield start(None, None, implicit=True, flow_style=False)
            pending.append(end())
            pending.extend(
                reversed(
                    node
                    if isinstance(node, list)
                    else list(chain.from_iterable(node.items()))
                )
            )


def _scalar(value: JSON) -> yaml.ScalarEvent:
    if isinstance(value, str):
        style = (
            "|"
            if _LITERAL.fullmatch(value)
            else '"'
            if _ODD_BREAK.search(value)
            else None
        )
        return yaml.ScalarEvent(
            None, None, (_is_plain(value), True), value, style=style
        )
    if value is None or isinstance(value, bool | int | float):
        return yaml.ScalarEvent(
            None, None, (True, False), dump_json(value, indent=None)
        )
    raise not_json(f"a {type_name(value)}")


def _is_plain(text: str) -> bool:
    """Tell whether no reader of YAML takes the bare text for anything but a string."""
    return is_text(text) and not any(
        pattern.match(text) for _, pattern in _FOREIGN.get(text[:1], ())
    )
