"""Requests over the real socket: the route table, what is refused, and errors that come back as they were raised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from runner.api.access import Access
from runner.api.client import Client
from runner.api.errors import error_body, error_from
from runner.api.routes import ROUTES
from runner.errors import DigestMismatchError, NotFoundError, RunnerError, UsageError, every_error
from runner.model import OWNER, Capture
from tests.helpers.fake_service import APPROVAL, CAPTURE, DIGEST, RUN, FakeService, served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    """One socket for all tests: a server takes longer to stop than most tests take."""
    fake = FakeService()
    directory = tmp_path_factory.mktemp("run")
    directory.chmod(0o700)
    with served(fake, directory) as path:
        yield fake, path


@pytest.fixture
def service(shared: tuple[FakeService, Path]) -> FakeService:
    fake, _ = shared
    vars(fake).clear()
    vars(fake).update(vars(FakeService()))
    return fake


@pytest.fixture
def path(shared: tuple[FakeService, Path], service: FakeService) -> Path:
    return shared[1]


@pytest.fixture
def client(path: Path) -> Iterator[Client]:
    with Client(path) as found:
        yield found


@pytest.fixture
def http(path: Path) -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), base_url="http://runner") as found:
        yield found


def test_a_capture_is_parsed_bounded_and_the_owners(client: Client, service: FakeService) -> None:
    assert client.post("captures", body={"agent": "scribe", "note": "hello"}) == {"capture": CAPTURE, "run": RUN}
    assert service.asked == [("send", (Capture(agent="scribe", note="hello"), OWNER))]


def test_a_decision_carries_digest_reason_and_the_kernels_uid(client: Client, service: FakeService) -> None:
    """B4, W4."""
    client.post("approvals", APPROVAL, "approve", body={"digest": DIGEST, "reason": "fine"})
    name, found = service.asked[0]
    assert (name, found[0], found[1]) == ("approve", DIGEST, "fine")  # type: ignore[index]
    assert found[2].channel == "control socket"  # type: ignore[index]


def test_an_error_comes_back_as_it_was_raised(client: Client, service: FakeService) -> None:
    with pytest.raises(DigestMismatchError, match="not what is queued") as caught:
        client.post("approvals", APPROVAL, "approve", body={"digest": "sha256:0", "reason": None})
    assert caught.value.exit_code == 6
    assert service.decisions == []


@pytest.mark.parametrize("kind", every_error().values(), ids=lambda kind: kind.code)
def test_every_error_survives_the_wire(kind: type[RunnerError]) -> None:
    back = error_from(json.loads(json.dumps(error_body(kind("cannot x: y", details="d", resolution="r")))))
    assert (type(back), back.brief, back.details, back.resolution) == (kind, "cannot x: y", "d", "r")


@pytest.mark.parametrize("body", [None, [], {}, {"error": "x"}, {"error": {"code": "usage"}}])
def test_an_answer_of_another_shape_is_an_error_too(body: object) -> None:
    assert type(error_from(body)) is RunnerError


def test_an_unknown_route_and_method_are_refused(http: httpx2.Client) -> None:
    assert (http.get("/v1/secrets").status_code, http.get("/").status_code, http.get("/openapi.json").status_code) == (
        404,
        404,
        404,
    )
    assert http.get("/v1/nothing").json()["error"]["code"] == "not_found"
    assert http.put("/v1/status").status_code == 405
    assert http.get(f"/v1/approvals/{APPROVAL}/approve").status_code == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:80"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://x/"},
        {"X-Forwarded-For": "1.1.1.1"},
    ],
)
def test_what_a_browser_sends_is_refused(headers: dict[str, str], http: httpx2.Client, service: FakeService) -> None:
    """C3: DNS rebinding, pages, proxies."""
    answer = http.post(f"/v1/approvals/{APPROVAL}/approve", json={"digest": DIGEST}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed")
    assert service.decisions == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"digest": "%s"}' % DIGEST.encode(), "text/plain"),
        (b'{"digest": "x", "digest": "%s"}' % DIGEST.encode(), "application/json"),
        (b"[]", "application/json"),
        (b"\xff", "application/json"),
        (b"{}", "application/json"),
        (b'{"digest": 7}', "application/json"),
        (b'{"digest": "%s"}' % (b"x" * 70_000), "application/json"),
        (b"", "application/json"),
    ],
)
def test_a_body_that_is_not_exactly_right_decides_nothing(
    content: bytes, kind: str, http: httpx2.Client, service: FakeService
) -> None:
    answer = http.post(f"/v1/approvals/{APPROVAL}/approve", content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "usage")
    assert service.decisions == []


def test_a_body_without_a_length_is_bounded_too(http: httpx2.Client, service: FakeService) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 4096

    answer = http.post(f"/v1/approvals/{APPROVAL}/deny", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert service.decisions == []


def test_a_segment_of_the_path_cannot_become_another_route(client: Client, service: FakeService) -> None:
    """An id is quoted: nothing a person pastes reaches another operation."""
    with pytest.raises(NotFoundError):
        client.post("approvals", "../approvals/" + APPROVAL, "deny", body={})
    assert service.decisions == []


def test_a_wait_is_bounded(client: Client, service: FakeService) -> None:
    client.wait("runs", RUN, version=3, seconds=10_000)
    assert service.asked == [("wait_run", (3, 30.0))]


def test_a_bug_of_ours_is_an_error_without_its_text(path: Path, service: FakeService) -> None:
    """V3: an exception's text stays in the log."""

    async def broken() -> dict[str, object]:
        raise ZeroDivisionError("secret\x1b[2J")

    service.status = broken  # type: ignore[method-assign, assignment]
    with Client(path) as client, pytest.raises(RunnerError) as caught:
        client.record("status")
    assert caught.value.brief == "cannot answer: ZeroDivisionError in the supervisor"


def test_every_route_states_its_access_and_only_reads_lack_a_body() -> None:
    """The table is the whole of the API: nothing changes by GET (C2)."""
    assert {(route.method, route.cap > 0) for route in ROUTES} == {("GET", False), ("POST", True)}
    assert all(route.access is Access.READ for route in ROUTES if route.method == "GET")
    assert all(route.access is not Access.READ for route in ROUTES if route.method == "POST")


def test_a_list_filter_reaches_the_service(client: Client, service: FakeService) -> None:
    client.get("approvals", run=RUN, state=["pending", "done"])
    client.get("runs", agent="scribe", state=None)
    assert service.asked == [("approvals", (RUN, ["pending", "done"])), ("runs", ("scribe", None))]


def test_a_wrong_wait_is_usage(http: httpx2.Client) -> None:
    assert http.get(f"/v1/runs/{RUN}/wait", params={"version": "x"}).json()["error"]["code"] == UsageError.code
    assert http.get(f"/v1/runs/{RUN}/wait", params={"seconds": "soon"}).json()["error"]["code"] == UsageError.code


@pytest.mark.parametrize(("answer", "happened"), [("happened", True), ("not-happened", False)])
def test_settling_takes_a_word_and_never_a_default(
    answer: str, happened: bool, client: Client, http: httpx2.Client, service: FakeService
) -> None:
    """B9: nothing that a client leaves out or misspells says what became of an effect."""
    service.approval_row["state"] = "unknown"
    for body in ({}, {"answer": "maybe"}, {"answer": True}, {"answer": None}):
        assert http.post(f"/v1/approvals/{APPROVAL}/settle", json=body).status_code == 400
    assert service.decisions == []
    client.post("approvals", APPROVAL, "settle", body={"answer": answer, "reason": "I looked"})
    name, found = service.asked[0]
    assert (name, found[:2]) == ("settle", (happened, "I looked"))  # type: ignore[index]


def test_the_log_is_read_from_a_place_on(client: Client, service: FakeService) -> None:
    assert [event["seq"] for event in client.log(after=1)["events"]] == [2]  # type: ignore[index, union-attr]
    assert client.log(after=2, limit=5, seconds=9_000) == {"events": [], "next": 2}
    assert service.asked == [("log", (1, 100, 0.0)), ("log", (2, 5, 30.0))]
