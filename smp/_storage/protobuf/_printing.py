"""How Go prints messages that are no JSON objects."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite
from typing import Final

from smp._storage.protobuf._errors import ProtobufError
from smp._storage.protobuf._messages import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME
from smp._storage.typed_storage import double
from smp._values import codec
from smp._values.quantities import parse_quantity
from smp._values.values import JSON, JSONObject
from smp.errors import DocumentError

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # in UTC
_ZERO_TIME: Final = datetime(1, 1, 1)  # noqa: DTZ001  # in UTC
_INT: Final = 0
_STRING: Final = 1


def finite(value: float) -> JSON:
    """Return a double. Raises ProtobufError for one that JSON does not have."""
    if not isfinite(value):
        raise ProtobufError(f"json: unsupported value: {value}")
    return double(value)


def printed(form: int, parts: JSONObject) -> JSON:
    """Return what is printed of a message of which some fields are there.

    Raises ProtobufError for what cannot be printed (Go: MarshalJSON of its type).
    """
    if form in (TIME, MICRO_TIME):
        return print_time(form, parts)
    if form == INT_OR_STRING:
        chosen = parts.get("type", _INT)
        if chosen not in (_INT, _STRING):
            raise ProtobufError("impossible IntOrString.Type")
        return parts.get("intVal", 0) if chosen == _INT else parts.get("strVal", "")
    if form == QUANTITY:
        # Go: Quantity.Unmarshal parses the text.
        quantity = parse_quantity(str(parts["string"]))
        if quantity is None:
            raise ProtobufError("unable to parse quantity's value")
        return quantity.text
    # RawExtension, JSON and FieldsV1 have JSON as bytes.
    try:
        return codec.decode(str(parts["raw"]))
    except DocumentError as error:
        raise ProtobufError(error.problem) from None


def print_time(form: int, parts: JSONObject) -> JSON:
    """Return a time in UTC (Go: Time and MicroTime have the fields of a Timestamp).

    The years of four digits that a Timestamp has are those of Python.
    """
    seconds = parts.get("seconds", 0)
    # Go: Time.Unmarshal does not look at them, MicroTime.Unmarshal truncates them.
    nanos = parts.get("nanos", 0) if form == MICRO_TIME else 0
    assert isinstance(seconds, int)  # noqa: S101  # the form of both
    assert isinstance(nanos, int)  # noqa: S101
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)
    # Go prints years of five digits, which neither it nor others can read again.
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        raise ProtobufError("a time is outside of the years 1 to 9999") from None
    if moment == _ZERO_TIME:
        return None
    precision = "microseconds" if form == MICRO_TIME else "seconds"
    return f"{moment.isoformat(timespec=precision)}Z"
