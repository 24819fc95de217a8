"""Rules of the house that only a machine keeps: sizes, prints, broad handlers."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.tree import (
    ROOT,
    broad_handlers,
    called,
    calls,
    files,
    imported,
    imports_of,
    name,
    reraises,
    syntax,
    words,
)

MODULE_CAP = 300
TEST_CAP = 400
#: The edges at which anything at all may be caught, each for the reason beside it.
EDGES: dict[str, str] = {
    "runner/agent/gate.py": "a gate that fails in any way has said no, and the container is not told why",
    "runner/notify/sending.py": "whatever breaks in a channel is that channel's failure, and changes no call",
    "runner/supervisor/tenancy.py": "a thread that ends of a fault would neither renew the lease nor fence who lost it",
    "runner/supervisor/segment.py": "whatever breaks in one run ends that run as failed, and no other",
}
#: Ways to a screen; only `render` has one.
PRINTS = words("print click.echo click.secho typer.echo typer.secho sys.stdout.write sys.stderr.write sys.stdout.buffer.write")


def lines(path_text: str) -> int:
    return len(path_text.splitlines())


def prints(tree: ast.Module) -> list[str]:
    """Calls that put text before a person."""
    return [f"{line}: {what}" for line, what in calls(tree) if what in PRINTS]


def test_no_module_outgrows_its_cap() -> None:
    found = {name(path): count for path in files("runner", "scripts") if (count := lines(path.read_text())) > MODULE_CAP}
    assert found == {}


def test_no_test_file_outgrows_its_cap() -> None:
    found = {name(path): count for path in files("tests") if (count := lines(path.read_text())) > TEST_CAP}
    assert found == {}


def test_only_render_prints() -> None:
    found = {
        name(path): bad
        for path in files("runner")
        if not name(path).startswith("runner/render")
        and (bad := prints(syntax(path)) + imports_of(syntax(path), frozenset({"rich"})))
    }
    assert found == {}


@pytest.mark.parametrize("source", ["print(1)", "typer.echo('x')", "sys.stdout.write('x')", "if a:\n    click.secho('x')"])
def test_a_print_outside_render_is_caught(source: str) -> None:
    assert len(prints(ast.parse(source))) == 1


def test_everything_is_caught_at_the_known_edges_only() -> None:
    found = {
        name(path): bad
        for path in files("runner")
        if name(path) not in EDGES
        and (bad := [line for line in broad_handlers(syntax(path)) if not reraises(syntax(path), line)])
    }
    assert found == {}


def test_every_known_edge_still_catches_something() -> None:
    used = {name(path) for path in files("runner") if broad_handlers(syntax(path))}
    assert set(EDGES) - used == set()


@pytest.mark.parametrize("kind", ["", " Exception", " BaseException as e", " (OSError, Exception)"])
def test_a_broad_handler_is_caught_however_it_is_written(kind: str) -> None:
    tree = ast.parse(f"try:\n    f()\nexcept{kind}:\n    pass")
    assert broad_handlers(tree) == [3]
    assert not reraises(tree, 3)


def test_a_handler_that_raises_again_hides_nothing() -> None:
    assert reraises(ast.parse("try:\n    f()\nexcept BaseException:\n    g()\n    raise"), 3)


#: What a full screen is drawn with: a place for lines, and no widget that reads a text of its own as markup.
DRAWN_WITH = words("textual.app textual.events textual.screen textual.strip textual.widget")


def draws(tree: ast.Module) -> list[str]:
    """Imports of Textual beyond a place for lines, and calls that would hand it a text to draw or to say."""
    found = [
        f"{line}: {what}"
        for line, what in imported(tree)
        if what.split(".")[0] == "textual"
        and what != "textual"
        and not any(f"{what}.".startswith(f"{ok}.") for ok in DRAWN_WITH)
    ]
    return found + [f"{line}: {what}" for line, what in calls(tree) if what.rpartition(".")[2] in {"notify", "panic", "update"}]


def test_only_one_package_draws_a_full_screen_and_only_lines_of_render_reach_it() -> None:
    """V3, A41: Textual is imported in the inbox alone, and there only to place lines; every widget is made without markup."""
    inside = {name(path) for path in files("runner") if imports_of(syntax(path), frozenset({"textual"}))}
    assert inside == {"runner/cli/inbox/app.py"}
    tree = syntax(ROOT / "runner/cli/inbox/app.py")
    assert draws(tree) == []
    assert prints(tree) == []
    widgets = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and "Widget" in map(called, node.bases)]
    assert widgets == ["Surface"]
    made = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "markup"]
    assert [ast.literal_eval(node.value) for node in made] == [False]


@pytest.mark.parametrize(
    "source",
    ["from textual.widgets import Static", "from textual.content import Content", "app.notify(text)", "label.update(text)"],
)
def test_another_way_to_a_full_screen_is_caught(source: str) -> None:
    assert len(draws(ast.parse(source))) >= 1
