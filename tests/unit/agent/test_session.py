"""The prompt as the CLI is given it, and the options the SDK reads."""

from __future__ import annotations

import base64
import warnings

from runner.agent import Message, user_message
from runner.agent.session import sdk_options
from runner.fence import Fenced
from runner.model import Image
from tests.helpers.agent_gate import RecordingGate, a_start
from tests.helpers.builders import a_profile


def test_a_prompt_is_one_message_of_text_and_pictures() -> None:
    picture = Image(name="../x.png", media_type="image/png", data=b"\x89PNG\x00\xff")
    assert user_message(Message(text=Fenced("look at @in.txt"), images=(picture, picture))) == {
        "role": "user",
        "content": [
            {"type": "text", "text": "look at @in.txt"},
            *[
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": base64.b64encode(picture.data).decode(),
                    },
                }
            ]
            * 2,
        ],
    }


def test_nothing_is_allowed_beforehand_and_prompts_are_taken_as_they_are() -> None:
    """P10, cases 68, 73, 109."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = sdk_options(a_start(), RecordingGate())
    assert (options.allowed_tools, options.permission_mode, options.verbatim_prompts) == ([], "default", True)
    assert options.system_prompt == {"type": "custom", "prompt": "You are tested.", "snapshot": False}
    assert (options.agents, options.skills, options.env, options.plugins) == (None, None, {}, [])
    assert options.can_use_tool is not None
    assert list(options.hooks or {}) == ["PreToolUse"]
    assert isinstance(options.mcp_servers, dict)
    assert list(options.mcp_servers) == ["runner"]


def test_a_profile_without_brokered_tools_has_no_server() -> None:
    assert sdk_options(a_start(a_profile(tools=("Read",))), RecordingGate()).mcp_servers == {}
