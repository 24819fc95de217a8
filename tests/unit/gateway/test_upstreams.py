"""`RUNNER_MODEL`: its three forms, and what is refused before anything starts (cli.md, G2)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from runner.errors import SettingsError
from runner.gateway import HttpUpstream, make_upstream
from runner.model import Json, JsonObject


def played(path: Path, agent: str, turn: int) -> list[JsonObject]:
    """Content blocks and deltas of a scripted turn."""
    talk: list[Json] = [{"role": "user", "content": "go"}]
    talk += [{"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}] * turn

    async def play() -> list[JsonObject]:
        upstream = make_upstream(f"scripted:{path}", key=None)(agent)
        async with upstream.send({"model": "m", "messages": talk}) as events:
            return [event async for event in events]

    return asyncio.run(play())


def said(events: list[JsonObject]) -> list[object]:
    """What a reply's blocks hold: the text, or name and input."""
    found: list[object] = []
    for event in events:
        block = event.get("content_block")
        delta = event.get("delta")
        if isinstance(block, dict) and block["type"] == "tool_use":
            found.append(block["name"])
        if isinstance(delta, dict) and event["type"] == "content_block_delta":
            found.append(delta.get("text") or delta.get("partial_json"))
    return found


def written(tmp_path: Path, value: Json | str) -> Path:
    path = tmp_path / "script.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_the_script_is_followed_by_the_count_of_assistant_messages_and_then_says_done(tmp_path: Path) -> None:
    path = written(tmp_path, [[{"type": "text", "text": "a"}, {"type": "tool_use", "name": "Read", "input": {"b": 1}}], []])
    assert said(played(path, "any", 0)) == ["a", "Read", '{"b": 1}']
    assert said(played(path, "any", 1)) == []
    assert said(played(path, "any", 2)) == ["done"]


def test_each_agent_has_its_own_script_where_there_are_several(tmp_path: Path) -> None:
    scripts: Json = {"scripts": {"a": [[{"type": "text", "text": "I am a"}]], "b": [[{"type": "text", "text": "I am b"}]]}}
    path = written(tmp_path, scripts)
    assert [said(played(path, agent, 0)) for agent in "ab"] == [["I am a"], ["I am b"]]
    with pytest.raises(SettingsError, match="it has no script for c"):
        played(path, "c", 0)


def test_an_entry_may_fix_its_ids_and_wait(tmp_path: Path) -> None:
    block: Json = {"type": "tool_use", "name": "Read", "input": {}, "id": "toolu_again"}
    events = played(written(tmp_path, [{"blocks": [block, block], "delay": 0.01}]), "any", 0)
    ids = [event["content_block"]["id"] for event in events if isinstance(event.get("content_block"), dict)]  # type: ignore[index,call-overload]
    assert ids == ["toolu_again", "toolu_again"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "not JSON"),
        ("[[]", "not JSON"),
        ('[[{"type": "text", "text": "a", "text": "b"}]]', "repeats a key"),
        ({"script": []}, '"scripts" only'),
        ({"scripts": []}, '"scripts" only'),
        ({"scripts": {"a": {}}}, "scripts.a is not a list of turns"),
        (7, "it is not a list of turns"),
        ([7], "[0] is not a list of content blocks"),
        ([{"blocks": [], "wait": 1}], "[0] must hold"),
        ([{"blocks": [], "delay": -1}], "[0].delay"),
        ([{"blocks": [], "delay": True}], "[0].delay"),
        ([[], [{"type": "image"}]], "[1][0] is not a block"),
        ([[{"type": "text"}]], "[0][0] lacks a text in 'text'"),
        ([[{"type": "text", "text": "a", "name": "b"}]], "[0][0] has the unknown key 'name'"),
        ([[{"type": "tool_use", "input": {}}]], "[0][0] lacks a text in 'name'"),
        ([[{"type": "tool_use", "name": "Read", "input": "x"}]], "[0][0].input is not an object"),
        ([[{"type": "tool_use", "name": "Read", "input": {}, "id": 3}]], "its id is none"),
    ],
)
def test_a_script_of_another_form_is_refused_with_the_place(tmp_path: Path, value: Json | str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_upstream(f"scripted:{written(tmp_path, value)}", key=None)
    assert why in caught.value.brief
    assert caught.value.resolution


def test_a_missing_script_and_one_that_is_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        make_upstream(f"scripted:{tmp_path / 'none.json'}", key=None)
    (tmp_path / "bad.json").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="cannot use the scripted model"):
        make_upstream(f"scripted:{tmp_path / 'bad.json'}", key=None)


@pytest.mark.parametrize(
    "model",
    ["", "openai", "scripted:", "ftp://host", "http://", "https://user:word@host", "http://host:99999", "http://h/?a=b"],
)
def test_a_model_of_no_known_form_is_refused(model: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_upstream(model, key=None)
    assert "word" not in caught.value.diagnostics()


def test_anthropic_needs_a_key() -> None:
    with pytest.raises(SettingsError, match="there is no key"):
        make_upstream("anthropic", key=None)
    assert isinstance(make_upstream("anthropic", key="secret")("any"), HttpUpstream)
    assert isinstance(make_upstream("anthropic", key=None, token="secret")("any"), HttpUpstream)


@pytest.mark.parametrize("url", ["http://example.org", "http://10.0.0.1:8000", "http://localhost.example.org"])
@pytest.mark.parametrize("kind", ["key", "token"])
def test_a_key_is_never_sent_in_the_clear_to_another_machine(url: str, kind: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_upstream(url, **{"key": None, kind: "secret"})
    assert "plain http to another machine" in caught.value.brief
    assert "secret" not in caught.value.diagnostics()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:1/", "http://[::1]:1", "https://example.org/base/"])
def test_a_key_may_go_to_loopback_and_over_https_and_is_never_shown(url: str) -> None:
    upstream = make_upstream(url, key="secret")("any")
    assert repr(upstream) == f"HttpUpstream({url.rstrip('/')!r}, key=***)"
