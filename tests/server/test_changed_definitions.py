"""What is read of custom resources whose definition changes, as a kube-apiserver does.

tests.record.changed_definitions asked a kube-apiserver 1.36.3 the same.
"""

from __future__ import annotations

import json

from smp.testing import KubernetesApi
from tests.record.changed_definitions import (
    DEFINITION,
    MEDIA_TYPES,
    REQUESTS,
    answers,
    content,
)


def test_objects_are_read_by_their_definition_as_it_is_now() -> None:
    wrong = []
    with KubernetesApi() as api:
        client = api.client("httpx")
        for number, (method, path, sent) in enumerate(REQUESTS):
            body = sent
            if method == "PUT" and sent is not None:
                metadata = client.get(DEFINITION).json()["metadata"]
                body = {**sent, "metadata": metadata}
            answer = client.request(
                method,
                path,
                content=None if body is None else json.dumps(body),
                headers={"Content-Type": MEDIA_TYPES[method]},
            )
            said = content(answer.status_code, answer.json())
            if path.startswith(DEFINITION.rpartition("/")[0]):
                said.pop("object")
            if said != answers()[number]:
                wrong.append((number, method, path, said, answers()[number]))
    assert not wrong
