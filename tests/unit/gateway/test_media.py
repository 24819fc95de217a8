"""Pictures and documents of a request are bounded, and are what they say (M6, G3)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from runner.gateway import GatewayLimits, Reference, RequestRefusedError
from runner.gateway.request import read_request
from runner.model import JsonObject
from tests.helpers.gateway import MODEL, OFFERED, a_request

LIMITS = GatewayLimits(media=3, image_bytes=100, document_bytes=200)
PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-1.4\n"


def encoded(data: bytes) -> str:
    return base64.standard_b64encode(data).decode()


def block(kind: str, media_type: str, data: str, source: str = "base64") -> JsonObject:
    return {"type": kind, "source": {"type": source, "media_type": media_type, "data": data}}


def image(data: bytes = PNG, media_type: str = "image/png") -> JsonObject:
    return block("image", media_type, encoded(data))


def document(data: bytes = PDF) -> JsonObject:
    return block("document", "application/pdf", encoded(data))


def read(*blocks: Any, inside: bool = True) -> None:
    """A request with these, in a tool result or in the user's own message."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": list(blocks)}
    body = a_request({"role": "user", "content": [result] if inside else list(blocks)})
    read_request(json.dumps(body).encode(), reference=Reference(model=MODEL, offered=OFFERED), limits=LIMITS)


def refusal(*blocks: Any, inside: bool = True) -> RequestRefusedError:
    with pytest.raises(RequestRefusedError) as caught:
        read(*blocks, inside=inside)
    return caught.value


@pytest.mark.parametrize("inside", [True, False])
def test_pictures_and_documents_are_counted_together_wherever_they_stand(*, inside: bool) -> None:
    read(image(), document(), image(), inside=inside)
    assert refusal(image(), document(), image(), document(), inside=inside).status == 413


@pytest.mark.parametrize("inside", [True, False])
def test_each_is_measured_by_its_decoded_bytes(*, inside: bool) -> None:
    read(image(PNG.ljust(100)), document(PDF.ljust(200)), block("document", "text/plain", "é" * 100, "text"), inside=inside)
    assert "over 100 bytes" in refusal(image(PNG.ljust(101)), inside=inside).brief
    assert "over 200 bytes" in refusal(document(PDF.ljust(201)), inside=inside).brief
    assert "over 200 bytes" in refusal(block("document", "text/plain", "é" * 101, "text"), inside=inside).brief


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (block("image", "image/png", "iVBORw0KGgo"), "no base64"),
        (block("image", "image/png", "iVBO\nRw0KGgo="), "no base64"),
        (block("image", "image/png", "é" * 8), "no base64"),
        (block("image", "image/png", encoded(PNG) + "AAAA"), "no base64"),
        (block("image", "image/png", ""), "no image/png"),
        (image(PDF), "no image/png"),
        (image(PNG, "image/jpeg"), "no image/jpeg"),
        (image(PNG, "image/gif"), "no image/gif"),
        (image(PNG, "image/webp"), "no image/webp"),
        (document(PNG), "no application/pdf"),
        (document(b"<html>"), "no application/pdf"),
    ],
)
def test_what_is_not_what_its_type_says_is_refused_in_words_the_cli_goes_on_from(odd: JsonObject, says: str) -> None:
    """Measured on CLI 2.1.332: by these words it leaves out the one picture or document, and asks again."""
    brief = refusal(odd).brief
    known = "Could not process image" if odd["type"] == "image" else "The PDF specified was not valid"
    assert (says in brief, known in brief) == (True, True)


@pytest.mark.parametrize(
    "odd",
    [
        block("document", "text/html", "<p>", "text"),
        block("document", "application/pdf", "AAAA", "text"),
        block("document", "text/plain", "AAAA"),
        block("image", "image/svg+xml", "AAAA"),
        {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}]}},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    ],
)
def test_no_other_source_passes(odd: JsonObject) -> None:
    """G3: bytes travel inside the request, as a PDF, a plain text or a picture."""
    assert "cannot forward the request: request.messages[0].content[0].content[0].source" in refusal(odd).brief


def test_the_real_bounds_leave_room_for_what_an_agent_reads() -> None:
    limits = GatewayLimits()
    assert (limits.media, limits.image_bytes >> 20, limits.document_bytes >> 20) == (100, 5, 4)
