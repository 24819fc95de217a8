"""Fills the made blocks of docs/policy.md, tools.md and profiles.md from the tables the code decides by (invariant 12)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.model import Policy, Verdict
from runner.paths import Want
from runner.policy import TOOLS
from runner.policy.precedence import TABLE, Row
from runner.policy.protected import PROTECTED
from runner.policy.tool import Argument, Place, Tool
from runner.profiles import HIDE_DEFAULTS, json_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
_VERDICTS = {Verdict.ALLOW: "run", Verdict.ASK: "ask", Verdict.DENY: "deny"}
_FACTS = {
    "blocked": "the tool is blocked",
    "device_step": "the owner's own device performs the step",
    "saved_allow": "saved as always allowed",
    "saved_ask": "saved as needing approval",
    "escalated": "the escalation trips",
    "manual": "some offered tool needs approval",
    "covered": "the default policy covers the tool",
}
_WANTS = {
    Want.NEW_OR_EXISTING_FILE: "path of a file",
    Want.DIRECTORY: "path of a directory",
    Want.FILE_OR_DIRECTORY: "path of a file or directory",
}


def precedence() -> str:
    """The nine ranks."""
    rows = [
        [str(row.rank), _when(row), _VERDICTS[row.verdict], _VERDICTS[row.unattended], f"`{row.rule}`", row.says]
        for row in TABLE
    ]
    return _table(["rank", "when", "answer", "unattended", "rule", "because"], rows)


def _when(row: Row) -> str:
    said = (_FACTS[name] if wanted else f"not: {_FACTS[name]}" for name, wanted in row.when.items())
    return "; ".join(said)


def policies() -> str:
    """What each default policy covers, by itself and with strict on."""
    rows = [
        [f"`{tool.name}`", *(_covered(tool, policy) for policy in Policy), "run" if tool.confined_read else "ask"]
        for tool in TOOLS.values()
    ]
    return _table(["tool", *(f"`{policy.value}`" for policy in Policy), "the most that strict allows"], rows)


def _covered(tool: Tool, policy: Policy) -> str:
    order = list(Policy)
    return "run" if tool.covered_from is not None and order.index(policy) >= order.index(tool.covered_from) else "ask"


def catalogue() -> str:
    """Every tool with its declared metadata."""
    rows = [
        [
            f"`{tool.name}`",
            tool.tool_class.value,
            _yes(tool.reversible),
            _yes(tool.returns_untrusted),
            _yes(tool.egress),
            "container" if tool.place is Place.CONTAINER else "supervisor",
            _yes(tool.unconfined),
            "" if tool.available else "not yet",
        ]
        for tool in TOOLS.values()
    ]
    head = ["tool", "class", "can be undone", "gives untrusted text", "can carry data out", "carried out by", "unconfined", ""]
    return _table(head, rows)


def arguments() -> str:
    """Every tool with its arguments and how each is proven."""
    return "\n\n".join(f"### {tool.name}\n\n{tool.description}\n\n{_arguments(tool)}" for tool in TOOLS.values())


def _arguments(tool: Tool) -> str:
    if not tool.arguments:
        return "It takes no argument."
    rows = [[f"`{one.name}`", _kind(one), "required" if one.required else "", one.about] for one in tool.arguments]
    return _table(["argument", "what it is", "", "about"], rows)


def _kind(argument: Argument) -> str:
    if argument.path is not None:
        return _WANTS[argument.path]
    if argument.pattern:
        return "pattern"
    return f"one of {', '.join(argument.choices)}" if argument.choices else argument.kind.value


def profile_keys() -> str:
    """Every key of a profile, a table for the top and one for each table in it."""
    schema: Mapping[str, Any] = json_schema()
    parts = [_keys(schema, schema["properties"], required=schema.get("required", ()))]
    for name, key in schema["properties"].items():
        inner = _target(schema, key)
        if inner is not None:
            title = f"[[{name}]]" if key.get("type") == "array" else f"[{name}]"
            parts.append(f"### `{title}`\n\n{_keys(schema, inner['properties'], required=inner.get('required', ()))}")
    return "\n\n".join(parts)


def _target(schema: Mapping[str, Any], key: Mapping[str, Any]) -> Mapping[str, Any] | None:
    reference = key.get("$ref") or key.get("items", {}).get("$ref")
    found: Mapping[str, Any] | None = schema["$defs"][reference.rpartition("/")[2]] if reference else None
    return found


def _keys(schema: Mapping[str, Any], properties: Mapping[str, Any], *, required: Sequence[str]) -> str:
    rows = [
        [f"`{name}`", _type(schema, key), _default(key, name in required), key["description"]]
        for name, key in properties.items()
    ]
    return _table(["key", "type", "default", "what it says"], rows)


def _type(schema: Mapping[str, Any], key: Mapping[str, Any]) -> str:
    if _target(schema, key) is not None:
        return "list of tables" if key.get("type") == "array" else "table"
    if "const" in key:
        return str(key["const"])
    if "enum" in key:
        return " or ".join(f"`{word}`" for word in key["enum"])
    if "anyOf" in key:
        return _type(schema, key["anyOf"][0])
    names = {
        "array": "list of text",
        "boolean": "true or false",
        "integer": "whole number",
        "number": "number",
        "object": "table",
    }
    return names.get(key.get("type", ""), "text")


def _default(key: Mapping[str, Any], required: bool) -> str:  # noqa: FBT001 -- a cell
    if required:
        return "required"
    value = key.get("default")
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if isinstance(value, str | int | float) else ""


def hidden() -> str:
    """The default set of `hide`."""
    return ", ".join(f"`{pattern}`" for pattern in HIDE_DEFAULTS)


def protected() -> str:
    """Names that may not be written."""
    return ", ".join(f"`{name}`" for name in sorted(PROTECTED))


#: Which block of which page is made by what.
BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "policy.md": {"precedence": precedence, "policies": policies},
    "tools.md": {"catalogue": catalogue, "arguments": arguments, "protected": protected},
    "profiles.md": {"keys": profile_keys, "hidden": hidden},
}


def filled(name: str, page: str) -> str:
    """A page with its made blocks made anew.

    Raises:
        ValueError: The marks of a block are missing.
    """
    for block, make in BLOCKS[name].items():
        begin, end = f"<!-- {block}: made by make diagrams -->", f"<!-- end of {block} -->"
        head, found, rest = page.partition(begin)
        _, found_end, foot = rest.partition(end)
        if not found or not found_end:
            raise ValueError(f"docs/{name} lacks {begin} or {end}")
        page = f"{head}{begin}\n{make()}\n{end}{foot}"
    return page


def worked_profiles(page: str) -> Iterator[str]:
    """The TOML blocks of a page."""
    for block in page.split("```toml\n")[1:]:
        yield block.partition("```")[0]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _yes(value: bool) -> str:  # noqa: FBT001 -- a cell
    return "yes" if value else ""


def main() -> int:
    """Write the pages."""
    for name in BLOCKS:
        path = DOCS / name
        path.write_text(filled(name, path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
