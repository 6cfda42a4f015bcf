"""Objects in protobuf, beside what Go reads of the same bytes.

tests/record/protobuf.py recorded random objects of all kinds, some of them with changed
bytes. ``SMP_FUZZ_CASES`` sets the number of random bodies, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from random import Random
from typing import Any, Final

import pytest

from smp._storage.protobuf import (
    ProtobufError,
    ProtobufTooLargeError,
    decode,
    has_message,
)
from smp._storage.protobuf._table import message_of, names
from smp._values.values import JSONObject
from smp.errors import DepthError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.resources import Resources
from tests.record.field_sets import read
from tests.record.protobuf import DECODED, TABLE, answers, compiled
from tests.support.protobuf import MAGIC, encoded, enveloped, nested, varint
from tests.support.reference import as_go_prints
from tests.support.typed_objects import needs_oracle

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "3000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
LIMIT: Final = 3 * 1024 * 1024
NO_MAGIC: Final = (
    "provided data does not appear to be a protobuf message, expected prefix"
    " [107 56 115 0]"
)
CONFIG_MAP: Final = ("v1", "ConfigMap")
META: Final = nested(1, nested(1, b"a"))

# What Go reads and no encoder writes: years of five digits; an entry of a map whose key
# or value goes beyond its end, or with a field of the number 0.
REFUSED_HERE: Final = ("years 1 to 9999", "unexpected EOF", "illegal tag 0")


def of_config_map(content: bytes) -> JSONObject:
    return decode(enveloped(*CONFIG_MAP, content), *CONFIG_MAP, LIMIT)


def problem(content: bytes) -> str:
    """Return what is said of the message of a ConfigMap."""
    with pytest.raises(ProtobufError) as caught:
        of_config_map(content)
    prefix = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
    assert caught.value.problem.startswith(prefix)
    assert caught.value.status == 400
    return caught.value.problem.removeprefix(prefix)


def text(value: object) -> str:
    """Return what tells 1 from true."""
    return json.dumps(value, sort_keys=True)


def difference(record: dict[str, Any]) -> str:
    """Compare what is read of a body with what Go printed; "" where it is the same."""
    expected = record.get("object")
    try:
        found = decode(b64decode(record["protobuf"]), "", "", LIMIT)
    except SmpError as error:
        return "" if expected is None else f"refused: {error}"
    if expected is None:
        return f"accepted: {text(found)}, {record['error']}"
    if text(as_go_prints(found)) == text(expected):
        return ""
    return f"{text(found)} != {text(expected)}"


def test_random_objects_are_read_as_go_reads_them() -> None:
    kinds = set()
    objects = errors = 0
    differing = []
    for record in read(DECODED):
        found = difference(record)
        if found:
            differing.append(found)
        elif "object" in record:
            objects += 1
            kinds.add((record["object"].get("apiVersion"), record["object"]["kind"]))
        else:
            errors += 1
    assert [text for text in differing if not _is_refused_here(text)] == []
    assert len(differing) < 10
    assert objects > 1400
    assert errors > 600
    assert len(kinds) > 300


def _is_refused_here(found: str) -> bool:
    return found.startswith("refused") and any(
        reason in found for reason in REFUSED_HERE
    )


@pytest.mark.exhaustive
@needs_oracle
@pytest.mark.parametrize("question", ["samples", "changed"])
def test_other_random_objects_are_read_as_go_reads_them(question: str) -> None:
    differing = []
    compared = 0
    for record in answers(question, str(SEED + 1), "12"):
        compared += 1
        differing.append(difference(record))
    found = [text for text in differing if text]
    assert [text for text in found if not _is_refused_here(text)] == []
    assert len(found) < compared / 100
    assert compared > 4000


@pytest.mark.exhaustive
@needs_oracle
def test_the_table_is_what_the_go_types_say() -> None:
    assert TABLE.read_text() == compiled()


def test_the_table_has_all_kinds_that_are_served() -> None:
    for version in ("1.36", "1.37"):
        for resource in Resources.builtin(kubernetes(version)):
            assert has_message(resource.api_version, resource.kind), resource
    assert has_message("autoscaling/v1", "Scale")
    assert has_message("policy/v1", "Eviction")
    assert has_message("apps/v1", "DeleteOptions")
    assert has_message("v1", "Status")
    assert not has_message("example.com/v1", "Widget")


def test_every_message_of_the_table_can_be_linked() -> None:
    linked = 0
    for api_version, kinds in names().items():
        for kind in kinds:
            message = message_of(api_version, kind)
            assert message is not None
            linked += len(message.numbers) > 0
    assert linked > 300


def test_an_object_has_apiversion_and_kind_of_the_envelope_or_of_the_request() -> None:
    assert of_config_map(META) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
    }
    bare = MAGIC + nested(2, META)
    assert decode(bare, *CONFIG_MAP, LIMIT) == of_config_map(META)
    assert decode(enveloped("v1", "Secret", META), *CONFIG_MAP, LIMIT)["kind"] == (
        "Secret"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty data (<empty>)"),
        (MAGIC, "empty body (6b387300)"),
        (
            b'{"a":1}',
            f'{NO_MAGIC} ({{"a":1}})',
        ),
        (
            b"k8t\0" + b"a" * 40,
            f"{NO_MAGIC} (6b387400{'61' * 26} ...)",
        ),
        (MAGIC + b"\x0a\x02a", "unexpected EOF (6b3873000a0261)"),
    ],
)
def test_what_is_no_envelope_is_refused_as_by_a_server(
    body: bytes, message: str
) -> None:
    # Answers of a kube-apiserver 1.36.3 to POST of a ConfigMap.
    with pytest.raises(ProtobufError) as caught:
        decode(body, *CONFIG_MAP, LIMIT)
    assert caught.value.problem == (
        f"the object provided is unrecognized (must be of type ConfigMap): {message}"
    )


@pytest.mark.parametrize("kind", ["Nope", "\ufffd", ""])
def test_an_unknown_kind_is_refused(kind: str) -> None:
    with pytest.raises(ProtobufError, match="is registered for version"):
        decode(enveloped("v1", kind, b""), "apps/v1", "Nope", LIMIT)
    with pytest.raises(ProtobufError, match="is registered for version"):
        decode(enveloped("example.com/v1", kind, b""), "apps/v1", "Nope", LIMIT)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x08\x01", "proto: wrong wireType = 0 for field metadata"),
        (META[:-1], "unexpected EOF"),
        (b"\x0a", "unexpected EOF"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "unexpected EOF"),
        (
            b"\x0a" + varint(2**63),
            "proto: negative length found during unmarshaling",
        ),
        (b"\xff" * 10, "proto: integer overflow"),
        (b"\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (b"\x0c", "proto: wiretype end group for non-group"),
        (varint(77 << 3 | 6), "proto: illegal wireType 6"),
        (varint(77 << 3 | 3), "unexpected EOF"),
        (varint(77 << 3 | 1) + b"1234", "unexpected EOF"),
        (varint(77 << 3 | 5) + b"12", "unexpected EOF"),
    ],
)
def test_what_is_no_message_is_refused_as_go_refuses_it(
    content: bytes, message: str
) -> None:
    assert problem(content) == message


def test_unknown_fields_are_skipped_groups_too() -> None:
    group = varint(90 << 3 | 3) + varint(1 << 3) + b"\x05" + varint(90 << 3 | 4)
    nested_groups = varint(91 << 3 | 3) + group + varint(91 << 3 | 4)
    unknown = (
        nested(77, b"x"),
        varint(78 << 3) + b"\x01",
        varint(79 << 3 | 5) + b"1234",
        varint(80 << 3 | 1) + b"12345678",
        nested_groups,
    )
    assert of_config_map(b"".join(unknown) + META) == of_config_map(META)
    # 100,000 groups are no recursion.
    many = varint(90 << 3 | 3) * 100_000 + varint(90 << 3 | 4) * 100_000
    assert of_config_map(many + META) == of_config_map(META)


def test_the_last_scalar_counts_and_messages_are_merged() -> None:
    twice = nested(1, nested(1, b"a") + nested(3, b"b")) + nested(1, nested(1, b"c"))
    assert of_config_map(twice)["metadata"] == {"name": "c", "namespace": "b"}
    emptied = META + nested(1, nested(1, b""))
    assert of_config_map(emptied)["metadata"] == {}


def test_a_key_or_a_value_of_a_map_may_be_absent() -> None:
    data = nested(2, nested(1, b"k")) + nested(2, nested(2, b"v")) + nested(3, b"")
    found = of_config_map(META + data)
    assert found["data"] == {"k": "", "": "v"}
    assert found["binaryData"] == {"": ""}


def test_bytes_that_are_not_utf_8_are_replaced_as_go_prints_them() -> None:
    # A kube-apiserver answers 201 and "\ufffd\ufffd\ufffda".
    data = nested(2, nested(1, b"k") + nested(2, b"\xff\xe2\x82a"))
    assert of_config_map(data)["data"] == {"k": "\ufffd\ufffd\ufffda"}


def test_repeated_integers_may_be_packed() -> None:
    # supplementalGroups, two of them in one field and one alone.
    groups = varint(1) + varint(2**32 - 1)
    context = nested(4, groups) + varint(4 << 3) + varint(7)
    pod = nested(2, nested(14, context))
    found = decode(enveloped("v1", "Pod", pod), "v1", "Pod", LIMIT)
    assert found["spec"] == {
        "containers": None,
        "securityContext": {"supplementalGroups": [1, 4294967295, 7]},
    }


def test_a_deep_message_is_refused() -> None:
    # The field "not" of JSONSchemaProps has the number 28.
    schema = b""
    for _ in range(5_000):
        schema = nested(28, schema)
    content = nested(2, nested(7, nested(4, nested(1, schema))))
    kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    with pytest.raises(DepthError):
        decode(enveloped(*kind, content), *kind, LIMIT)


@pytest.mark.parametrize("element", [b"", nested(1, b"a")])
def test_many_small_elements_are_refused_before_they_take_much_memory(
    element: bytes,
) -> None:
    container = nested(2, element)
    limit = LIMIT // 10
    spec = container * (limit // len(container))
    pod = enveloped("v1", "Pod", nested(2, spec))
    with pytest.raises(ProtobufTooLargeError):
        decode(pod, "v1", "Pod", limit)


def test_what_is_read_is_what_was_written() -> None:
    for record in read(DECODED):
        found = record.get("object")
        if found is None or found["kind"] not in ("Pod", "Secret", "RoleList", "Node"):
            continue
        body = encoded(found)
        # The encoder of the tests writes no zero values, and no times before 1970.
        if b"null" not in json.dumps(found).encode():
            assert decode(body, "", "", LIMIT) == found


def test_random_bytes_are_an_object_or_an_error() -> None:
    random = Random(f"protobuf {SEED}")
    bodies = [b64decode(record["protobuf"]) for record in read(DECODED)]
    accepted = 0
    statuses = set()
    for _ in range(CASES):
        body = bytearray(random.choice(bodies))
        for _ in range(random.choice((1, 1, 2, 8))):
            at = random.randrange(len(MAGIC), len(body) + 1)
            length = random.choice((0, 1, 4, 40))
            body[at : at + length] = random.randbytes(random.choice((0, 1, 1, 9)))
        try:
            json.dumps(decode(bytes(body), "", "", LIMIT))
        except SmpError as error:
            statuses.add(error.status)
        else:
            accepted += 1
    assert statuses == {400}
    assert accepted > CASES / 50
