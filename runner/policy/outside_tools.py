"""The tools that reach beyond the agent's directory: all declared, and but for `Reply` not carried out yet (design.md §7)."""

from __future__ import annotations

from runner.model import Policy, ToolClass
from runner.policy.tool import Argument, ArgumentKind, Place, Tool

_URL = Argument(name="url", about="Address of the page.", required=True)
_QUERY = Argument(name="query", about="What to look for.", required=True)


def _lookup(name: str, description: str, *arguments: Argument) -> Tool:
    """A read whose question leaves the machine and whose answer is anyone's text (R76-R78, C12)."""
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        tool_class=ToolClass.READ,
        reversible=True,
        covered_from=Policy.READ_ONLY,
    )


def _browser(name: str, description: str, *arguments: Argument) -> Tool:
    return Tool(name=name, description=description, arguments=arguments, tool_class=ToolClass.EXTERNAL_SEND)


def _text(name: str, about: str) -> Argument:
    return Argument(name=name, about=about, required=True)


OUTSIDE_TOOLS = (
    _lookup("FetchPage", "Fetches one public web page.", _URL),
    _lookup("WebFetch", "Fetches one public web page.", _URL, Argument(name="prompt", about="What to look for on it.")),
    _lookup("WebSearch", "Searches the web.", _QUERY),
    _lookup("MapSearch", "Looks a place or a route up.", _QUERY),
    Tool(
        name="RunCode",
        description="Runs code in a throw-away container without a network.",
        arguments=(_text("code", "The program."), Argument(name="language", about="Its language.")),
        tool_class=ToolClass.EXECUTE,
        covered_from=Policy.READ_ONLY,  # only with strict off (C13): it is no confined read
    ),
    Tool(
        name="Bash",
        description="Runs a shell command in a throw-away container without a network.",
        arguments=(
            _text("command", "The command."),
            Argument(name="timeout", about="Milliseconds it may take.", kind=ArgumentKind.INTEGER, minimum=1),
            Argument(name="description", about="What it does, in a few words."),
        ),
        tool_class=ToolClass.EXECUTE,
    ),
    Tool(
        name="RunSkill",
        description="Loads instructions that the operator bundled with this agent.",
        arguments=(_text("skill", "Name of the skill."),),
        tool_class=ToolClass.READ,
        reversible=True,
        returns_untrusted=False,
        egress=False,
        covered_from=Policy.READ_ONLY,
        unconfined=False,
    ),
    _browser("BrowserStart", "Starts a browser for one goal.", _text("goal", "What it is for.")),
    _browser("BrowserOpen", "Opens a page of an allowed site.", _URL),
    _browser("BrowserRead", "Reads the page's text."),
    _browser("BrowserClick", "Clicks an element.", _text("target", "Which element.")),
    _browser("BrowserType", "Types into a field.", _text("target", "Which field."), _text("text", "What to type.")),
    _browser("BrowserScreenshot", "Takes a picture of the page."),
    _browser("BrowserConsole", "Reads the page's console."),
    _browser("BrowserNetwork", "Lists the page's requests."),
    _browser("BrowserDownload", "Downloads a file of the page.", _text("target", "Which link.")),
    Tool(
        name="Reply",
        description="Hands the answer to its sender.",
        arguments=(_text("text", "The answer."),),
        tool_class=ToolClass.EXTERNAL_SEND,
        returns_untrusted=False,
        place=Place.SUPERVISOR,
        unconfined=False,
        available=True,
    ),
)
