"""JSON and multi-document YAML text, read and written the way kubectl reads them.

Where kubectl would lose something without an error (a duplicate key, bytes that are not
Unicode) reading raises. Integers beyond 64 bits, which kubectl turns into floats, stay
integers.
"""

from smp.documents._chunks import Chunk, chunks
from smp.documents._json import dump_json
from smp.documents._lists import flattened
from smp.documents._operations import (
    Document,
    FirstDocument,
    dump_kyaml,
    dump_yaml,
    head_of,
    parse,
    read,
    read_first,
    read_one,
    resolve,
    yaml_lines,
)
from smp.documents._positions import Position, Positions, positions
from smp.documents._text import MAX_BYTES, MAX_DEPTH

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Chunk",
    "Document",
    "FirstDocument",
    "Position",
    "Positions",
    "chunks",
    "dump_json",
    "dump_kyaml",
    "dump_yaml",
    "flattened",
    "head_of",
    "parse",
    "positions",
    "read",
    "read_first",
    "read_one",
    "resolve",
    "yaml_lines",
]
