"""Go types with tags and markers as a source of schemas (extra ``go``: tree-sitter)."""

from smp.schema.sources.golang._files import read_sources
from smp.schema.sources.golang._generate import generate

__all__ = ["generate", "read_sources"]
