"""Well-formed requests made to be dear: a short piece many times over, wherever a request takes text or parts.

What a hostile container sends that looks as an honest one's does, but for its size (M6).
"""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import strategies as st

from runner.model import Json, JsonObject
from tests.helpers.gateway import MODEL, a_request, request_bytes

_PIECES = st.sampled_from(
    [
        *(
            "<",
            "< ",
            "<\n",
            "<s",
            "</",
            "<system-",
            "<tool_use_erro",
            "<system>",
            "<system-reminder>x</system-reminder>",
            "&lt;",
            "undeclared__",
            "\t/",
            " ",
            "x",
        ),
        *("\\", "\\n", '"', "é", "\U0001f600", "\u2028", "[[", "{", "1,", "\x00", "<\u017f"),
    ]
)
_SIZES = st.sampled_from([70_000, 300_000, 1_000_000, 4_500_000])


def _user(block: Json) -> JsonObject:
    return a_request({"role": "user", "content": [block]})


def _assistant(*blocks: Json) -> JsonObject:
    return a_request({"role": "assistant", "content": list(blocks)})


def _call(number: int, given: Json) -> JsonObject:
    return {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": given}


def _result(number: int, content: Json) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}


def _words(words: str) -> Json:
    return {"type": "text", "text": words}


def _said(words: str) -> JsonObject:
    return {"role": "user", "content": words}


def _document(words: str) -> JsonObject:
    return {"type": "document", "title": words[:900], "source": {"type": "text", "media_type": "text/plain", "data": words}}


#: Where a text stands.
_LONG: list[Callable[[str], JsonObject]] = [
    lambda words: a_request({"role": "user", "content": words}),
    lambda words: _user({"type": "text", "text": words}),
    lambda words: _user(_result(1, words)),
    lambda words: _user(_result(1, [{"type": "text", "text": words}])),
    lambda words: _user(_document(words)),
    lambda words: _assistant(_call(1, {"a": words})),
    lambda words: _assistant({"type": "thinking", "thinking": words, "signature": words[:100]}),
    lambda words: a_request(system=words),
    lambda words: a_request(tools=[{"name": "Read", "description": words, "input_schema": {"a": words}}]),
]
#: What there are many of; each is told how many, and a piece.
_MANY: list[Callable[[int, str], JsonObject]] = [
    lambda many, piece: _assistant(*[_words(piece)] * min(many, 19_000)),
    lambda many, piece: _assistant(*(_call(number, {piece: piece}) for number in range(min(many, 19_000)))),
    lambda many, piece: a_request({"role": "user", "content": [_result(number, piece) for number in range(min(many, 19_000))]}),
    lambda many, piece: _assistant(_call(1, {"a": [piece] * many})),
    lambda many, piece: _assistant(_call(1, {"a": [1.5] * many, piece: 1})),
    lambda many, piece: _assistant(_call(1, {"a": [[]] * min(many, 40_000), piece: 1})),
    lambda many, piece: _assistant(_call(1, {f"{number}{piece}": 1 for number in range(many)})),
    lambda many, piece: a_request(*[_said(piece)] * min(many, 19_000)),
]


@st.composite
def heavy(draw: st.DrawFn) -> bytes:
    """One request of up to 4.5 MB of text, or of many parts, in either operation; now and then with blanks before it."""
    piece, size = draw(_PIECES), draw(_SIZES)
    if draw(st.booleans()):
        body = draw(st.sampled_from(_LONG))(piece * (size // len(piece)))
    else:
        body = draw(st.sampled_from(_MANY))(min(size // 40, 150_000), piece)
    target = "/v1/messages?beta=true"
    if draw(st.integers(0, 4)) == 0:
        body, target = {"model": MODEL, "messages": body["messages"], "tools": []}, "/v1/messages/count_tokens?beta=true"
    data = json.dumps(body, ensure_ascii=draw(st.booleans())).encode()
    blanks = b" " * size if draw(st.integers(0, 9)) == 0 else b""
    return request_bytes(blanks + data, target=target)
