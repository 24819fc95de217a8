"""Pictures and documents of a request: how many, how large, and whether they are what they are said to be.

Pure. The words of a refusal are those by which the CLI knows that a picture or document has to be left out, and goes on.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator

from runner.gateway.refusals import RequestRefusedError
from runner.gateway.values import GatewayLimits
from runner.model import Json, JsonObject

#: How the bytes of each type begin.
_BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
_WORDS = {"image": "Could not process image", "document": "The PDF specified was not valid"}


def check_media(messages: Json, limits: GatewayLimits) -> None:
    """Bound a re-built request's pictures and documents.

    Raises:
        RequestRefusedError: There are too many, one is too large, or one is not what its type says.
    """
    for number, block in enumerate(_media(messages), start=1):
        if number > limits.media:
            raise RequestRefusedError(f"a request holds at most {limits.media} pictures and documents", status=413)
        _check(block, limits)


def _check(block: JsonObject, limits: GatewayLimits) -> None:
    kind, source = str(block["type"]), block["source"]
    assert isinstance(source, dict)  # noqa: S101 - what the rules of `content` make, said to the type checker
    data, most = str(source["data"]), limits.image_bytes if kind == "image" else limits.document_bytes
    if source["type"] == "text":
        if len(data.encode()) > most:
            raise _refused(kind, f"over {most} bytes")
        return
    if len(data) > most * 4 // 3 + 4:
        raise _refused(kind, f"over {most} bytes")
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        raise _refused(kind, "no base64") from None
    if len(decoded) > most:
        raise _refused(kind, f"over {most} bytes")
    if not decoded.startswith(_BEGINNINGS[str(source["media_type"])]):
        raise _refused(kind, f"no {source['media_type']}")


def _refused(kind: str, why: str) -> RequestRefusedError:
    return RequestRefusedError(f"cannot forward the request: {_WORDS[kind]}: it is {why}")


def _media(value: Json) -> Iterator[JsonObject]:
    """Pictures and documents, in messages and in the results within them."""
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, dict):
            continue
        if item.get("type") in _WORDS:
            yield item
        else:
            yield from _media(item.get("content"))
