"""Typed storage: what an API server makes of an object of a built-in kind.

It decodes the object into Go structs, and prints them again. So a server does not store
the object that it was sent: ``hostNetwork: false`` is gone, ``resources: {}`` of a
container is there, and ``1000m`` is ``1``. Managed fields depend on this: what a server
dropped stays in the field set of the manager that applied it, and what it filled in is
in the set of the manager that wrote the object.

What happens to a field is its Go type and its JSON tag. The plain case is a string,
number, boolean, list or map with the tag ``omitempty``, which is dropped where it is
empty, and a pointer to a struct, which is dropped where it is null. All other fields
are in smp/schema/bundled/typed_storage.json, by the package and the name of their type:

``always``
    a value that is always printed: ``""``, ``0``, ``false``, or a struct with what is
    always printed of it. The tag ``omitempty`` does nothing to a struct.
``null``
    a list, a map, a pointer or a time that is printed as null where there is none
``pointer``
    a pointer to a string, number, boolean, list or map: it is printed where it is not
    null, even if it is empty
``omitZero``
    a time that is dropped where it is null or the zero time
``quantity``, ``time``, ``microTime``, ``bytes``, ``number``, ``intOrString``
    the values have a canonical form: those of the field, of its elements or entries
``either``
    of a type: its objects are those of another type, and so are the elements of its
    lists

``python -m tests.record.typed_storage`` makes the table from the sources of Kubernetes
1.36 and 1.37; fields that a catalog does not know are not filled in. A type that only
an older version has, of an alpha API or autoscaling/v2beta2, is not in the table: its
values stay as they are. Before 1.34, a server also printed a null creationTimestamp.

Field managers of structured-merge-diff look at the same Go structs without printing
them. They see what is printed (Go: value.structReflect, FieldCacheEntry.CanOmit): a
struct without a pointer is there whatever its tag, nil without ``omitempty`` is null.
"""

from __future__ import annotations

from smp._storage.typed_storage._conversion import convert, counterparts, form_in
from smp._storage.typed_storage._decoding import find_decoding_problem
from smp._storage.typed_storage._plan import (
    BYTES,
    MICRO_TIME,
    NUMBER,
    QUANTITY,
    TIME,
    GoType,
    is_pointer,
    is_typed,
    storage_plan,
    zero_key,
)
from smp._storage.typed_storage._rewriting import rewriting_paths
from smp._storage.typed_storage._scalars import double, octets
from smp._storage.typed_storage._stored import stored
from smp._storage.typed_storage._strategies import (
    drop_fields_of_service,
    fill_data_sources,
)

__all__ = [
    "BYTES",
    "MICRO_TIME",
    "NUMBER",
    "QUANTITY",
    "TIME",
    "GoType",
    "convert",
    "counterparts",
    "double",
    "drop_fields_of_service",
    "fill_data_sources",
    "find_decoding_problem",
    "form_in",
    "is_pointer",
    "is_typed",
    "octets",
    "rewriting_paths",
    "storage_plan",
    "stored",
    "zero_key",
]
