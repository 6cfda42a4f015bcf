"""``smp drift`` of a store with the protocol of S3, over Arrow's file system for it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from tests.support.command import Ran, run

_BUCKET = "fleet"
_TIME = "2026-01-02T03:04:05.000Z"


class Store(BaseHTTPRequestHandler):
    """A bucket: HeadObject, GetObject with a range, ListObjectsV2 (AWS S3 API)."""

    objects: ClassVar[dict[str, bytes]] = {}
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:  # as the base class calls it
        self.do_GET()

    def do_GET(self) -> None:  # as above
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        query = parse_qs(parts.query)
        if bucket == _BUCKET and not key:
            self._answer(200, _listing(query) if "list-type" in query else b"")
            return
        data = self.objects.get(key)
        if bucket != _BUCKET or data is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        asked = self.headers.get("Range", "")
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            part = data[int(first) : int(last) + 1]
            self._answer(206, part, f"bytes {first}-{last}/{len(data)}")
        else:
            self._answer(200, data)

    def _answer(self, code: int, body: bytes, content_range: str = "") -> None:
        self.send_response(code)
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
        self.send_header("ETag", '"e"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as above
        """Say nothing."""


def _listing(query: dict[str, list[str]]) -> bytes:
    prefix = query.get("prefix", [""])[0]
    keys = [key for key in sorted(Store.objects) if key.startswith(prefix)]
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
        f"<Size>{len(Store.objects[key])}</Size></Contents>"
        for key in keys
    )
    return (
        '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>'
        f"<KeyCount>{len(keys)}</KeyCount>{contents}</ListBucketResult>"
    ).encode()


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a bucket, and yield what names the server in a URL."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(Store, "objects", {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    port = server.server_address[1]
    yield f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=eu-1"
    server.shutdown()
    server.server_close()
    thread.join()


def listed(*values: str) -> bytes:
    objects = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"c{number}", "namespace": "shop"},
            "data": {"key": value},
        }
        for number, value in enumerate(values)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def drift(query: str, *options: str) -> Ran:
    want, live = (f"s3://{_BUCKET}/{side}{query}" for side in ("want", "live"))
    sides = ("-f", want, "--live", live, "--by-folder")
    return run("drift", *sides, "--format", "ndjson", "--jobs", "1", *options)


@pytest.mark.slow
def test_both_sides_may_be_in_a_bucket(query: str, tmp_path: Any) -> None:
    Store.objects |= {
        "want/eu 1/all.json": listed("1", "1"),
        "want/cluster=us-2/all.json": listed("1"),
        "live/eu 1/all.json.gz": gzip.compress(listed("1", "2")),
        "live/cluster=us-2/all.json": listed("1"),
        "live/readme.txt": b"none of these",
    }
    state = ("--state", str(tmp_path / "state.db"))
    ran = drift(query, "--all", *state)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {
        (row["cluster"], row["name"]): row["verdict"] for row in rows if "name" in row
    } == {("eu 1", "c0"): "same", ("eu 1", "c1"): "drift", ("us-2", "c0"): "same"}
    assert (ran.exit_code, ran.stderr.count("could not be read")) == (1, 1)
    # The files of a bucket are known by their content as well.
    assert "3 as before" in drift(query, *state).stderr
    Store.objects["live/eu 1/all.json.gz"] = gzip.compress(listed("1", "1"))[:-9]
    ran = drift(query)
    assert (ran.exit_code, '"verdict":"unreadable"' in ran.stdout) == (3, True)


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_an_error(query: str) -> None:
    ran = drift(query)
    assert ran.exit_code == 2
    assert "s3://fleet/want" in ran.stderr
