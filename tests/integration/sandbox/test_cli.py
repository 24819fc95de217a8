"""The real CLI does its work under our list of system calls, as a uid of its own, with read-only everything (M1, G1, G4)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.engine import ImageInfo
from runner.sandbox.launch import ContainerEngine, launch
from tests.helpers.sandbox_fixtures import an_order
from tests.integration.sandbox.inside import nobody, program

pytestmark = pytest.mark.docker

ENVIRONMENT = {
    "ANTHROPIC_UNIX_SOCKET": "/run/gateway/api.sock",
    "ANTHROPIC_BASE_URL": "http://gateway",
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
}
ARGV = (
    *("claude", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--system-prompt", "test"),
    *("--tools", "Read,Glob,Grep", "--permission-mode", "default", "--restricted", "--safe-mode", "--strict-mcp-config"),
    *("--setting-sources=", "--model", "claude-sonnet-4-5", "--no-session-persistence"),
)
TURNS: list[list[dict[str, Any]]] = [
    [
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/workspace/in.txt"}},
        {"type": "tool_use", "id": "t2", "name": "Glob", "input": {"pattern": "**/*.txt"}},
        {"type": "tool_use", "id": "t3", "name": "Grep", "input": {"pattern": "INSIDE", "output_mode": "content"}},
    ],
    [{"type": "text", "text": "all read"}],
]


def events(turn: list[dict[str, Any]]) -> bytes:
    """A turn as the Messages API streams it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    rows: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}]
    for index, block in enumerate(turn):
        empty, delta = ({**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))})
        if block["type"] == "text":
            empty, delta = ({"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]})
        rows.append({"type": "content_block_start", "index": index, "content_block": empty})
        rows.append({"type": "content_block_delta", "index": index, "delta": delta})
        rows.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if turn[0]["type"] == "tool_use" else "end_turn"
    rows.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
    rows.append({"type": "message_stop"})
    return "".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows).encode()


class Model:
    """The smallest Messages API there is, on a unix socket."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length")), 0
            )
            body = json.loads(await reader.readexactly(length) or b"{}")
            answer, kind = b'{"input_tokens": 1}', "application/json"
            if head.startswith("POST /v1/messages?") or head.startswith("POST /v1/messages "):
                self.requests.append(body)
                turn = sum(message["role"] == "assistant" for message in body["messages"])
                answer, kind = events(TURNS[min(turn, 1)]), "text/event-stream"
            lines = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
            writer.write(lines.encode() + answer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def converse(engine: ContainerEngine, folder: Path, image: ImageInfo, model: Model) -> list[dict[str, Any]]:
    """One prompt through the CLI; returns its frames."""
    order = an_order(folder, image, *ARGV, environment=ENVIRONMENT)
    path = folder / "gateway" / "api.sock"
    server = await asyncio.start_unix_server(model.serve, str(path))
    path.chmod(0o666)
    box = await launch(engine, order, on_created=nobody)
    output = b""
    try:
        prompt = {"type": "user", "message": {"role": "user", "content": "go"}, "parent_tool_use_id": None, "session_id": ""}
        await box.send(json.dumps(prompt).encode() + b"\n")
        async with asyncio.timeout(60):
            while (chunk := await box.receive()) is not None:
                output += chunk.data if chunk.stream == "out" else b""
                if b'"type":"result"' in output:
                    await box.end_input()
        assert await box.exit_code(10) == 0
    finally:
        await box.destroy()
        server.close()
        await server.wait_closed()
    return [json.loads(line) for line in output.splitlines()]


def test_the_cli_starts_and_says_its_version(engine, sandbox_image, tmp_path):
    said = program(engine, tmp_path, sandbox_image, "claude", "--version")
    assert said.out.split()[0] == sandbox_image.cli_version


def test_the_cli_reads_lists_and_searches_the_snapshot(engine, sandbox_image, tmp_path):
    (tmp_path / "snapshot" / "sub").mkdir(parents=True)
    (tmp_path / "snapshot" / "in.txt").write_text("INSIDE-DATA\n")
    (tmp_path / "snapshot" / "sub" / "b.txt").write_text("x\n")
    model = Model()
    frames = asyncio.run(converse(engine, tmp_path, sandbox_image, model))
    results = {
        block["tool_use_id"]: json.dumps(block["content"])
        for message in model.requests[-1]["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert "INSIDE-DATA" in results["t1"]
    assert "in.txt" in results["t2"]
    assert "sub/b.txt" in results["t2"]
    assert "INSIDE-DATA" in results["t3"]
    assert [frame["result"] for frame in frames if frame["type"] == "result"] == ["all read"]
