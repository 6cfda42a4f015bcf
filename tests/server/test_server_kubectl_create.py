"""The generators of the real ``kubectl create``, which send protobuf."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.server_process import Kubectl

pytestmark = [needs_kubectl, pytest.mark.slow]

# The command without "create", and what kubectl says that it created. NAME is a name of
# what is in no namespace.
GENERATORS: Final = (
    ("namespace NAME", "namespace/NAME"),
    (
        "clusterrole NAME --verb=get --resource=pods",
        "clusterrole.rbac.authorization.k8s.io/NAME",
    ),
    (
        "clusterrolebinding NAME --clusterrole=a --user=b",
        "clusterrolebinding.rbac.authorization.k8s.io/NAME",
    ),
    (
        "role a --verb=get --resource=pods",
        "role.rbac.authorization.k8s.io/a",
    ),
    (
        "rolebinding a --role=a --serviceaccount=b:c",
        "rolebinding.rbac.authorization.k8s.io/a",
    ),
    ("configmap a --from-literal=b=c", "configmap/a"),
    ("secret generic a --from-literal=b=c", "secret/a"),
    ("secret docker-registry b --docker-username=c --docker-password=d", "secret/b"),
    ("secret tls c --cert=CERTIFICATE --key=KEY", "secret/c"),
    ("serviceaccount a", "serviceaccount/a"),
    ("deployment a --image=nginx --replicas=2 --port=80", "deployment.apps/a"),
    ("job a --image=busybox", "job.batch/a"),
    ("cronjob a --image=busybox --schedule='0 0 * * *'", "cronjob.batch/a"),
    ("job b --from=cronjob/a", "job.batch/b"),
    ("quota a --hard=cpu=1,memory=1.5Gi", "resourcequota/a"),
    ("ingress a --rule=example.com/=a:80", "ingress.networking.k8s.io/a"),
    ("service clusterip a --tcp=80:8080", "service/a"),
    ("service nodeport b --tcp=80", "service/b"),
    ("service externalname c --external-name=example.com", "service/c"),
    (
        "poddisruptionbudget a --selector=app=a --min-available=50%",
        "poddisruptionbudget.policy/a",
    ),
    (
        "priorityclass NAME --value=7 --description=d",
        "priorityclass.scheduling.k8s.io/NAME",
    ),
)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is absent")
def test_all_generators_create_their_objects(kubectl: Kubectl, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
            *("-subj", "/CN=a", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    words = {
        "NAME": f"{kubectl.namespace}-new",
        "KEY": str(key),
        "CERTIFICATE": str(certificate),
    }

    def filled(text: str) -> str:
        return re.sub("|".join(words), lambda found: words[found[0]], text)

    names = []
    for command, created in GENERATORS:
        name = filled(created)
        assert kubectl("create", *shlex.split(filled(command))) == f"{name} created\n"
        names.append(name)
    deleted = kubectl("delete", "--wait=false", *names)
    assert deleted.count(" deleted") == len(GENERATORS)


def test_what_a_generator_creates_is_what_it_prints(kubectl: Kubectl) -> None:
    command = ("create", "quota", "a", "--hard=cpu=1,memory=1.5Gi,pods=0")
    kubectl(*command)
    assert kubectl.live("resourcequotas.v1", "a")["spec"] == {
        "hard": {"cpu": "1", "memory": "1536Mi", "pods": "0"}
    }
    kubectl("create", "deployment", "a", "--image=nginx", "--port=80")
    (container,) = kubectl.live("deployments.apps/v1", "a")["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert container["resources"] == {}
