"""What a person should know of a call's own words, whatever its tool: deceiving names, shell operators, size (V6, V10). Pure.

What follows from the files a call would change is `preview`'s. Each warning names what it found and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runner.broker.saying import Spoken, host_of
from runner.broker.values import CONTENT
from runner.fence import hidden_counts
from runner.fence.lookalikes import mixed, passes_for_ascii, scripts
from runner.fence.skeleton import skeleton
from runner.model import SERVER, Json
from runner.policy.catalogue import TOOLS

#: Characters of one text above which nobody reads every line.
LARGE = 32 * 1024
_SHELL = re.compile(r"&&|\|\||\$\(|>>|<\(|[;|&<>`\n]")
_BUILT_IN = {skeleton(name): name for name in TOOLS}
_NAMED = 60


def cautions(call: Spoken) -> tuple[str, ...]:
    """Warnings about the call's words, each once."""
    found = [*_about_tool(call.tool)]
    for path in call.paths:
        for text in dict.fromkeys((path.asked, str(path.resolved))):
            found += _about_name("path", text)
    found += _about_address(call.text("url"))
    found += _about_command(call.text("command"))
    found += _about_texts(call.arguments)
    return tuple(dict.fromkeys(found))


def _about_tool(tool: str) -> Iterator[str]:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    if tool.startswith("mcp__") and server != SERVER:
        twin = _BUILT_IN.get(skeleton(name))
        if twin is not None:
            yield f"the connector's tool is named like the built-in {twin}, and is not it"
    elif tool not in TOOLS and skeleton(tool) in _BUILT_IN:
        yield f"the tool's name looks like {_BUILT_IN[skeleton(tool)]}, and is not it"


def _about_name(what: str, text: str) -> Iterator[str]:
    kinds = hidden_counts(text)
    if kinds:
        yield f"the {what} holds hidden characters ({_listed(kinds)})"
    words = mixed(text)
    if words:
        yield f"the {what} mixes scripts in one word ({', '.join(scripts(words[0]))}: {words[0][:_NAMED]})"
    seen = passes_for_ascii(text)
    if seen is not None:
        yield f"the {what} looks like {seen[:_NAMED]} but is written with other letters"


def _about_address(url: str) -> Iterator[str]:
    if not url:
        return
    host = host_of(url)
    yield from _about_name("host", host)
    if "xn--" in host:
        yield "the host is an encoded international name"
    if "@" in url.split("//", 1)[-1].split("/", 1)[0]:
        yield "the address has a user name before its host: the host is what follows the @"
    if not host:
        yield "the address names no host"


def _about_command(command: str) -> Iterator[str]:
    if not command:
        return
    operators = list(dict.fromkeys("newline" if found == "\n" else found for found in _SHELL.findall(command)))
    if operators:
        yield f"the command holds shell operators: {' '.join(operators)}"
    words = mixed(command)
    if words:
        yield f"the command mixes scripts in one word ({', '.join(scripts(words[0]))}: {words[0][:_NAMED]})"


def _about_texts(arguments: Mapping[str, Json]) -> Iterator[str]:
    for name, value in arguments.items():
        if not isinstance(value, str):
            continue
        if len(value) > LARGE:
            yield f"{name[:_NAMED]} is large: {len(value)} characters"
        # What hides in a file's content, `preview` says by comparing.
        kinds = hidden_counts(value.replace("\r\n", "\n")) if name not in CONTENT else {}
        if kinds:
            yield f"{name[:_NAMED]} holds hidden characters ({_listed(kinds)})"


def _listed(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
