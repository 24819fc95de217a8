"""The closed table of tools, names, keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.model import Policy, ToolClass
from runner.policy import TOOLS, call_key, definition_digest, model_name, profile_name
from runner.policy.catalogue import NEVER, Argument, ArgumentKind, Place, Tool, is_connector, unknown_tool

CONTAINER = {"Read", "Glob", "Grep"}


def test_exactly_these_run_in_the_container() -> None:
    """Design.md §7."""
    assert {name for name, tool in TOOLS.items() if tool.place is Place.CONTAINER} == CONTAINER


#: Class, reversible, returns untrusted content, egress, unconfined, the loosest-but-one policy that runs it.
_READ = ("read", True, True, False, False, "read_only")
_WRITE = ("write", False, False, False, False, None)
_NEW = ("write", True, False, False, False, "skip")
_LOOKUP = ("read", True, True, True, True, "read_only")
_SEND = ("external_send", False, True, True, True, None)
DECLARED = {
    **dict.fromkeys(("Read", "Glob", "Grep", "ListFiles"), _READ),
    **dict.fromkeys(("Write", "Edit", "NotebookEdit"), _WRITE),
    **dict.fromkeys(("CreateFolder", "CreateDocument"), _NEW),
    **dict.fromkeys(("FetchPage", "WebFetch", "WebSearch", "MapSearch"), _LOOKUP),
    "RunCode": ("execute", False, True, True, True, "read_only"),
    "Bash": ("execute", False, True, True, True, None),
    "RunSkill": ("read", True, False, False, False, "read_only"),
    **dict.fromkeys(("BrowserStart", "BrowserOpen", "BrowserRead", "BrowserClick", "BrowserType"), _SEND),
    **dict.fromkeys(("BrowserScreenshot", "BrowserConsole", "BrowserNetwork", "BrowserDownload"), _SEND),
    "Reply": ("external_send", False, False, True, False, None),
}


def test_each_tool_is_declared_as_what_it_is() -> None:
    """R76-R87, C12, C13, P7: the closed table, whole."""
    assert {
        name: (
            tool.tool_class.value,
            tool.reversible,
            tool.returns_untrusted,
            tool.egress,
            tool.unconfined,
            tool.covered_from.value if tool.covered_from else None,
        )
        for name, tool in TOOLS.items()
    } == DECLARED
    assert all(tool.name == name and tool.description.endswith(".") for name, tool in TOOLS.items())
    assert TOOLS["Bash"].metadata() == {
        "name": "Bash",
        "class": "execute",
        "reversible": False,
        "returns_untrusted": True,
        "egress": True,
    }


def test_names_map_both_ways() -> None:
    """Issue 4 item 6: the model sees one name, everyone else the other; what the supervisor calls itself, no model can name."""
    for name in TOOLS:
        seen = model_name(name)
        assert seen == (name if name in CONTAINER else f"mcp__runner__{name}")
        assert profile_name(seen) == (None if TOOLS[name].place is Place.SUPERVISOR else name)
    assert model_name("mcp__github__post") == "mcp__runner__github__post"
    assert profile_name("mcp__runner__github__post") == "mcp__github__post"


@pytest.mark.parametrize(
    "seen",
    [
        "Write",
        "read",
        "Bash",
        "Agent",
        "mcp__runner__Read",
        "mcp__runner__write",
        "mcp__runner__",
        "mcp__runner__runner__x",
        "mcp__other__Write",
        "undeclared__Bash",
        "mcp__runner__mcp__runner__Write",
        "mcp__runner____x",
        "",
        "\ud800",
    ],
)
def test_a_name_under_which_nothing_is_offered_maps_to_nothing(seen: str) -> None:
    """Cases 44, 70, 71."""
    assert profile_name(seen) is None


def test_two_tools_never_share_a_model_name() -> None:
    names = [*TOOLS, "mcp__a__b__c", "mcp__a__b", "mcp__a-b__c", "mcp__Write__x"]

    assert len({model_name(name) for name in names}) == len(names)


def test_no_tool_of_the_cli_can_be_listed() -> None:
    assert not NEVER & TOOLS.keys()


def test_only_reads_reversible_writes_and_sandboxed_code_are_ever_covered() -> None:
    """R71, R89: no default policy runs an irreversible write, a send, or a tool nobody declared."""
    for tool in TOOLS.values():
        if tool.covered_from is Policy.READ_ONLY:
            assert tool.tool_class is ToolClass.READ or tool.name == "RunCode", tool.name
        if tool.covered_from is Policy.SKIP:
            assert tool.tool_class is ToolClass.WRITE, tool.name
            assert tool.reversible, tool.name
        assert tool.covered_from is not Policy.ASK
    assert unknown_tool("x") == Tool(name="x", description="", arguments=None)
    worst = unknown_tool("x")
    assert (worst.tool_class, worst.reversible, worst.returns_untrusted, worst.egress) == (ToolClass.UNKNOWN, False, True, True)
    assert (worst.place, worst.covered_from, worst.unconfined, worst.available) == (Place.BROKER, None, True, False)
    assert worst.json_schema() == {"type": "object"}


def test_a_confined_read_is_a_read_that_is_reversible_and_sends_nothing() -> None:
    """C2: each of the three counts."""
    read = TOOLS["Read"]

    assert read.confined_read
    assert not replace(read, tool_class=ToolClass.WRITE).confined_read
    assert not replace(read, reversible=False).confined_read
    assert not replace(read, egress=True).confined_read


def test_a_schema_says_what_the_check_checks() -> None:
    schema = Tool(
        name="T",
        description="",
        arguments=(
            Argument(name="a", about="A.", required=True),
            Argument(name="b", about="B.", kind=ArgumentKind.INTEGER, minimum=0),
            Argument(name="c", about="C.", choices=("x", "y")),
            Argument(name="d", about="D.", kind=ArgumentKind.BOOLEAN),
        ),
    ).json_schema()

    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "A."},
            "b": {"type": "integer", "description": "B.", "minimum": 0},
            "c": {"type": "string", "description": "C.", "enum": ["x", "y"]},
            "d": {"type": "boolean", "description": "D."},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_a_tool_that_reaches_out_is_unconfined_or_the_reply() -> None:
    """R51, C12."""
    assert {name for name, tool in TOOLS.items() if tool.egress and not tool.unconfined} == {"Reply"}
    assert {name for name, tool in TOOLS.items() if tool.confined_read} == {*CONTAINER, "ListFiles", "RunSkill"}


#: Arguments a call must have, and those it may have.
TAKES = {
    "Read": ("file_path", "offset limit pages allow_large"),
    "Glob": ("pattern", "path"),
    "Grep": ("pattern", "path glob output_mode -B -A -C context -n -i -o type head_limit offset multiline"),
    "ListFiles": ("", "path"),
    "Write": ("file_path content", ""),
    "Edit": ("file_path old_string new_string", "replace_all"),
    "NotebookEdit": ("notebook_path new_source", "cell_id cell_type edit_mode"),
    "CreateFolder": ("path", ""),
    "CreateDocument": ("file_path format content", ""),
    "FetchPage": ("url", ""),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query", ""),
    "MapSearch": ("query", ""),
    "RunCode": ("code", "language"),
    "Bash": ("command", "timeout description"),
    "RunSkill": ("skill", ""),
    "BrowserStart": ("goal", ""),
    "BrowserOpen": ("url", ""),
    **dict.fromkeys(("BrowserRead", "BrowserScreenshot", "BrowserConsole", "BrowserNetwork"), ("", "")),
    "BrowserClick": ("target", ""),
    "BrowserType": ("target text", ""),
    "BrowserDownload": ("target", ""),
    "Reply": ("text", ""),
}


def test_tools_take_claude_codes_arguments_and_no_others() -> None:
    """Cli.md; cases 18, 19."""
    schemas = {name: tool.json_schema() for name, tool in TOOLS.items()}

    assert {schema["additionalProperties"] for schema in schemas.values()} == {False}
    assert {
        name: (" ".join(schema["required"]), " ".join(key for key in schema["properties"] if key not in schema["required"]))  # type: ignore[arg-type, union-attr, operator]
        for name, schema in schemas.items()
    } == TAKES


def test_numbers_start_where_the_cli_lets_them() -> None:
    """Sdk.md §3."""
    least = {
        (name, argument.name): argument.minimum
        for name, tool in TOOLS.items()
        for argument in tool.arguments or ()
        if argument.kind is ArgumentKind.INTEGER
    }

    ones = {key for key, minimum in least.items() if minimum == 1}
    assert ones == {("Read", "limit"), ("Bash", "timeout")}
    assert {minimum for key, minimum in least.items() if key not in ones} == {0}


def test_a_fault_is_one_whole_sentence() -> None:
    """R50, P12; cases 18, 19."""
    read = TOOLS["Read"]

    assert [read.fault(value) for value in ({}, {"file_path": "x", "y": 1}, {"file_path": None}, {"file_path": "x"})] == [
        "The argument file_path is missing.",
        "The input has an argument that Read does not take; it takes file_path, offset, limit, pages, allow_large.",
        "The argument file_path must be a JSON string.",
        None,
    ]


def test_a_definition_digest_changes_with_any_byte_of_the_definition() -> None:
    """B2, P5."""
    write = TOOLS["Write"]
    arguments = write.arguments or ()
    variants = [
        write,
        replace(write, description=write.description + " "),
        replace(write, arguments=(replace(arguments[0], about="x"), *arguments[1:])),
        replace(write, arguments=(*arguments, Argument(name="z", about="", kind=ArgumentKind.BOOLEAN))),
        replace(write, arguments=None),
        replace(write, name="write"),
    ]

    assert len({definition_digest(tool) for tool in variants}) == len(variants)


def test_two_spellings_of_one_path_have_one_key() -> None:
    """Sdk.md §3: the hook shows a Read's path collapsed, the gateway as the model wrote it."""
    spellings = ["in.txt", "./in.txt", "/workspace/in.txt", "a/../in.txt", " in.txt", "/workspace//in.txt/"]

    assert len({call_key("Read", {"file_path": text}) for text in spellings}) == 1
    assert call_key("Read", {"file_path": "in.txt", "limit": 5}) == call_key("Read", {"limit": 5.0, "file_path": "in.txt"})
    assert call_key("Read", {"file_path": "in.txt", "pages": " "}) == call_key("Read", {"file_path": "in.txt"})
    assert call_key("Read", {"file_path": "in.txt", "pages": "1"}) != call_key("Read", {"file_path": "in.txt"})
    assert call_key("Write", {"file_path": "x", "content": ""}) != call_key("Write", {"file_path": "x"})
    assert call_key("Write", {"file_path": "x", "content": "a"}) == call_key(
        "Write", {"file_path": "/workspace/x", "content": "a"}
    )


def test_different_calls_have_different_keys() -> None:
    """B3: nothing absent is filled in, nothing but paths is touched."""
    calls = [
        call_key("Read", {"file_path": "in.txt"}),
        call_key("Read", {"file_path": "in.txt", "limit": 1}),
        call_key("Read", {"file_path": "in.txt", "limit": None}),
        call_key("Read", {"file_path": "In.txt"}),
        call_key("Read", {"file_path": "~/in.txt"}),
        call_key("Read", {"file_path": None}),
        call_key("Read", {}),
        call_key("Grep", {"pattern": "./x"}),
        call_key("Grep", {"pattern": "x"}),
        call_key("Grep", {"pattern": "x", "path": "."}),
        call_key("Edit", {"file_path": "x", "old_string": "./a", "new_string": "b"}),
        call_key("Edit", {"file_path": "x", "old_string": "a", "new_string": "b"}),
        call_key("Edit", {"file_path": "x", "old_string": "a", "new_string": "b", "replace_all": False}),
        call_key("mcp__a__b", {"file_path": "./x"}),
        call_key("mcp__a__b", {"file_path": "x"}),
    ]

    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("mcp__github__post_comment", True),
        ("mcp__a-b__c__d", True),
        ("mcp__runner__Write", False),
        ("mcp__a", False),
        ("mcp____x", False),
        ("mcp__a__", False),
        ("mcp__a b__c", False),
        ("mcp__a__b\n", False),
        ("Write", False),
    ],
)
def test_a_connectors_tool_is_known_by_its_form(name: str, is_one: bool) -> None:
    assert is_connector(name) is is_one
