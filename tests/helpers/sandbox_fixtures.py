"""The real engine and the real image, once per test session; `tests/conftest.py` makes them known to every tier."""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.app import build_image
from runner.model import Digest, Limits, RunId
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import LaunchOrder, Mounts, reap
from runner.settings import load_settings

#: Names this test session's containers, so that no other session's are touched.
OWNER = f"test-{secrets.token_hex(8)}"


def bundled_cli() -> Path:
    """The CLI of the installed SDK."""
    found = importlib.util.find_spec("claude_agent_sdk")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "_bundled" / "claude"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine of this machine; without one the docker tier fails, it does not skip."""
    engine = Engine()
    yield engine
    asyncio.run(reap(engine, owner=OWNER, keep=()))
    engine.close()


@pytest.fixture(scope="session")
def sandbox_image(engine: Engine) -> ImageInfo:
    """The sandbox image, built when it is not there yet."""

    def tell(line: str) -> None:
        print(line, file=sys.stderr)

    return asyncio.run(build_image(load_settings(), base=None, progress=tell))


def an_order(folder: Path, image: ImageInfo, *argv: str, **changes: object) -> LaunchOrder:
    """An order for a container over `folder`/snapshot and `folder`/gateway, which are made when they are not there."""
    for name in ("snapshot", "gateway"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(0o755)
    fields: dict[str, object] = {
        "run": RunId("r_0000000000000000"),
        "segment": 1,
        "attempt": 1,
        "agent": "scribe",
        "profile_digest": Digest("sha256:" + "0" * 64),
        "uid": 10007,
        "image": image,
        "argv": argv or ("cat",),
        "environment": {"ANTHROPIC_API_KEY": "none"},
        "mounts": Mounts(snapshot=folder / "snapshot", gateway=folder / "gateway"),
        "limits": Limits(),
        "owner": OWNER,
    }
    return LaunchOrder(**{**fields, **changes})  # type: ignore[arg-type]
