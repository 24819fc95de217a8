"""Names of our own for the container's requests, which may use an id again at any moment."""

from __future__ import annotations

import asyncio
import json

import pytest

from runner.agent.naming import Names
from runner.agent.transport import BoxTransport
from runner.model import JsonObject
from tests.helpers.agent_gate import Kept
from tests.helpers.agent_stream import MemoryStream

ASKED: JsonObject = {"type": "control_request", "request_id": "a", "request": {"subtype": "x"}}
OFF: JsonObject = {"type": "control_cancel_request", "request_id": "a"}


def an_answer(name: str) -> str:
    return json.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": name}}) + "\n"


def name_of(names: Names, frame: JsonObject) -> str:
    shown = names.for_sdk(frame)
    assert shown is not None
    return str(shown["request_id"])


def test_an_id_that_comes_again_has_another_name_and_each_is_called_off_by_its_own() -> None:
    """Case 54: ids are the container's data."""
    names = Names()
    first = name_of(names, ASKED)
    assert name_of(names, OFF) == first
    second = name_of(names, ASKED)
    assert second != first
    assert name_of(names, OFF) == second
    assert names.for_sdk(OFF) is None


def test_an_answer_goes_to_its_own_request_once_and_under_the_containers_id() -> None:
    names = Names()
    name = name_of(names, ASKED)
    assert names.for_cli(an_answer(name)) == (an_answer("a"), "a")
    assert names.for_cli(an_answer(name)) is None
    assert names.for_cli(an_answer("a")) is None
    assert names.for_sdk(OFF) is None


@pytest.mark.parametrize("kind", ["control_response", "result"])
def test_other_frames_pass_as_they_are(kind: str) -> None:
    frame: JsonObject = {"type": kind, "response": {"request_id": "a"}}
    assert Names().for_sdk(frame) is frame


def test_an_answer_to_a_request_that_was_called_off_is_not_told_of_another_with_its_id() -> None:
    """Cases 53, 59, 93: ids are the container's data; the late yes to the first is no yes to the second."""

    async def main() -> None:
        stream = MemoryStream()
        transport = BoxTransport(stream, mirror=Kept(), watch=lambda _: None)
        await transport.connect()
        asked = {"type": "control_request", "request_id": "a", "request": {"subtype": "hook_callback"}}
        off = {"type": "control_cancel_request", "request_id": "a"}
        stream.say(asked, off, off, asked)
        frames = transport.read_messages()
        first, called_off, second = [await anext(frames) for _ in range(3)]
        assert called_off == {"type": "control_cancel_request", "request_id": first["request_id"]}
        await transport.write(an_answer(first["request_id"]))
        await transport.write(an_answer("made up"))
        assert stream.sent == []
        await transport.write(an_answer(second["request_id"]))
        await transport.write(an_answer(second["request_id"]))
        assert [line["response"]["request_id"] for line in stream.sent] == ["a"]

    asyncio.run(main())
