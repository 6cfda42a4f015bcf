"""Values to YAML text that kubectl and YAML 1.1 and 1.2 readers read in the same way.

Values become parser events for the library's emitter, without recursion, so that only
``MAX_DEPTH`` limits their nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import yaml

from smp.documents._json import dump_json, not_json
from smp.documents._scalars import is_string
from smp.documents._text import MAX_DEPTH
from smp.errors import DepthError
from smp.values import JSON, type_name

# Compiled, where the library was installed with libyaml.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# The patterns by which YAML 1.1 readers resolve plain scalars, by first character.
_YAML_1_1: Final = yaml.SafeLoader.yaml_implicit_resolvers
_BRACKETS: Final = {
    dict: (yaml.MappingStartEvent, yaml.MappingEndEvent),
    list: (yaml.SequenceStartEvent, yaml.SequenceEndEvent),
}
_NEVER_FOLD: Final = 2**30
# Line breaks that readers turn into other ones, unless they are escaped (YAML 1.1,
# section 4.1.4; YAML 1.2 has only the first).
_OTHER_BREAK: Final = re.compile("[\r\x85\u2028\u2029]")
# Text of several lines that a literal block keeps: no space at the start, which would
# look like indentation, and none at the end of a line.
_LITERAL: Final = re.compile(r"(?=\S)(?:[^\n]*\S)?(?:\n(?:[^\n]*\S)?)+")


def dump_yaml(values: Iterable[JSON]) -> str:
    """Write values as YAML documents; see ``smp.documents.dump_yaml``."""
    try:
        text = yaml.emit(
            _events(values), Dumper=_DUMPER, allow_unicode=True, width=_NEVER_FOLD
        )
    except (UnicodeError, yaml.YAMLError) as error:
        raise not_json(str(error)) from None
    return str(text)


def _events(values: Iterable[JSON]) -> Iterator[yaml.Event]:
    """Yield the events of all values, each a document."""
    yield yaml.StreamStartEvent()
    for index, root in enumerate(values):
        # Only the second document and later ones start with ``---``.
        yield yaml.DocumentStartEvent(explicit=index > 0)
        depth = 0
        # A stack of what is still to be written. The end of a list or object lies below
        # its parts.
        pending: list[JSON | yaml.Event] = [root]
        while pending:
            node = pending.pop()
            if isinstance(node, yaml.Event):
                depth -= 1
                yield node
            elif not isinstance(node, dict | list):
                yield _scalar_event(node)
            elif depth == MAX_DEPTH:
                problem = f"the value is nested more than {MAX_DEPTH} levels deep"
                raise DepthError(problem)
            else:
                depth += 1
                start, end = _BRACKETS[dict if isinstance(node, dict) else list]
                yield start(None, None, implicit=True, flow_style=False)
                pending.append(end())
                if isinstance(node, dict):
                    parts = list(chain.from_iterable(node.items()))
                else:
                    parts = node
                pending.extend(reversed(parts))
        yield yaml.DocumentEndEvent()
    yield yaml.StreamEndEvent()


def _scalar_event(value: JSON) -> yaml.ScalarEvent:
    if isinstance(value, str):
        if _LITERAL.fullmatch(value):
            style = "|"
        elif _OTHER_BREAK.search(value):
            style = '"'
        else:
            # The emitter chooses: plain where it may be, else quoted.
            style = None
        # Plain only if kubectl and YAML 1.1 readers take the plain text for a string.
        patterns = _YAML_1_1.get(value[:1], ())
        may_be_plain = is_string(value) and not any(
            pattern.match(value) for _, pattern in patterns
        )
        return yaml.ScalarEvent(None, None, (may_be_plain, True), value, style=style)
    if value is None or isinstance(value, bool | int | float):
        text = dump_json(value, indent=None)
        return yaml.ScalarEvent(None, None, (True, False), text)
    raise not_json(f"a {type_name(value)}")
