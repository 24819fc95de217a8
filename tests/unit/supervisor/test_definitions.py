"""What is on record about the CLI's description of its tools (design.md §2.4)."""

from __future__ import annotations

import json

import pytest

from runner.errors import SandboxError
from runner.gateway import definition
from runner.policy.catalogue import TOOLS
from runner.sandbox.engine import ImageInfo
from runner.supervisor.definitions import known


def an_image(definitions: str) -> ImageInfo:
    return ImageInfo(
        id="sha256:1", tag="t", content_digest="sha256:2", size=1, cli_version="1", base="b", definitions=definitions
    )


def test_our_own_tools_have_the_catalogues_definition_and_the_clis_have_the_recorded_ones() -> None:
    found = known(an_image(json.dumps({"Read": ["sha256:a", "sha256:b"]})))
    write = {
        "name": "mcp__runner__Write",
        "description": TOOLS["Write"].told,
        "input_schema": TOOLS["Write"].json_schema(),
    }
    assert found["Read"] == {"sha256:a", "sha256:b"}
    assert found["mcp__runner__Write"] == {definition(write)}
    assert "Bash" not in found


@pytest.mark.parametrize("definitions", ["", "{", "[]", '"x"', '{"Read": 1}', "null"])
def test_an_image_without_a_record_starts_no_run_and_says_what_to_do(definitions: str) -> None:
    with pytest.raises(SandboxError, match="not on record") as caught:
        known(an_image(definitions))
    assert caught.value.resolution == "runner image build"
