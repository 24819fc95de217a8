"""The signed webhook as its receiver sees it, checked by the recipe of docs/notices.md itself (C4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from runner.notify.sending import Undelivered
from runner.notify.words import Item, Message, body_of, message_of
from tests.architecture.tree import ROOT
from tests.helpers.notices import SECRET, Got, receiving, webhook_to
from tests.helpers.stored import NOW

PAGE = (ROOT / "docs/notices.md").read_text(encoding="utf-8")


def recipe() -> Callable[..., bool]:
    """What the page tells a receiver to do."""
    (source,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    found: dict[str, Any] = {}
    exec(source, found)
    return found["is_ours"]  # type: ignore[no-any-return]


def a_message() -> Message:
    return message_of(body_of("n_0123456789abcdef", "asked", [Item(agent="scribe", tool="Write", why="strict")], total=1))


def posted() -> Got:
    with receiving() as server:
        webhook_to(server).send(a_message())
        (got,) = server.got
    return got


def test_the_pages_recipe_takes_what_is_sent() -> None:
    got = posted()
    assert recipe()(got.headers, got.body, SECRET.encode(), now=lambda: NOW)
    assert json.loads(got.body)["key"] == got.headers["idempotency-key"] == "n_0123456789abcdef"


@pytest.mark.parametrize(
    "change",
    [
        {"body": b"{}"},
        {"secret": b"another secret of length"},
        {"now": lambda: NOW + 301},
        {"now": lambda: NOW - 301},
        {"headers": {"idempotency-key": "n_other"}},
        {"headers": {"runner-timestamp": str(int(NOW) + 1)}},
        {"headers": {"runner-signature": "v1="}},
    ],
    ids=["body", "secret", "old", "skew", "key", "time", "signature"],
)
def test_a_change_a_replay_or_a_wrong_clock_is_refused(change: dict[str, Any]) -> None:
    """C4: HMAC and timestamp window."""
    got = posted()
    given = {"headers": got.headers, "body": got.body, "secret": SECRET.encode(), "now": lambda: NOW} | change
    given["headers"] = got.headers | change.get("headers", {})
    assert not recipe()(given["headers"], given["body"], given["secret"], now=given["now"])


def test_the_secret_is_nowhere_in_what_is_sent() -> None:
    got = posted()
    assert SECRET not in got.body.decode() + json.dumps(got.headers)


@pytest.mark.parametrize("status", [301, 302, 400, 404, 500])
def test_anything_but_a_2xx_is_no_delivery_and_a_redirect_is_not_followed(status: int) -> None:
    with receiving(status) as server:
        with pytest.raises(Undelivered, match=str(status)):
            webhook_to(server).send(a_message())
        assert len(server.got) == 1


def test_where_nobody_listens_the_error_names_no_address() -> None:
    with receiving() as server:
        hook = webhook_to(server)
    with pytest.raises(Undelivered) as caught:
        hook.send(a_message())
    assert "127.0.0.1" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_the_pages_example_is_what_is_sent() -> None:
    item = Item(agent="scribe", tool="Write", why="strict", approval="a_2v8xk1m3n4p5q6r7", expires=1_800_000_000.0)
    message = message_of(body_of("n_4c81xk9m2v7k3m9q", "asked", [item], total=1))
    assert f"```\n{message.title}\n\n{message.text}\n```" in PAGE
