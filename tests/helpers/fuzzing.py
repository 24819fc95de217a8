"""Requests of every kind for the gateway's socket, and what must hold of any of them (M6; cases 70-72, G3).

`tests/properties` plays a sample, `python -m campaigns.fuzz` plays for as long as it is told.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from runner.gateway import GatewayLimits
from runner.gateway.request import BETAS
from runner.model import Json
from tests.helpers.burden import MIB, MOST_STALLED, Burden, baseline, watched
from tests.helpers.gateway import MODEL, OFFERED, Desk, MemoryUpstream, a_gateway, a_request, ask, raw
from tests.helpers.upstream import reply_events, text, tool_use

#: What may be forwarded, by key and by kind of block; nothing else may ever be seen upstream.
KEYS = {
    *("model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "temperature"),
    *("top_p", "top_k", "thinking", "context_management", "output_config"),
}
KINDS = {
    *("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "base64", "ephemeral", "direct"),
    *("auto", "any", "none", "tool", "enabled", "disabled", "adaptive", "clear_thinking_20251015", "thinking_turns", "custom"),
}
STATUSES = {200, 400, 403, 404, 405, 408, 411, 413, 415}
LIMITS = GatewayLimits(
    connections=64,
    head_seconds=0.1,
    body_seconds=0.1,
    body_bytes=64 * 1024,
    body_items=4096,
    burst=10**9,
    per_second=1e9,
    refusals=10**9,
)

#: For what is dear and well formed: the door's own bounds, and time to send it.
HEAVY_LIMITS = replace(LIMITS, body_bytes=32 * MIB, body_items=1_000_000, head_seconds=10.0, body_seconds=60.0)

_WORDS = st.sampled_from(
    [
        *("text", "image", "document", "tool_use", "tool_result", "server_tool_use", "web_search_20250305", "url", "file"),
        *("base64", "ephemeral", "user", "assistant", "system", "Read", "Bash", "mcp__runner__Write", MODEL, "https://x.test/"),
        *("image/png", "application/pdf", "container_upload", "file_1", "", "\ud800", "\x00", "a" * 300),
    ]
)
_NAMES = st.sampled_from(
    [
        *("type", "text", "source", "content", "url", "file_id", "name", "input", "id", "tool_use_id", "data", "media_type"),
        *("role", "model", "messages", "system", "tools", "tool_choice", "max_tokens", "mcp_servers", "container", "metadata"),
        *("stream", "thinking", "cache_control", "input_schema", "citations", "__proto__", "betas", "service_tier"),
    ]
)
_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), _WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_NAMES, inner, max_size=5)),
    max_leaves=15,
)
_METHODS = st.sampled_from(["POST", "GET", "PUT", "OPTIONS", "CONNECT", "TRACE", "post", "P OST", "POST\t", "PRI", "é"])
_TARGETS = st.sampled_from(
    [
        *("/v1/messages", "/v1/messages?beta=true", "/v1/messages/count_tokens", "/v1/files", "/v1/messages/batches", "*", "/"),
        *(
            "//v1/messages",
            "/v1/%6dessages",
            "/v1/../v1/messages",
            "http://gateway/v1/messages",
            "x.test:443",
            "/v1/messages#x",
        ),
        *("/v1/messages\t", "/v1/messages ", "/v1/messages?\r\nx: y", "/v1/messages\x00", "?", "/V1/messages"),
    ]
)
_HEADERS = st.sampled_from(
    [
        *("content-length: 0", "content-length: 5", "Content-Length: 99999999999", "content-length: -1", "content-length:\t7"),
        *("transfer-encoding: chunked", "Transfer-Encoding : chunked", "transfer-encoding: identity", "te: trailers"),
        *("content-encoding: gzip", "content-type: text/plain", "content-type: multipart/form-data; boundary=x", "expect: x"),
        *("host: api.anthropic.com", "host:", "host: a@b", "upgrade: h2c", "connection: upgrade", "connection: keep-alive"),
        *("anthropic-beta: files-api-2025-04-14", "anthropic-beta: effort-2025-11-24,x", "authorization: Bearer x"),
        *(
            "x-api-key: y",
            "anthropic-version: 1999-01-01",
            "x-a: b\r\n folded",
            "x-a: \x00",
            ": nameless",
            "no colon",
            "trailer: x",
        ),
    ]
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A good body with something else in a place or two, or none at all."""
    body = a_request()
    for _ in range(draw(st.integers(0, 3))):
        body[draw(_NAMES)] = draw(_VALUES)
    if draw(st.booleans()):
        content: list[Json] = draw(st.lists(_VALUES, max_size=3))
        body["messages"] = [{"role": draw(_WORDS), "content": content}]
    made = json.dumps(body, allow_nan=True).encode()
    return draw(
        st.one_of(st.just(made), st.just(made * 2), st.binary(max_size=200), st.just(made.replace(b'"text"', b'"type"')))
    )


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """One request: mostly whole, with a part or a few bytes of it changed."""
    body = draw(bodies())
    method, target = ("POST", "/v1/messages?beta=true") if draw(st.booleans()) else (draw(_METHODS), draw(_TARGETS))
    length = len(body) if draw(st.integers(0, 4)) else draw(st.integers(0, 400))
    fields = ["host: gateway", "content-type: application/json", f"content-length: {length}"]
    for header in draw(st.lists(_HEADERS, max_size=3)) if draw(st.booleans()) else []:
        fields.insert(draw(st.integers(0, len(fields))), header)
    version = draw(st.sampled_from(["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/2.0", "HTTP/9.9", ""]))
    head = "\r\n".join([f"{method} {target} {version}", *fields]).encode("utf-8", "surrogatepass")
    data = bytearray(head + draw(st.sampled_from([b"\r\n\r\n"] * 6 + [b"\n\n", b"\r\n", b"\r\r\n\r\n"])) + body)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 5]))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    behind = draw(st.sampled_from([b"", b"", b"", b"POST /v1/files HTTP/1.1\r\nhost: x\r\n\r\n", b"\r\n"]))
    return bytes(data) + behind


class Faults(logging.Handler):
    """Notes errors of ours."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def check(sent: Sequence[bytes], limits: GatewayLimits = LIMITS) -> None:
    """Send them all at once: whatever they are, the door stays in order, lets out nothing that it should not, and gives way.

    None keeps the loop longer than a multiple of what reading a long text once does, and all of them together grow the process
    by no more than a part of them for each sender, which is this process too, and a multiple of the largest for the door.
    """
    upstream, desk, faults = MemoryUpstream(reply_events(text("fine"), tool_use("Read", "{}"))), Desk(), Faults()

    async def main() -> tuple[list[bytes], Burden]:
        with tempfile.TemporaryDirectory() as folder:
            async with a_gateway(Path(folder), upstream, desk, limits=limits) as gateway:
                async with watched() as burden:
                    answers = await asyncio.gather(*(raw(Path(folder), data) for data in sent))
                assert (await ask(Path(folder), a_request())).status == 200, "the door is shut"
                assert all(reason.isprintable() and len(reason) <= 300 for reason in gateway.refusals)
                return answers, burden

    most = MOST_STALLED * baseline()
    logging.getLogger("runner").addHandler(faults)
    logging.getLogger("asyncio").addHandler(faults)
    try:
        answers, burden = asyncio.run(main())
    finally:
        logging.getLogger("runner").removeHandler(faults)
        logging.getLogger("asyncio").removeHandler(faults)
    assert faults.found == [], faults.found
    sizes = [len(data) for data in sent] or [0]
    assert burden.stall < most, f"{burden.stall:.3f} s of work in one piece, at most {most:.3f}: {_beginnings(sent)}"
    assert burden.grown < 64 * MIB + 2 * sum(sizes) + 16 * max(sizes), f"{burden.grown} bytes for {sizes}: {_beginnings(sent)}"
    _check_answers(answers)
    _check_forwarded(upstream)


def _beginnings(sent: Sequence[bytes]) -> list[bytes]:
    return [data[:300] for data in sent]


def _check_answers(answers: Sequence[bytes]) -> None:
    for answer in answers:
        assert answer == b"" or int(answer[9:12]) in STATUSES, answer[:200]
        assert answer.count(b"HTTP/1.1 ") <= 1, "two answers on one connection"


def _check_forwarded(upstream: MemoryUpstream) -> None:
    for body, betas in zip(upstream.requests, upstream.betas, strict=False):
        assert set(body) <= KEYS, body
        assert body["model"] == MODEL
        assert set(betas) <= BETAS
    for body in upstream.requests:
        assert _kinds(body["messages"]) | _kinds(body.get("system")) <= KINDS, body
        tools = body.get("tools", [])
        assert isinstance(tools, list)
        assert {tool["name"] for tool in tools if isinstance(tool, dict)} <= OFFERED


def _kinds(value: Json) -> set[str]:
    """Every `type` outside free-form inputs."""
    if isinstance(value, list):
        return {kind for item in value for kind in _kinds(item)}
    if not isinstance(value, dict):
        return set()
    found = {str(value["type"])} if "type" in value else set()
    return found | {kind for key, item in value.items() if key not in {"input", "input_schema"} for kind in _kinds(item)}
