"""One session of a client: creates, changes, lists and deletions of 35 kinds.

A kube-apiserver 1.36.3 answered the same requests (tests.record.session).
"""

from __future__ import annotations

from typing import Final

import pytest

from smp.schema.catalog import kubernetes
from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.record.session import send, session

# Patches that a server cannot merge, and a watch of no version: 500 there, 400 here.
_BAD_REQUESTS: Final = (400, 500)
_ALIKE: Final = 0.92


@pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")
def test_a_session_goes_as_on_a_server() -> None:
    wrong = []
    same = refused = 0
    settings = Settings(profile="validate-only", catalog=kubernetes("1.36"))
    with KubernetesApi(settings) as api, api.client("httpx") as client:
        for asked in session():
            code, causes = send(client, asked)
            if code != asked["code"] and (code, asked["code"]) != _BAD_REQUESTS:
                wrong.append((asked, code, causes))
            refused += bool(asked["causes"])
            same += bool(asked["causes"]) and causes == asked["causes"]
    assert not wrong
    assert same / refused >= _ALIKE
