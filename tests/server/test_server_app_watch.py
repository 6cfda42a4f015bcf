"""Watches over HTTP, event by event.

Expected is what "Efficient detection of changes" and "Streaming lists" in the
Kubernetes documentation say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from smp.server.settings import Settings
from smp.server.store.memory import MemoryStore
from tests.support.server_app import CONFIG_MAPS, MERGE, Served, config_map, serving
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.waiting import TIMEOUT

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STREAMING = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving(store=lambda: MemoryStore(progress=TIMEOUT)) as running:
        yield running


async def write(
    server: Served, name: str, labels: dict[str, str] | None = None, **data: str
) -> None:
    """Create or replace a ConfigMap."""
    path = f"{CONFIG_MAPS}/{name}"
    body = config_map(name, labels, **data)
    answer = await server.acall("PUT", path, body)
    if answer.status_code == 404:
        answer = await server.acall("POST", CONFIG_MAPS, body)
    answer.raise_for_status()


async def version_of(server: Served, path: str) -> str:
    answer = await server.acall("GET", path)
    return str(answer.json()["metadata"]["resourceVersion"])


def test_a_watch_without_a_version_begins_with_the_present_objects(
    server: Served,
) -> None:
    async def scenario() -> None:
        await write(server, "a")
        async with server.watch(CONFIG_MAPS) as watch:
            assert await watch.names(1) == [("ADDED", "a")]
            await write(server, "b")
            await write(server, "a", k="v")
            await server.acall("DELETE", f"{CONFIG_MAPS}/b")
            assert await watch.names(3) == [
                ("ADDED", "b"),
                ("MODIFIED", "a"),
                ("DELETED", "b"),
            ]

    server.run(scenario())


def test_a_watch_from_a_version_gives_every_change_once(server: Served) -> None:
    async def scenario() -> None:
        await write(server, "a")
        version = await version_of(server, CONFIG_MAPS)
        for number in range(20):
            await write(server, "a", k=str(number))
        async with server.watch(CONFIG_MAPS, resourceVersion=version) as watch:
            events = [await watch.event() for _ in range(20)]
        values = [event["object"]["data"]["k"] for event in events]
        assert values == [str(number) for number in range(20)]
        versions = [
            int(event["object"]["metadata"]["resourceVersion"]) for event in events
        ]
        assert versions == sorted(set(versions))
        assert versions[0] > int(version)
        stored = await server.acall("GET", f"{CONFIG_MAPS}/a")
        assert events[-1]["object"] == stored.json()

    server.run(scenario())


def test_a_streaming_list_ends_with_a_bookmark(server: Served) -> None:
    async def scenario() -> None:
        await write(server, "a")
        await write(server, "b")
        async with server.watch(CONFIG_MAPS, **STREAMING) as watch:
            assert await watch.names(2) == [("ADDED", "a"), ("ADDED", "b")]
            bookmark = await watch.event()
            assert bookmark["type"] == "BOOKMARK"
            assert bookmark["object"]["kind"] == "ConfigMap"
            assert bookmark["object"]["metadata"]["annotations"] == {
                "k8s.io/initial-events-end": "true"
            }
            version = bookmark["object"]["metadata"]["resourceVersion"]
            assert version == await version_of(server, CONFIG_MAPS)

    server.run(scenario())


def test_bookmarks_advance_with_writes_to_other_resources() -> None:
    async def scenario(server: Served) -> None:
        query = {"resourceVersion": "1", "allowWatchBookmarks": "true"}
        async with server.watch(CONFIG_MAPS, **query) as watch:
            namespace = {"metadata": {"name": "new"}}
            await server.acall("POST", "/api/v1/namespaces", namespace)
            written = await version_of(server, "/api/v1/namespaces/new")
            bookmark = await watch.event()
            while int(bookmark["object"]["metadata"]["resourceVersion"]) < int(written):
                bookmark = await watch.event()
            assert bookmark["type"] == "BOOKMARK"

    with serving(store=lambda: MemoryStore(progress=0.05)) as server:
        server.run(scenario(server))


def test_an_object_that_leaves_the_selection_is_deleted_for_the_watcher(
    server: Served,
) -> None:
    async def scenario() -> None:
        await write(server, "a", {"x": "1"})
        async with server.watch(CONFIG_MAPS, labelSelector="x=1") as watch:
            assert await watch.names(1) == [("ADDED", "a")]
            await write(server, "b", {"x": "2"})
            await write(server, "a", {"x": "2"})
            await write(server, "b", {"x": "1"})
            await write(server, "b", {"x": "1"}, k="v")
            await server.acall("DELETE", f"{CONFIG_MAPS}/b")
            events = [await watch.event() for _ in range(4)]
        seen = [
            (event["type"], event["object"]["metadata"]["name"]) for event in events
        ]
        assert seen == [
            ("DELETED", "a"),
            ("ADDED", "b"),
            ("MODIFIED", "b"),
            ("DELETED", "b"),
        ]
        # The deleted object has the labels by which it was selected.
        assert events[0]["object"]["metadata"]["labels"] == {"x": "1"}
        assert int(events[0]["object"]["metadata"]["resourceVersion"]) > 0

    server.run(scenario())


def test_a_watch_can_select_one_object(server: Served) -> None:
    async def scenario() -> None:
        async with server.watch(
            CONFIG_MAPS, fieldSelector="metadata.name=web", **STREAMING
        ) as watch:
            assert (await watch.event())["type"] == "BOOKMARK"
            await write(server, "web2")
            await write(server, "web")
            assert await watch.names(1) == [("ADDED", "web")]

    server.run(scenario())


def test_a_watch_of_tables_gives_the_columns_once(server: Served) -> None:
    async def scenario() -> None:
        await write(server, "a")
        async with server.watch(CONFIG_MAPS, TABLE) as watch:
            await write(server, "b", k="v")
            first = (await watch.event())["object"]
            second = (await watch.event())["object"]
        columns = [column["name"] for column in first["columnDefinitions"]]
        assert columns == ["Name", "Data", "Age"]
        assert second["columnDefinitions"] is None
        assert first["rows"][0]["cells"][:2] == ["a", 0]
        assert second["rows"][0]["cells"][:2] == ["b", 1]

    server.run(scenario())


def test_forgotten_and_unknown_versions_end_a_watch_with_expired() -> None:
    async def scenario(server: Served) -> None:
        for name in "abcd":
            await write(server, name)
        for version in ("2", "999999"):
            async with server.watch(CONFIG_MAPS, resourceVersion=version) as watch:
                event = await watch.event()
                assert event["type"] == "ERROR"
                status = event["object"]
                assert (status["code"], status["reason"]) == (410, "Expired")
                assert await watch.event() is None

    with serving(store=lambda: MemoryStore(history=2)) as server:
        server.run(scenario(server))


def test_a_watch_ends_at_its_timeout_and_when_the_server_stops(server: Served) -> None:
    async def scenario() -> None:
        async with server.watch(CONFIG_MAPS, timeoutSeconds="1") as watch:
            assert await watch.event() is None
        async with server.watch(CONFIG_MAPS) as watch:
            await write(server, "a")
            assert await watch.names(1) == [("ADDED", "a")]
            server.app.state.server.stopping.set()
            assert await watch.event() is None
        assert (await server.acall("GET", "/readyz")).status_code == 503

    server.run(scenario())


def test_a_watcher_that_does_not_read_is_disconnected_and_does_not_block_others() -> (
    None
):
    async def scenario(server: Served) -> None:
        async with (
            server.watch(CONFIG_MAPS) as stuck,
            server.watch(CONFIG_MAPS) as reading,
        ):
            await write(server, "a")
            assert await stuck.names(1) == [("ADDED", "a")]
            assert await reading.names(1) == [("ADDED", "a")]
            stuck.taking.clear()
            for number in range(50):
                await write(server, "a", k=str(number))
            assert await reading.names(50) == [("MODIFIED", "a")] * 50
            await stuck.ended.wait()
            metrics = (await server.acall("GET", "/metrics")).text
            labels = 'group="",resource="configmaps",version="v1"'
            gauge = f"apiserver_longrunning_requests{{{labels}}} 1.0"
            assert gauge in metrics.splitlines()

    with serving(Settings(send_timeout=0.2)) as server:
        server.run(asyncio.wait_for(scenario(server), TIMEOUT))


def test_a_new_custom_resource_can_be_watched(server: Served) -> None:
    async def scenario() -> None:
        path = "/apis/stable.example.com/v1/namespaces/default/crontabs"
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await server.acall("POST", definitions, CRON_TABS)
        async with server.watch(path) as watch:
            await server.acall("POST", path, cron_tab({"image": "x"}, name="c"))
            assert await watch.names(1) == [("ADDED", "c")]
            patch = {"spec": {"replicas": 3}}
            await server.acall("PATCH", f"{path}/c", patch, content_type=MERGE)
            assert await watch.names(1) == [("MODIFIED", "c")]

    server.run(scenario())


def test_the_older_paths_of_watches_are_those_of_an_api_server(server: Served) -> None:
    """Go: k8s.io/apiserver, endpoints/installer.go, WATCH and WATCHLIST."""

    async def scenario() -> None:
        await write(server, "a")
        await write(server, "b")
        path = "/api/v1/watch/namespaces/default/configmaps"
        async with server.watch(path) as watch:
            assert await watch.names(2) == [("ADDED", "a"), ("ADDED", "b")]
        async with server.watch(f"{path}/b") as watch:
            assert await watch.names(1) == [("ADDED", "b")]
        answer = await server.acall("POST", path, config_map("c"))
        assert answer.status_code == 405

    server.run(scenario())
