"""Names in a call that pass for a contact or for the operator's own host are named as such (V6, A24)."""

from __future__ import annotations

import pytest

from runner.broker.imitations import Known, imitations
from runner.broker.saying import Spoken
from tests.unit.broker.test_saying import call

KNOWN = Known(petnames=("alice", "mina", "jo", "Anna Berg"), host="desk.example")


def contact(where: str, word: str, petname: str) -> str:
    return f"the {where} names {word}, which looks like your contact {petname} and is written otherwise"


def own(where: str, host: str) -> str:
    return f"the {where} names {host}, which looks like your own desk.example and is another"


@pytest.mark.parametrize(
    ("one", "warned"),
    [
        (call("Write", path="notes/\u0430lice.md", content=""), contact("path", "\u0430lice", "alice")),
        (call("Write", path="a1ice/summary.md", content=""), contact("path", "a1ice", "alice")),
        (call("CreateFolder", path="rnina"), contact("path", "rnina", "mina")),
        (call("Write", path="j\u043e.md", content=""), contact("path", "j\u043e", "jo")),
        (call("mcp__mail__send", to="\u0430lice", body="x"), contact("call", "\u0430lice", "alice")),
        (call("mcp__mail__send", to="Ann\u0430 Berg"), contact("call", "Ann\u0430 Berg", "Anna Berg")),
        (call("Bash", command="send --to=rnina"), contact("call", "rnina", "mina")),
        (call("FetchPage", url="https://de5k.example/"), None),
        (call("FetchPage", url="https://d\u0435sk.example/"), own("host", "d\u0435sk.example")),
        (call("FetchPage", url="https://www.d\u0435sk.example/"), own("host", "www.d\u0435sk.example")),
        (call("FetchPage", url="https://desk.example.evil.com/"), own("host", "desk.example.evil.com")),
        (call("Bash", command="curl https://desk.examp1e/x"), own("host", "desk.examp1e")),
        (call("Bash", command="curl http://a@desk.example.evil.com:1/x"), own("host", "desk.example.evil.com")),
    ],
)
def test_a_name_that_passes_for_a_known_one_is_called_that(one: Spoken, warned: str | None) -> None:
    """V6: each trigger."""
    found = imitations(one, KNOWN)
    assert (warned in found) if warned else found == ()


@pytest.mark.parametrize(
    "one",
    [
        call("Write", path="alice/Mina.md", content="\u0430lice"),
        call("Write", path="mina/desk.example.md", content=""),
        call("Write", path="jo/io/al/ai/malice.md", content=""),
        call("mcp__mail__send", to="Anna Berg", cc="ALICE"),
        call("FetchPage", url="https://desk.example/x"),
        call("FetchPage", url="https://www.desk.example/mina"),
        call("FetchPage", url="https://other.example/"),
        call("Bash", command="curl https://desk.example/ -o a.txt"),
    ],
)
def test_known_names_and_strangers_are_not_warned_of(one: Spoken) -> None:
    """V6: the quiet control; and who knows nobody is warned of nobody."""
    assert imitations(one, KNOWN) == ()
    assert imitations(one, Known()) == ()
