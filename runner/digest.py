"""Strict JSON and the digests that bind a decision to exact bytes.

Owns parsing that refuses instead of repairing (B2, B3) and SHA-256 over domain-separated canonical JSON (RFC 8785). Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import rfc8785

from runner.model import Digest, Json, JsonObject, ToolCall

MAX_DEPTH = 64
#: Integers beyond ±(2^53-1) mean different numbers to different readers (RFC 8785, I-JSON).
MAX_INTEGER = 2**53 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = re.compile(r'(?:\\.)++|["{}\[\]]', re.DOTALL)
#: Characters that are searched before any other thread has a turn: the interpreter waits for a search to end.
_STRETCH = 256 * 1024


class MalformedJsonError(ValueError):
    """The text is no JSON that every reader would read alike; the message says why."""


def objects(value: Json) -> list[JsonObject]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def parse_strict(
    text: str, *, max_depth: int = MAX_DEPTH, max_parts: int | None = None, allow_surrogates: bool = False
) -> Json:
    """Parse JSON, refusing what two parsers might read differently.

    Args:
        text: The JSON text as received.
        max_depth: How deep objects and lists may nest.
        max_parts: How many objects and lists there may be in all; None: any number.
        allow_surrogates: Let lone surrogates pass: for the CLI's frames, which cut text inside a pair and are never hashed.

    Raises:
        MalformedJsonError: Not JSON; a duplicate key; NaN or Infinity; a number outside the exact range; a lone surrogate;
            deeper than `max_depth`; more than `max_parts`.
    """
    parts, depth = _nesting(text)
    if depth > max_depth:
        raise MalformedJsonError(f"nested deeper than {max_depth} levels")
    if max_parts is not None and parts > max_parts:
        raise MalformedJsonError(f"it holds more than {max_parts} objects and lists")
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_exact_float,
            parse_int=_exact_int,
        )
    except MalformedJsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedJsonError(f"not JSON: {error}") from None
    if not allow_surrogates:
        _no_surrogates(value)
    return value


def parse_call(tool: str, raw: str) -> ToolCall:
    """A `ToolCall` from the exact text of its input; what is malformed is kept as a fault, never repaired."""
    try:
        value = parse_strict(raw)
    except MalformedJsonError as error:
        return ToolCall(tool=tool, raw=raw, input=None, fault=str(error))
    if not isinstance(value, dict):
        return ToolCall(tool=tool, raw=raw, input=None, fault="the input is not a JSON object")
    return ToolCall(tool=tool, raw=raw, input=value)


def canonical(value: Json) -> bytes:
    """RFC 8785 bytes of a value that `parse_strict` accepted.

    Raises:
        MalformedJsonError: The value has no canonical form.
    """
    try:
        return rfc8785.dumps(cast("JsonObject", value))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise MalformedJsonError(f"no canonical form: {error}") from None


def digest_json(domain: str, value: Json) -> Digest:
    """SHA-256 over `domain`, a NUL and the canonical JSON of `value`; two domains never share a digest."""
    return Digest("sha256:" + hashlib.sha256(domain.encode() + b"\0" + canonical(value)).hexdigest())


def digest_bytes(data: bytes) -> Digest:
    """Plain SHA-256 of a file's bytes: pre-images and post-images."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())


def call_digest(*, tool: str, definition: Digest, arguments: Mapping[str, Json], paths: Sequence[str]) -> Digest:
    """What a call is: tool, the tool's definition, exact input, where its paths lead (B2).

    Args:
        tool: The profile's name for the tool.
        definition: Digest of the tool's schema and description as offered.
        arguments: The strictly parsed input.
        paths: Resolved paths, in argument order.
    """
    fields: JsonObject = {"tool": tool, "definition": definition, "input": dict(arguments), "paths": list(paths)}
    return digest_json("runner.call.v1", fields)


def approval_digest(*, call: Digest, run: str, approval: str, nonce: str, pre_images: Mapping[str, str | None]) -> Digest:
    """What a decision carries: this very request, in the world it was proposed in (B2, B6).

    Args:
        call: The `call_digest`.
        run: Run id.
        approval: Approval id.
        nonce: Random text of this row.
        pre_images: Real path → SHA-256 of its bytes, None where the file is absent.
    """
    fields: JsonObject = {"call": call, "run": run, "id": approval, "nonce": nonce, "pre_images": dict(pre_images)}
    return digest_json("runner.approval.v1", fields)


def _nesting(text: str) -> tuple[int, int]:
    """How many objects and lists a JSON text has and how deep they nest, without recursion, before a parser sees it."""
    parts = deepest = depth = 0
    inside = False
    for mark in _marks(text):
        if mark == '"':
            inside = not inside
        elif not inside and mark in "{[":
            parts, depth = parts + 1, depth + 1
            deepest = max(deepest, depth)
        elif not inside and mark in "}]":
            depth -= 1
    return parts, deepest


def _marks(text: str) -> Iterator[str]:
    """Quotes, brackets and runs of escaped characters, in stretches; none ends between a backslash and its character."""
    start = 0
    while start < len(text):
        end = min(start + _STRETCH, len(text))
        last = start
        for token in _MARK.finditer(text, start, end):
            last = token.end()
            yield token.group()
        # A backslash at the end of a stretch begins the next: what it escapes stands there.
        start = end - 1 if end < len(text) and last < end and text[end - 1] == "\\" else end


def _unique(pairs: list[tuple[str, Json]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise MalformedJsonError("an object repeats a key")
    return value


def _no_constant(name: str) -> Json:
    raise MalformedJsonError(f"{name} is not a JSON number")


def _exact_float(text: str) -> float:
    value = float(text)
    if abs(value) > MAX_INTEGER:  # its canonical text may be an integer that another reader rounds, or this one refuses
        raise MalformedJsonError("a number is out of range")
    return value


def _exact_int(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > MAX_INTEGER:
        raise MalformedJsonError("an integer is beyond 2^53-1")
    return int(text)


def _no_surrogates(value: Json) -> None:
    todo: list[Json] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            if not item.isascii() and any(_SURROGATE.search(item, at, at + _STRETCH) for at in range(0, len(item), _STRETCH)):
                raise MalformedJsonError("a lone surrogate is not text")
        elif isinstance(item, dict):
            todo.extend(item.keys())
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
