"""Every place that builds what a model is told (F1): our own words stand in the source, anybody else's are fenced."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.tree import called, files, imported, name, syntax

#: The one place that makes a prompt of a capture.
PROVEN = "runner/fence/compose.py"
#: Places that say something of this program's own to a model: words that stand in the source.
OWN_WORDS = {
    "runner/supervisor/resume.py": "a run is set going again",
    "runner/supervisor/definitions.py": "the CLI is asked how it describes its tools",
    "runner/supervisor/escape/run.py": "a conversation of the escape suite begins",
}
#: Places that hand a CLI its first message.
ASKING = {"runner/supervisor/preparation.py", "runner/supervisor/continuing.py", *OWN_WORDS} - {"runner/supervisor/resume.py"}
#: Places that hand a CLI its system prompt: the owner's own and the standing rule, never a capture's word.
STARTING = {"runner/supervisor/preparation.py", "runner/supervisor/definitions.py", "runner/supervisor/escape/run.py"}
FIELDS_OF_A_CAPTURE = frozenset({"note", "intent", "text", "title", "url", "labels", "images", "raw"})


def made(tree: ast.Module) -> list[bool]:
    """Each text that is said to be fit for a model; True where it is a literal."""
    return [
        len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node.func).split(".")[-1] == "Fenced"
    ]


def pretended(tree: ast.Module) -> list[int]:
    """Lines on which a text is only declared to be fit."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node.func).split(".")[-1] == "cast" and "Fenced" in ast.unparse(node.args[0])
    ]


def making(what: str) -> set[str]:
    """Files that make a `Message` or a `Start` of `runner.agent`."""
    return {
        name(path)
        for path in files("runner")
        if any(module.startswith("runner.agent") and module.endswith(f".{what}") for _, module in imported(syntax(path)))
        and any(isinstance(node, ast.Call) and called(node.func) == what for node in ast.walk(syntax(path)))
    }


def joined(tree: ast.Module) -> list[int]:
    """Lines on which a field of a capture is put into a text by hand."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.BinOp)
        and any(
            isinstance(part, ast.Attribute)
            and part.attr in FIELDS_OF_A_CAPTURE
            and isinstance(part.value, ast.Name)
            and part.value.id in {"capture", "text"}
            for part in ast.walk(node)
        )
    ]


def test_what_a_model_is_told_is_proven_or_stands_in_this_program() -> None:
    """F1: by type, `Message.text` takes nothing else, and this is the list of all who make it."""
    makers = {name(path): found for path in files("runner") if (found := made(syntax(path)))}
    assert makers == {PROVEN: [False], **{place: [True] for place in OWN_WORDS}}
    assert {name(path): lines for path in files("runner") if (lines := pretended(syntax(path)))} == {}


def test_every_builder_of_a_prompt_is_listed() -> None:
    """F1: a new one has to be put down here, and is looked at."""
    assert making("Message") == ASKING
    assert making("Start") == STARTING


def test_no_field_of_a_capture_is_put_into_a_prompt_by_hand() -> None:
    """F1: no format string, no sum."""
    builders = [path for path in files("runner") if name(path) in {PROVEN, *ASKING} or name(path).startswith("runner/fence/")]
    assert len(builders) > len(ASKING)
    assert {name(path): lines for path in builders if (lines := joined(syntax(path)))} == {}


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("Message(text=Fenced(capture.text))", lambda tree: made(tree) == [False]),
        ("Fenced('a' + b)", lambda tree: made(tree) == [False]),
        ("Fenced('go')", lambda tree: made(tree) == [True]),
        ("cast('Fenced', text)", lambda tree: pretended(tree) == [1]),
        ("cast(Fenced, text)", lambda tree: pretended(tree) == [1]),
        ("f'{capture.note}!'", lambda tree: joined(tree) == [1]),
        ("'Asked: ' + capture.text", lambda tree: joined(tree) == [1]),
    ],
)
def test_the_rules_see_what_they_are_for(source: str, rule: object) -> None:
    assert callable(rule)
    assert rule(ast.parse(source))
