"""Objects of built-in kinds in protobuf, as kubectl and Go clients send them.

A body begins with ``k8s`` and a zero byte. A message follows, ``runtime.Unknown``, that
has apiVersion, kind, and the message of the object. ``decode`` returns the object as Go
prints it after it has read it: zero values are dropped, or filled in where they are
always printed.

Which field has which number is in smp/schema/bundled/protobuf.json, and
``python -m tests.record.protobuf`` makes it of the Go types of Kubernetes 1.36 and
1.37. Numbers never change their meaning, so it serves all versions. It has

``kinds``
    by apiVersion, the names of the messages of kinds, without their package, and by the
    package that they are in
``messages``
    by package and name, the fields of a message, separated by spaces

A field is ``NUMBER MARK NAME : TYPE`` without the spaces, as in ``1!name:string``. The
mark says when Go prints the field:

``:``
    where it is not empty; a struct, where it is there
``?``
    where it is there, even if it is empty (a pointer)
``!``
    always
``~``
    always; null where it is not there
``-``
    where it is not the zero time
``&``
    without a name: its fields are printed among those of the message that it is in

A type is the name of a message, with its package where that is another one, or one of
``string``, ``bytes`` (base64), ``bool``, ``int32``, ``int64``, ``double``,
``quantity``, ``intOrString``, ``time``, ``microTime`` and ``raw`` (JSON in a message).
``[]`` is a list, ``{}`` a map with strings as keys. A message with ``either`` in front
of its fields is printed as the first of them that is there, one with ``items`` as the
list of that name.

Sources: protobuf's "Encoding", Go: k8s.io/apimachinery, runtime/serializer/protobuf,
and the methods Unmarshal in generated.pb.go of k8s.io/api.
"""

from __future__ import annotations

from smp._storage.protobuf._envelope import MEDIA_TYPE, decode, has_message
from smp._storage.protobuf._errors import ProtobufError, ProtobufTooLargeError
from smp._storage.protobuf._table import is_32_bit

__all__ = [
    "MEDIA_TYPE",
    "ProtobufError",
    "ProtobufTooLargeError",
    "decode",
    "has_message",
    "is_32_bit",
]
