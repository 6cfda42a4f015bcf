"""Record what kube-apiserver's defaulting functions make of random objects.

``SMP_KUBE_APISERVER=build python -m tests.record.default_answers`` asks the Go program
in tests/apiserver/defaulting, and writes tests/data/defaults/decoded.jsonl.xz: objects,
each with what the program prints.
"""

from __future__ import annotations

import json
import lzma
from typing import Final

from tests.support.defaulted_objects import oracle, undefaulted
from tests.support.paths import DATA

DECODED: Final = DATA / "defaults" / "decoded.jsonl.xz"
# The random test has other seeds.
SEED: Final = 10**6
COUNT: Final = 3000


def record() -> None:
    """Write the record anew."""
    program = oracle()
    assert program is not None
    asked = undefaulted(SEED, COUNT)
    lines = []
    for obj, answer in zip(asked, program.run(asked), strict=True):
        # What a server cannot decode, it refuses.
        if "error" not in answer:
            line = {"object": obj, "decoded": answer}
            lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    DECODED.parent.mkdir(exist_ok=True)
    text = "".join(lines).encode()
    DECODED.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    record()
