"""The service's own tests: on the HBase that the plugin finds, each in a namespace of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from examples.access_layer.access import Comments
from examples.access_layer.service import create_app
from hbase_orm import Engine, connect
from hbase_orm.errors import ConnectionLostError

URL = "/articles/a1/comments"


class Client:
    """Calls the service without a network between."""

    def __init__(self, app: FastAPI) -> None:
        self._transport = httpx.ASGITransport(app)

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=self._transport, base_url="http://service"
            ) as client:
                return await client.request(method, url, **options)

        return asyncio.run(call())

    def get(self, url: str, **options: Any) -> httpx.Response:
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Any) -> httpx.Response:
        return self.request("PUT", url, **options)

    def delete(self, url: str) -> httpx.Response:
        return self.request("DELETE", url)


@pytest.fixture
def engine(hbase_url: str) -> Iterator[Engine]:
    with connect(hbase_url) as engine:
        yield engine


@pytest.fixture
def comments(engine: Engine) -> Comments:
    comments = Comments(engine)
    comments.prepare()
    return comments


@pytest.fixture
def client(comments: Comments) -> Client:
    return Client(create_app(comments))


def test_a_comment_is_stored_and_found(client: Client, engine: Engine) -> None:
    stored = client.post(URL, json={"author": "ann", "text": "first!"})
    page = client.get(URL).json()

    assert stored.status_code == 201
    assert page == {"comments": [stored.json()], "token": None}
    with engine.raw() as connection:
        table = connection.table(f"{engine.options.namespace}:comments")
        rows: dict[bytes, dict[bytes, bytes]] = dict(table.scan())
    [(row, cells)] = rows.items()
    assert row[:4] == b"a1\x00\x01"
    assert len(row) == 4 + 8 + 16
    assert cells == {b"d:a": b"ann", b"d:t": b"first!"}


def test_pages_are_newest_first_and_of_one_article(client: Client) -> None:
    for n in range(35):
        client.post(URL, json={"author": "ann", "text": f"{n}"})
        client.post("/articles/a10/comments", json={"author": "eve", "text": "other"})

    first = client.get(URL).json()
    second = client.get(URL, params={"token": first["token"]}).json()

    found = [*first["comments"], *second["comments"]]
    assert (len(first["comments"]), len(second["comments"])) == (30, 5)
    assert second["token"] is None
    assert {comment["author"] for comment in found} == {"ann"}
    times = [datetime.fromisoformat(comment["at"]) for comment in found]
    assert times == sorted(times, reverse=True)
    assert {comment["text"] for comment in found} == {f"{n}" for n in range(35)}


def test_a_comment_is_corrected_and_removed(client: Client) -> None:
    stored = client.post(URL, json={"author": "ann", "text": "frist!"}).json()
    one = f"{URL}/{stored['at']}/{stored['comment_id']}"

    corrected = client.put(one, json={"text": "first!"})
    seen = client.get(URL).json()["comments"]
    removed = client.delete(one)

    assert (corrected.status_code, removed.status_code) == (200, 204)
    assert seen == [{**stored, "text": "first!"}]
    assert client.get(URL).json()["comments"] == []
    assert client.put(one, json={"text": "?"}).status_code == 404


@pytest.mark.parametrize("bad", [{"author": "", "text": "x"}, {"author": "a", "text": "x" * 2001}])
def test_what_does_not_fit_is_a_422_that_says_why(client: Client, bad: dict[str, str]) -> None:
    refused = client.post(URL, json=bad)

    assert refused.status_code == 422
    assert "Comment" in refused.json()["detail"]
    assert client.get(URL).json()["comments"] == []


def test_a_token_of_another_article_is_a_422(client: Client) -> None:
    for n in range(31):
        client.post(URL, json={"author": "ann", "text": f"{n}"})
    token = client.get(URL).json()["token"]

    refused = client.get("/articles/a2/comments", params={"token": token})

    assert refused.status_code == 422


def test_a_lost_connection_is_a_503_and_is_not_tried_again(
    client: Client, comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def loses(article: str, token: str | None) -> None:
        tries.append(f"{article} {token}")
        raise ConnectionLostError("the connection broke before the answer")

    monkeypatch.setattr(comments, "newest", loses)

    answered = client.get(URL)

    assert (answered.status_code, tries) == (503, ["a1 None"])
