"""Whatever is set, a contact's run is strict and nothing but a confined read runs unasked (issue 8 point 3, invariant 10)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from runner.fence import compose
from runner.model import ApprovalSettings, Capture, GrantId, Policy, Profile, Sender, SenderKind, Verdict
from runner.policy import TOOLS, PolicyContext, SavedVerdict, decide
from runner.policy.grants import Grant
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import sample
from tests.helpers.views import File, TreeView

EVERYTHING = {name: replace(tool, available=True) for name, tool in TOOLS.items()}
VIEW = TreeView({"x": File(), "in.txt": File()})
OTHERS = [kind for kind in SenderKind if kind is not SenderKind.OWNER]
CALLS = {name: a_call(name, sample(tool)) for name, tool in EVERYTHING.items()} | {
    name: a_call(name, {"path": "x"}) for name in ("mcp__mail__send", "Bash", "nonsense")
}


@pytest.fixture(autouse=True)
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every tool were carried out already."""
    for module in ("decide", "judge", "grants"):
        monkeypatch.setattr(import_module(f"runner.policy.{module}"), "TOOLS", EVERYTHING)


def settings() -> Iterator[tuple[Profile, dict[str, Any]]]:
    """Every way an operator can set an agent and the owner's choices for it."""
    switches = (False, True)
    for strict, policy, open_wide, unattended in itertools.product(switches, (*Policy, None), switches, switches):
        profile = a_profile(
            tools=tuple(CALLS),
            strict=strict,
            policy=policy,
            unattended=unattended,
            contacts=("maria",),
            allow_replies=open_wide,
            allow_unconfined_tools=open_wide,
            allow_hard_links=open_wide,
            unprotect=(".git",) if open_wide else (),
            approvals=ApprovalSettings(hold=0.0, on_expiry="stop") if open_wide else ApprovalSettings(),
        )
        for owner, ceiling, saved, granted in itertools.product(Policy, Policy, (None, *SavedVerdict), switches):
            grants = [Grant(id=GrantId(f"g_{name}"), tool=name, profile_digest=profile.digest) for name in CALLS]
            yield (
                profile,
                {
                    "owner_policy": owner,
                    "max_policy": ceiling,
                    "saved": {} if saved is None else dict.fromkeys(CALLS, saved),
                    "grants": tuple(grants) if granted else (),
                    "sensitive": not open_wide,
                    "tainted": not open_wide,
                },
            )


def test_no_setting_lets_a_contacts_call_run_unasked_unless_it_is_a_confined_read() -> None:
    """P6, R55, C2, C4, C15: brute force over all settings, every tool, people and paired agents."""
    seen = 0
    for number, (profile, chosen) in enumerate(settings()):
        context = PolicyContext(view=VIEW, sender=OTHERS[number % len(OTHERS)], **chosen)
        for name, call in CALLS.items():
            decision = decide(call, profile, context)
            seen += 1
            assert decision.strict, (name, profile, chosen)
            confined = name in EVERYTHING and EVERYTHING[name].confined_read
            assert decision.verdict is not Verdict.ALLOW or confined, (name, decision, profile, chosen)
    assert seen > 40_000


def test_the_same_settings_do_let_the_owners_calls_run() -> None:
    """Without this the test above could pass because nothing ever runs."""
    ran = {
        name
        for profile, chosen in itertools.islice(settings(), 0, None, 7)
        for name, call in CALLS.items()
        if decide(call, profile, PolicyContext(view=VIEW, sender=SenderKind.OWNER, **chosen)).verdict is Verdict.ALLOW
    }
    assert ran >= {"Write", "Edit", "FetchPage", "RunCode"}


@pytest.mark.parametrize("kind", OTHERS)
def test_not_a_word_of_a_contact_stands_outside_the_fence(kind: SenderKind) -> None:
    """R3, R13: the prompt holds this capture, the fixed words, the owner's standing word, and nothing else."""
    sender = Sender(kind=kind, petname="maria", fingerprint="abcd-efgh-2345-6723")
    words = {name: f"WORD{number}" for number, name in enumerate(("note", "intent", "url", "title", "text"))}
    prompt = compose(Capture(agent="scribe", labels=("WORD9",), **words), sender, nonce="0" * 32)  # type: ignore[arg-type]
    before, block, after = prompt.parts
    for word in (*words.values(), "WORD9"):
        assert word in block
        assert word not in before + after + prompt.system_rule
