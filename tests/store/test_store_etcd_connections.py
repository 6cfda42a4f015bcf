"""How a store connects to etcd: TLS, users, several members, and compaction."""

from __future__ import annotations

import asyncio
import base64
import gc
import shutil
import socket
from contextlib import aclosing, suppress
from pathlib import Path

import httpx
import pytest

from smp.server.store import Expired, Store, StoreError, open_store
from tests.support.etcd import (
    Certificates,
    Etcd,
    needs_etcd,
    running,
    running_cluster,
)
from tests.support.stores import (
    opened_etcd_store,
    opened_store,
    put,
    take_changes,
)
from tests.support.waiting import TIMEOUT, refusing_port, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="no openssl to make certificates"
)


# The transport of httpx leaves a socket to the garbage collector where TLS fails.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@needs_etcd
@needs_openssl
async def test_etcd_is_used_over_tls_with_certificates_of_both(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with running(tls=certificates) as server:
        async with opened_store(f"{server.url}?{certificates.options()}") as store:
            revision = await store.create("a", b"1") or 0
            async with aclosing(store.watch("", revision - 1)) as events:
                (event,) = await take_changes(events, 1)
                assert (event.key, event.revision) == ("a", revision)
        only_authority = f"cafile={certificates.authority}"
        for url in (
            f"{server.url}?{only_authority}",  # without a certificate of the client
            server.url,  # with the authorities of the system
            server.url.replace("etcds:", "etcd:"),
        ):
            async with opened_etcd_store(url, limit=1) as store:
                with pytest.raises(StoreError):
                    await store.create("b", b"1")
    gc.collect()


@needs_etcd
async def test_a_user_of_etcd_logs_in_with_a_password(
    etcd_server: Etcd, tmp_path: Path
) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    etcd_server.call("auth/user/add", {"name": "root", "password": "secret"})
    etcd_server.call("auth/role/add", {"name": "root"})
    etcd_server.call("auth/user/grant", {"user": "root", "role": "root"})
    etcd_server.call("auth/enable", {})
    options = f"user=root&password-file={password}"
    async with opened_store(f"{etcd_server.url}?{options}") as store:
        await store.create("a", b"1")
        assert len((await store.list("")).items) == 1
    async with opened_store(etcd_server.url) as store:
        with pytest.raises(StoreError, match="user name is empty"):
            await store.create("b", b"1")
    password.write_text("wrong")
    async with opened_store(f"{etcd_server.url}?{options}") as store:
        with pytest.raises(StoreError, match="authentication failed"):
            await store.create("b", b"1")


@needs_etcd
async def test_a_member_that_does_not_answer_is_passed_over(etcd: Etcd) -> None:
    # The system accepts connections to it, and nothing answers.
    with refusing_port() as unused, socket.create_server(("127.0.0.1", 0)) as hanging:
        _, port = hanging.getsockname()
        url = f"etcd://127.0.0.1:{unused},127.0.0.1:{port},{etcd.address}/passed-over"
        async with opened_etcd_store(url, limit=2) as store:
            assert await store.create("a", b"1")
            assert connections_of(hanging) > 0
            # The member that answered stays in use.
            assert await store.get("a")
            assert connections_of(hanging) == 0


def connections_of(listening: socket.socket) -> int:
    """Count and close the connections that have come since the last time."""
    listening.settimeout(0)
    count = 0
    with suppress(BlockingIOError):
        while True:
            connection, _ = listening.accept()
            connection.close()
            count += 1
    return count


async def create_again(store: Store, key: str) -> int:
    """Write a key that begins so, and another one where the outcome is unknown."""
    for attempt in range(100):
        try:
            return await store.create(f"{key}/{attempt}", b"1") or 0
        except StoreError:
            await asyncio.sleep(0.05)
    pytest.fail(f"100 attempts to write {key} failed")


@needs_etcd
async def test_a_store_survives_the_loss_of_any_one_member() -> None:
    with running_cluster(3) as members:
        addresses = ",".join(member.address for member in members)
        async with (
            opened_etcd_store(f"etcd://{addresses}", limit=1) as store,
            aclosing(store.watch("", await store.revision())) as events,
        ):
            acknowledged: list[int] = []
            for index, member in enumerate(members):
                for number in range(20):
                    if number == 5:
                        await asyncio.to_thread(member.kill)
                    if number == 15:
                        await asyncio.to_thread(member.start)
                    revision = await create_again(store, f"{index}/{number}")
                    acknowledged.append(revision)
            last = await create_again(store, "last")
            seen = [event.revision for event in await take_changes(events, 61)]
            while seen[-1] < last:
                more = await take_changes(events, 1)
                seen += [event.revision for event in more]
            assert seen == sorted(set(seen))
            assert set(acknowledged) < set(seen)
            listed = {item.revision for item in (await store.list("")).items}
            assert listed == set(seen)


@needs_etcd
async def test_one_server_at_a_time_compacts_what_is_old(etcd_server: Etcd) -> None:
    url = f"{etcd_server.url}?compaction-interval=0.2"
    async with opened_etcd_store(url) as store, opened_etcd_store(url) as other:
        first = await put(store, "a", b"1")
        for number in range(5):
            last = await put(store, "a", b"%d" % number)
        works = [asyncio.create_task(each.maintain()) for each in (store, other)]
        await until(lambda: is_forgotten(etcd_server, first))
        for work in works:
            work.cancel()
        with pytest.raises(Expired):
            await store.list("", revision=first)
        assert (await other.get("a")).revision == last  # type: ignore[union-attr]
        # A watch needs no more than what is in memory.
        async with aclosing(store.watch("", last)) as events:
            later = await put(other, "a")
            (event,) = await take_changes(events, 1)
            assert event.revision == later
    async with opened_etcd_store(url) as store:
        with pytest.raises(Expired):
            await take_changes(store.watch("", first), 1)


@needs_etcd
async def test_an_interval_of_0_leaves_compaction_to_others(etcd: Etcd) -> None:
    async with opened_store(f"{etcd.url}?compaction-interval=0") as store:
        async with asyncio.timeout(TIMEOUT):
            await store.maintain()


def test_a_file_of_the_url_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(f"etcds://h?cafile={tmp_path}/none")
    assert caught.value.code == "unusable-store"


def is_forgotten(server: Etcd, revision: int) -> bool:
    """Tell whether etcd has compacted a revision."""
    key = base64.b64encode(b"/smp/documents/objects/a").decode()
    try:
        server.call("kv/range", {"key": key, "revision": revision})
    except httpx.HTTPStatusError:
        return True
    return False
