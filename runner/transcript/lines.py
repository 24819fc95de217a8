"""Writes the supervisor's own lines, each the child of the one before."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from runner.model import Json, JsonObject
from runner.transcript.values import Scribe, Told


class Lines:
    """Our lines, each the child of the one before."""

    def __init__(self, scribe: Scribe, *, parent: str | None) -> None:
        self._scribe = scribe
        self._parent = parent
        self.written: list[str] = []

    def user(self, message: JsonObject) -> None:
        """The prompt."""
        self._write({"type": "user", "message": message})

    def ask_missing(self, turn: Sequence[Told], asked: Collection[str], *, message_id: str) -> None:
        """The calls whose lines the mirror lacks; the gateway saw them.

        All lines of one reply carry one message id, or the CLI would send them as several replies.
        """
        message_id = message_id or self._message_id()
        for call in turn:
            if call.wire_id not in asked:
                self._ask(call, message_id)

    def say(self, words: str, calls: Sequence[Told] = ()) -> None:
        """A reply of the model's: its words, then its calls."""
        message_id = self._message_id()
        if words.strip():
            self._reply([{"type": "text", "text": words}], message_id)
        for call in calls:
            self._ask(call, message_id)

    def answer(self, call: Told, *, otherwise: str) -> None:
        """A call's result; `otherwise` where only the container could have given it."""
        content: list[Json] = [{"type": "text", "text": otherwise if call.text is None else call.text}]
        self.told(call, content, is_error=call.is_error or call.text is None)

    def told(self, call: Told, content: Json, *, is_error: bool) -> None:
        """A call's result in so many words, or pictures."""
        result: JsonObject = {"type": "tool_result", "tool_use_id": call.wire_id, "content": content, "is_error": is_error}
        self._write({"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": content})

    def defer(self, call: Told) -> None:
        """The line that makes the CLI ask for this call as soon as it is resumed."""
        attachment: JsonObject = {
            "type": "hook_deferred_tool",
            "toolUseID": call.wire_id,
            "toolName": call.name,
            "toolInput": dict(call.arguments),
            "hookName": "settings",
            "hookEvent": "PreToolUse",
            "permissionMode": "default",
        }
        self._write({"type": "attachment", "attachment": attachment})

    def _message_id(self) -> str:
        return f"msg_{self._scribe.new_uuid().replace('-', '')}"

    def _ask(self, call: Told, message_id: str) -> None:
        block: JsonObject = {"type": "tool_use", "id": call.wire_id, "name": call.name, "input": dict(call.arguments)}
        self._reply([block], message_id)

    def _reply(self, content: list[Json], message_id: str) -> None:
        message: JsonObject = {"role": "assistant", "type": "message", "id": message_id, "content": content}
        self._write({"type": "assistant", "message": message})

    def _write(self, fields: JsonObject) -> None:
        uuid = self._scribe.new_uuid()
        line: JsonObject = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "uuid": uuid,
            "timestamp": self._scribe.timestamp,
            "userType": "external",
            "entrypoint": "sdk-py",
            "cwd": "/workspace",
            "sessionId": self._scribe.session_id,
            "version": self._scribe.cli_version,
            "gitBranch": "HEAD",
            **fields,
        }
        self._parent = uuid
        self.written.append(json.dumps(line))
