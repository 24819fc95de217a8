"""An HTTP upstream that fails in every way an API can: retried before the first event, never after; the key is never shown."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from runner.gateway import HttpUpstream, Patience, UpstreamError
from runner.model import JsonObject
from tests.helpers.upstream import Answer, UpstreamDouble, error_answer, reply_answer, reply_events, sse, text

KEY = "sk-very-secret"
QUICK = Patience(connect=2, read=0.3, attempts=3, total=5, first_wait=0.001, longest_wait=0.05)
REQUEST: JsonObject = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "é"}]}
HELLO = reply_answer(text("hello"))


async def received(
    double: UpstreamDouble, patience: Patience = QUICK, url: str | None = None
) -> list[JsonObject] | UpstreamError:
    """The events of one request to the double, or the error it ended in."""
    async with double.serving():
        upstream = HttpUpstream(url or double.url, key=KEY, patience=patience)
        try:
            async with upstream.send(REQUEST, betas=("effort-2025-11-24",)) as events:
                return [event async for event in events]
        except UpstreamError as error:
            return error
        finally:
            await upstream.aclose()


def outcome(*answers: Answer, patience: Patience = QUICK) -> tuple[list[JsonObject] | UpstreamError, int]:
    """What came of some answers, and how often the double was asked."""
    double = UpstreamDouble(list(answers))
    result = asyncio.run(received(double, patience))
    return result, len(double.seen)


def failed(*answers: Answer, patience: Patience = QUICK) -> tuple[UpstreamError, int]:
    result, asked = outcome(*answers, patience=patience)
    assert isinstance(result, UpstreamError), result
    return result, asked


def test_the_upstream_gets_our_headers_our_key_and_the_body_as_a_stream() -> None:
    double = UpstreamDouble([HELLO])
    assert asyncio.run(received(double)) == reply_events(text("hello"))
    (seen,) = double.seen
    host = seen.headers.pop("host")
    assert seen.headers == {
        "accept": "*/*",
        "accept-encoding": "identity",
        "anthropic-beta": "effort-2025-11-24",
        "anthropic-version": "2023-06-01",
        "connection": "keep-alive",
        "content-length": str(len(json.dumps(seen.body, ensure_ascii=False, separators=(",", ":")).encode())),
        "content-type": "application/json",
        "user-agent": "hosted-agent-runner",
        "x-api-key": KEY,
    }
    assert (seen.target, seen.body, f"http://{host}") == ("/v1/messages", {**REQUEST, "stream": True}, double.url)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_passing_error_is_asked_again_until_it_passes(status: int) -> None:
    result, asked = outcome(error_answer(status), error_answer(status), HELLO)
    assert (result, asked) == (reply_events(text("hello")), 3)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 413, 418])
def test_an_error_that_stays_is_not_asked_again(status: int) -> None:
    """A redirect is no way out either: it is not followed."""
    error, asked = failed(error_answer(status, "because", location="http://127.0.0.1:1/"), HELLO)
    assert (error.status, error.brief, asked) == (status, f"the model's upstream answered {status}: because", 1)


def test_patience_ends_after_its_attempts_and_says_the_last_reason() -> None:
    error, asked = failed(error_answer(529, "Overloaded"))
    assert (error.status, error.brief, asked) == (529, "the model's upstream answered 529: Overloaded", 3)


def test_no_other_attempt_begins_after_the_total_time() -> None:
    _, asked = failed(error_answer(500), patience=Patience(attempts=50, total=0.2, first_wait=0.1, longest_wait=0.1))
    assert asked < 10


@pytest.mark.parametrize(
    ("header", "expected"), [("0.2", 0.2), ("9999", 9999.0), ("-1", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None)]
)
def test_a_retry_after_is_heard_where_it_is_a_number(header: str, expected: float | None) -> None:
    error, _ = failed(error_answer(429, retry_after=header))
    assert error.retry_after == expected


def test_a_retry_after_is_waited_for_up_to_the_longest_wait() -> None:
    async def waited(header: str) -> float:
        double = UpstreamDouble([error_answer(429, retry_after=header), HELLO])
        began = asyncio.get_running_loop().time()
        patience = Patience(attempts=2, first_wait=0.001, longest_wait=0.3)
        assert await received(double, patience) == reply_events(text("hello"))
        return asyncio.get_running_loop().time() - began

    short, long = asyncio.run(waited("0.2")), asyncio.run(waited("9999"))
    assert short >= 0.2
    assert 0.3 <= long < 60


def test_an_upstream_that_hangs_before_its_first_event_is_asked_again() -> None:
    silent, half = Answer(ending="hang"), Answer(pieces=(sse(*reply_events())[:20],), ending="hang")
    assert outcome(silent, half, HELLO) == (reply_events(text("hello")), 3)
    error, asked = failed(silent)
    assert (error.status, error.brief, asked) == (504, "the model's upstream stayed silent too long", 3)


def test_an_upstream_that_is_cut_before_its_first_event_is_asked_again() -> None:
    cut, empty = Answer(pieces=(b": hello\n\n",), ending="cut"), Answer()
    assert outcome(cut, empty, HELLO) == (reply_events(text("hello")), 3)


def test_a_first_event_that_is_an_error_is_asked_again() -> None:
    overloaded = Answer(pieces=(sse({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),))
    assert outcome(overloaded, HELLO) == (reply_events(text("hello")), 2)


@pytest.mark.parametrize("ending", ["cut", "hang"])
def test_a_stream_that_breaks_after_its_first_event_is_not_asked_again(ending: str) -> None:
    broken = Answer(pieces=(sse(*reply_events(text("hello"))[:3]),), ending=ending)
    error, asked = failed(broken, HELLO)
    assert (error.passing, asked) == (True, 1)


def test_a_stream_that_stays_open_after_its_end_is_not_waited_for() -> None:
    events = reply_events(text("a"))
    result, asked = outcome(Answer(pieces=(sse(*events),), ending="hang"), patience=Patience(read=30))
    assert (result, asked) == (events, 1)


def test_pieces_of_a_stream_may_fall_anywhere() -> None:
    data = sse(*reply_events(text("grüße 日本", pieces=["grü", "ße 日", "本"])))
    single = tuple(data[at : at + 1] for at in range(len(data)))
    assert outcome(Answer(pieces=single))[0] == reply_events(text("grüße 日本", pieces=["grü", "ße 日", "本"]))


@pytest.mark.parametrize(
    "data", [b"data: {\n\n", b"data: [1]\n\n", b'data: {"type": "ping", "type": "message_start"}\n\n', b"data: " + b"x" * 2**21]
)
def test_a_stream_of_something_else_ends_the_request(data: bytes) -> None:
    failed(Answer(pieces=(data,)))


def test_an_answer_that_is_no_stream_ends_the_request() -> None:
    error, _ = failed(Answer(headers=(("content-type", "text/html"),), pieces=(b"<html>",)))
    assert error.brief == "the model's upstream sent no event stream, or one too large event"


def test_an_encoded_answer_is_not_unpacked() -> None:
    error, _ = failed(Answer(headers=(("content-type", "text/event-stream"), ("content-encoding", "gzip")), pieces=(b"bomb",)))
    assert "an encoding nobody asked for" in error.brief


def test_no_proxy_of_the_environment_stands_before_an_upstream_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert outcome(HELLO) == (reply_events(text("hello")), 1)


def test_nobody_at_the_address_is_said_without_the_address() -> None:
    error = asyncio.run(received(UpstreamDouble([HELLO]), url="http://127.0.0.1:9"))
    assert isinstance(error, UpstreamError)
    assert error.brief == "the model's upstream cannot be reached"


def test_the_key_is_in_no_error_log_or_event(caplog: pytest.LogCaptureFixture) -> None:
    """G2: not even when the upstream repeats it."""
    caplog.set_level(logging.DEBUG)
    refused, _ = failed(error_answer(401, f"bad key {KEY}\x1b[2J" + "x" * 5000))
    said: JsonObject = {"type": "error", "error": {"type": "api_error", "message": KEY}}
    broke, _ = failed(Answer(pieces=(sse(said),)))
    assert refused.brief.startswith("the model's upstream answered 401: bad key *** [2Jxxx")
    assert refused.resolution == "check the model key the supervisor was given"
    assert len(refused.brief) < 400
    assert all(KEY not in shown for shown in (refused.diagnostics(), broke.diagnostics(), caplog.text))


def test_an_endless_error_body_is_cut() -> None:
    error, _ = failed(Answer(status=400, headers=(("content-type", "application/json"),), pieces=(b"x" * 2**20,) * 20))
    assert error.brief == "the model's upstream answered 400: X"


def test_tokens_are_counted_by_the_upstream_with_the_same_patience() -> None:
    counted = Answer(headers=(("content-type", "application/json"),), pieces=(b'{"input_tokens": 7}',))

    async def count(*answers: Answer) -> tuple[int, list[str]]:
        double = UpstreamDouble(list(answers))
        async with double.serving():
            upstream = HttpUpstream(double.url, patience=QUICK)
            try:
                return await upstream.count_tokens(REQUEST), [seen.target for seen in double.seen]
            finally:
                await upstream.aclose()

    assert asyncio.run(count(error_answer(529), counted)) == (7, ["/v1/messages/count_tokens"] * 2)
    with pytest.raises(UpstreamError, match="no token count"):
        asyncio.run(count(Answer(pieces=(b"{}",))))
