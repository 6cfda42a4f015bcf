"""JSON and multi-document YAML text, read and written the way kubectl reads them.

Where kubectl would lose something without an error (a duplicate key, bytes that are not
Unicode) reading raises. Integers beyond 64 bits, which kubectl turns into floats, stay
integers.
"""

from smp.documents._chunks import Chunk, chunks
from smp.documents._heads import head_of as head_of
from smp.documents._json import dump_json
from smp.documents._kyaml_writer import dump_kyaml
from smp.documents._lists import flatten_lists as flatten_lists
from smp.documents._operations import Document, parse, read, read_one
from smp.documents._operations import FirstDocument as FirstDocument
from smp.documents._operations import read_first as read_first
from smp.documents._positions import Position, Positions, positions
from smp.documents._scalars import resolve as resolve
from smp.documents._text import MAX_BYTES, MAX_DEPTH
from smp.documents._yaml_writer import dump_yaml
from smp.documents._yaml_writer import yaml_lines as yaml_lines

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Chunk",
    "Document",
    "Position",
    "Positions",
    "chunks",
    "dump_json",
    "dump_kyaml",
    "dump_yaml",
    "parse",
    "positions",
    "read",
    "read_one",
]
