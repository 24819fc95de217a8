"""The tools that work on the agent's directory: Claude Code's names and exactly its arguments (cli.md)."""

from __future__ import annotations

from runner.model import Policy, ToolClass
from runner.paths import Want
from runner.policy.tool import Argument, ArgumentKind, Place, Tool


def _number(name: str, about: str, *, minimum: int = 0) -> Argument:
    return Argument(name=name, about=about, kind=ArgumentKind.INTEGER, minimum=minimum)


def _switch(name: str, about: str) -> Argument:
    return Argument(name=name, about=about, kind=ArgumentKind.BOOLEAN)


def _read(name: str, description: str, arguments: tuple[Argument, ...], *, place: Place = Place.CONTAINER) -> Tool:
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        tool_class=ToolClass.READ,
        reversible=True,
        egress=False,
        place=place,
        covered_from=Policy.READ_ONLY,
        unconfined=False,
        available=place is Place.CONTAINER,
    )


def _write(name: str, description: str, arguments: tuple[Argument, ...]) -> Tool:
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        tool_class=ToolClass.WRITE,
        returns_untrusted=False,
        egress=False,
        unconfined=False,
        available=True,
    )


def _make(name: str, description: str, arguments: tuple[Argument, ...], *, available: bool = False) -> Tool:
    """A tool that only ever adds something new: reversible, and covered by `skip` (R70)."""
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        tool_class=ToolClass.WRITE,
        reversible=True,
        returns_untrusted=False,
        egress=False,
        covered_from=Policy.SKIP,
        unconfined=False,
        available=available,
    )


_WAITS = "The call waits until a person approves it; carry on as if it may be refused."
_FILE = "Path beneath the workspace: relative, or absolute under /workspace."

FILE_TOOLS = (
    _read(
        "Read",
        "Reads a file of the workspace.",
        (
            Argument(name="file_path", about=_FILE, required=True, path=Want.NEW_OR_EXISTING_FILE),
            _number("offset", "First line to read."),
            _number("limit", "How many lines to read.", minimum=1),
            Argument(name="pages", about="Page range of a PDF.", blank_is_absent=True),
            _switch("allow_large", "Read a text file over the usual size."),
        ),
    ),
    _read(
        "Glob",
        "Lists files of the workspace by name pattern.",
        (
            Argument(name="pattern", about="Glob pattern.", required=True, pattern=True),
            Argument(name="path", about="Directory to search.", path=Want.DIRECTORY),
        ),
    ),
    _read(
        "Grep",
        "Searches the contents of files of the workspace.",
        (
            Argument(name="pattern", about="Regular expression.", required=True),
            Argument(name="path", about="File or directory to search.", path=Want.FILE_OR_DIRECTORY),
            Argument(name="glob", about="Glob pattern of the files to search.", pattern=True),
            Argument(name="output_mode", about="What to show.", choices=("content", "files_with_matches", "count")),
            _number("-B", "Lines before each match."),
            _number("-A", "Lines after each match."),
            _number("-C", "Lines around each match."),
            _number("context", "Lines around each match."),
            _switch("-n", "Show line numbers."),
            _switch("-i", "Ignore case."),
            _switch("-o", "Show only what matched."),
            Argument(name="type", about="File type."),
            _number("head_limit", "How many entries to show."),
            _number("offset", "How many entries to skip."),
            _switch("multiline", "Let a match span lines."),
        ),
    ),
    _read(
        "ListFiles",
        "Lists a directory of the workspace.",
        (Argument(name="path", about=_FILE, path=Want.DIRECTORY),),
        place=Place.BROKER,
    ),
    _write(
        "Write",
        f"Writes a file of the workspace: creates it, or replaces its whole content. {_WAITS}",
        (
            Argument(name="file_path", about=_FILE, required=True, path=Want.NEW_OR_EXISTING_FILE),
            Argument(name="content", about="The file's whole new content.", required=True),
        ),
    ),
    _write(
        "Edit",
        "Replaces text in an existing file of the workspace. old_string must occur exactly once unless replace_all is true. "
        + _WAITS,
        (
            Argument(name="file_path", about=_FILE, required=True, path=Want.NEW_OR_EXISTING_FILE),
            Argument(name="old_string", about="The exact text to replace.", required=True),
            Argument(name="new_string", about="The text to put in its place.", required=True),
            _switch("replace_all", "Replace every occurrence instead of exactly one."),
        ),
    ),
    _write(
        "NotebookEdit",
        f"Replaces, inserts or deletes one cell of a Jupyter notebook of the workspace. {_WAITS}",
        (
            Argument(name="notebook_path", about=_FILE, required=True, path=Want.NEW_OR_EXISTING_FILE),
            Argument(name="cell_id", about="Id of the cell; a new cell is inserted after it."),
            Argument(name="new_source", about="The cell's new source.", required=True),
            Argument(name="cell_type", about="Type of the cell.", choices=("code", "markdown")),
            Argument(name="edit_mode", about="What to do.", choices=("replace", "insert", "delete")),
        ),
    ),
    _make(
        "CreateFolder",
        f"Creates a directory of the workspace. {_WAITS}",
        (Argument(name="path", about=_FILE, required=True, path=Want.DIRECTORY),),
        available=True,
    ),
    _make(
        "CreateDocument",
        f"Makes a new document; it never changes an existing one. {_WAITS}",
        (
            Argument(name="file_path", about=_FILE, required=True, path=Want.NEW_OR_EXISTING_FILE),
            Argument(name="format", about="Kind of document.", required=True, choices=("docx", "pptx", "xlsx", "pdf", "csv")),
            Argument(name="content", about="What stands in it.", required=True),
        ),
    ),
)
