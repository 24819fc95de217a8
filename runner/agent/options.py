"""What the CLI is started with: argument list, settings, environment (sdk.md §2, §4, §7).

Every flag closes something that was measured; `start-up drift` in `drift` checks that they took effect.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from claude_agent_sdk import __version__ as sdk_version
from claude_agent_sdk._cli_version import __cli_version__ as cli_version

from runner.errors import ConfigurationError
from runner.model import SERVER, Profile
from runner.policy.catalogue import TOOLS, Place

#: Linux refuses one argument over 128 KiB; the prompt and its fence rule must fit.
MAX_SYSTEM_PROMPT = 120 * 1024

#: One ask rule for every tool: the second of two gates, each enough alone (sdk.md §2A).
ASK_EVERYTHING = {"permissions": {"ask": ["*"]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of the CLI."""

    profile: Profile
    session_id: str  #: ours, a UUID
    system_prompt: str  #: the profile's, then the fence's rule
    resume: bool = False  #: a transcript was restored from /run/session


def bundled_cli() -> Path:
    """The CLI binary inside the installed SDK wheel, so that both versions always match."""
    return Path(str(files("claude_agent_sdk") / "_bundled" / "claude"))


def versions() -> tuple[str, str]:
    """Versions of the SDK and of the CLI it bundles."""
    return sdk_version, cli_version


def container_tools(profile: Profile) -> tuple[str, ...]:
    """The profile's tools that the CLI itself carries out, in the profile's order."""
    return tuple(
        name for name in profile.tools if name in TOOLS and TOOLS[name].available and TOOLS[name].place is Place.CONTAINER
    )


def brokered_tools(profile: Profile) -> tuple[str, ...]:
    """The profile's tools that the supervisor carries out, in the profile's order."""
    return tuple(
        name for name in profile.tools if name in TOOLS and TOOLS[name].available and TOOLS[name].place is Place.BROKER
    )


def argv(start: Start) -> tuple[str, ...]:
    """The CLI's argument list.

    Raises:
        ConfigurationError: The system prompt does not fit in one argument.
    """
    if len(start.system_prompt.encode()) > MAX_SYSTEM_PROMPT or "\0" in start.system_prompt:
        raise ConfigurationError(
            f"cannot start the agent: its system prompt is over {MAX_SYSTEM_PROMPT} bytes or holds a NUL",
            resolution="shorten system_prompt in the profile",
        )
    servers = {"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}} if brokered_tools(start.profile) else {"mcpServers": {}}
    return (
        "claude",
        *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
        *("--permission-prompt-tool", "stdio", "--permission-mode", "default"),
        *("--restricted", "--safe-mode", "--strict-mcp-config", "--setting-sources=", "--disable-slash-commands"),
        *("--tools", ",".join(container_tools(start.profile))),
        *("--settings", json.dumps(ASK_EVERYTHING)),
        *("--mcp-config", json.dumps(servers)),
        # With "=", so that no value can be read as a flag, whatever it begins with.
        *(f"--model={start.profile.model}", f"--system-prompt={start.system_prompt}"),
        *("--session-mirror", f"--resume={start.session_id}" if start.resume else f"--session-id={start.session_id}"),
    )


def environment() -> dict[str, str]:
    """The CLI's whole environment; nothing is inherited, and the key is a placeholder (G2)."""
    return {
        "HOME": "/home/agent",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "ANTHROPIC_UNIX_SOCKET": "/run/gateway/api.sock",
        "ANTHROPIC_BASE_URL": "http://gateway",  # https would speak TLS over the socket and hang (G4)
        "ANTHROPIC_API_KEY": "placeholder-the-gateway-has-the-key",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_CRON": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "DISABLE_COMPACT": "1",  # a summary is asked for under another system prompt, which the gateway refuses
        "CLAUDE_CODE_MAX_RETRIES": "2",  # the gateway retries; the CLI shows its answer soon
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
