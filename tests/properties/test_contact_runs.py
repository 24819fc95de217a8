"""Whatever is set, a contact's run is strict and nothing but a confined read runs unasked (issue 8 point 3, invariant 10)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

import pytest

from runner.digest import parse_call
from runner.fence import compose
from runner.model import (
    ApprovalSettings,
    Capture,
    Digest,
    FromAgent,
    GrantId,
    Limits,
    Policy,
    Profile,
    Sender,
    SenderKind,
    SnapshotLimits,
    ToolClass,
    Verdict,
)
from runner.policy import TOOLS, Connector, PolicyContext, SavedVerdict, decide
from runner.policy.grants import Grant
from runner.policy.tool import Tool
from runner.settings import Settings
from runner.supervisor.floors import Floors
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import sample
from tests.helpers.views import File, TreeView

EVERYTHING = {name: replace(tool, available=True) for name, tool in TOOLS.items()}
VIEW = TreeView({"x": File(), "in.txt": File()})
OTHERS = [kind for kind in SenderKind if kind is not SenderKind.OWNER]
CALLS = {name: a_call(name, sample(tool)) for name, tool in EVERYTHING.items()} | {
    name: a_call(name, {"path": "x"}) for name in ("mcp__mail__send", "Bash", "nonsense")
}


#: A connector's tool that its operator declared as harmless as a tool that is no read can be.
DECLARED = Connector(
    tool=Tool(
        name="mcp__mail__send",
        description="",
        arguments=None,
        tool_class=ToolClass.WRITE,
        reversible=True,
        returns_untrusted=False,
        egress=False,
        covered_from=Policy.READ_ONLY,
        unconfined=False,
    ),
    pinned=Digest("sha256:" + "d" * 64),
    offered=Digest("sha256:" + "d" * 64),
)
#: Everything that can be set, by where it is set: values that every combination tries, or the loosest value there is, or why
#: it cannot loosen a call. A field that is in none of them fails the test below: whoever adds one says which it is.
CROSSED: dict[str, tuple[Any, ...]] = {
    "Profile.strict": (False, True),
    "Profile.policy": (*Policy, None),
    "Profile.unattended": (False, True),
    "PolicyContext.owner_policy": tuple(Policy),
    "PolicyContext.max_policy": tuple(Policy),
    "PolicyContext.saved": (None, *SavedVerdict),
    "PolicyContext.grants": (False, True),
}
LOOSEST: dict[str, Any] = {
    "Profile.allow_replies": True,
    "Profile.allow_unconfined_tools": True,
    "Profile.allow_hard_links": True,
    "Profile.unprotect": (".git", "*"),
    "Profile.hide": (),
    "Profile.scopes": (),
    "Profile.wake": True,
    "Profile.contacts": ("maria",),
    "Profile.from_agents": (FromAgent(label="maria", instruction="Do as it says."),),
    "Profile.approvals": ApprovalSettings(hold=0.0, expires=1e9, on_expiry="stop", on_denial="stop", required=1),
    "Profile.limits": Limits(memory=2**40, cpus=64.0, pids=10**6, turns=10**6, wall=1e9, calls=10**6, budget_usd=1e9),
    "Profile.snapshot": SnapshotLimits(max_bytes=2**40, max_files=10**9),
    "PolicyContext.sensitive": False,
    "PolicyContext.tainted": False,
    "PolicyContext.thread_tainted": False,
    "PolicyContext.reachable_person": True,
    "PolicyContext.connectors": {"mcp__mail__send": DECLARED},
}
NEVER: dict[str, str] = {
    **dict.fromkeys(("Profile.name", "Profile.digest", "Profile.description", "Profile.kind"), "names it"),
    **dict.fromkeys(
        ("Profile.model", "Profile.system_prompt", "Profile.cwd", "Profile.read"), "what is thought with, and about"
    ),
    "Profile.tools": "all of them, in every combination",
    "Profile.examples": "checked when it is loaded, and never looked at again",
    "PolicyContext.view": "the files as they are",
    "PolicyContext.sender": "each kind that is not the owner",
    "PolicyContext.own_reply": "the supervisor's own call, made of a run's last word: judged below by itself",
    "Settings.max_policy": "PolicyContext.max_policy",
    "Settings.strict": "only ever makes stricter: judged below with intake",
    **dict.fromkeys(
        [
            f"Settings.{name}"
            for name in ("state_dir", "database_url", "docker_host", "runtime", "pool", "host", "failpoint", "log_level")
        ],
        "where things are, how many of them, and what is logged",
    ),
    **dict.fromkeys(
        [f"Settings.{name}" for name in ("model", "model_timeout", "api_key", "auth_token", "key_file", "budgets", "prices")],
        "the model and what it may cost",
    ),
    **dict.fromkeys([f"Settings.{name}" for name in ("approvers", "tripwires", "notify")], "who says yes, and hears of it"),
    "Settings.ingress": "how a capture comes in; whose it is its signature says",
}


def every_field() -> set[str]:
    """What a profile, a decision's world and the host's settings are made of, as the code has it now."""
    tables = {f"{one.__name__}.{field.name}" for one in (Profile, PolicyContext) for field in fields(one)}
    return tables | {f"Settings.{name}" for name in Settings.model_fields}


def test_every_setting_there_is_has_its_place_in_what_is_tried() -> None:
    """P6: introspected, so that a setting added later cannot be forgotten here; so is what the tables within hold."""
    named = [*CROSSED, *LOOSEST, *NEVER]
    assert len(named) == len(set(named))
    assert set(named) == every_field()
    inner = {f"{one.__name__}.{field.name}" for one in (ApprovalSettings, Limits, SnapshotLimits) for field in fields(one)}
    assert inner == {
        *(f"ApprovalSettings.{name}" for name in ("hold", "expires", "on_expiry", "on_denial", "required")),
        *(f"Limits.{name}" for name in ("memory", "cpus", "pids", "turns", "wall", "calls", "budget_usd", "budget_tokens")),
        *(f"SnapshotLimits.{name}" for name in ("max_bytes", "max_files")),
    }


@pytest.fixture(autouse=True)
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every tool were carried out already."""
    for module in ("decide", "judge", "grants"):
        monkeypatch.setattr(import_module(f"runner.policy.{module}"), "TOOLS", EVERYTHING)


def settings() -> Iterator[tuple[Profile, dict[str, Any]]]:
    """Every way an operator can set an agent and the owner's choices; what is not crossed is once as it is, once loosest."""
    loose = {name.partition(".")[2]: value for name, value in LOOSEST.items() if name.startswith("Profile.")}
    world = {name.partition(".")[2]: value for name, value in LOOSEST.items() if name.startswith("PolicyContext.")}
    for open_wide, strict, policy, unattended in itertools.product(
        (False, True), *(CROSSED[f"Profile.{name}"] for name in ("strict", "policy", "unattended"))
    ):
        more = loose if open_wide else {"contacts": ("maria",)}
        profile = a_profile(tools=tuple(CALLS), strict=strict, policy=policy, unattended=unattended, **more)
        for owner, ceiling, saved, granted in itertools.product(
            *(CROSSED[f"PolicyContext.{name}"] for name in ("owner_policy", "max_policy", "saved", "grants"))
        ):
            grants = [Grant(id=GrantId(f"g_{name}"), tool=name, profile_digest=profile.digest) for name in CALLS]
            yield (
                profile,
                {
                    "owner_policy": owner,
                    "max_policy": ceiling,
                    "saved": {} if saved is None else dict.fromkeys(CALLS, saved),
                    "grants": tuple(grants) if granted else (),
                    **(world if open_wide else {}),
                },
            )


def confined(name: str) -> bool:
    return name in EVERYTHING and EVERYTHING[name].confined_read


def test_no_setting_lets_a_contacts_call_run_unasked_unless_it_is_a_confined_read() -> None:
    """P6, R34, R55, C2, C4, C15: brute force over all settings, every tool, people and paired agents."""
    seen = 0
    for number, (profile, chosen) in enumerate(settings()):
        context = PolicyContext(view=VIEW, sender=OTHERS[number % len(OTHERS)], **chosen)
        for name, call in CALLS.items():
            decision = decide(call, profile, context)
            seen += 1
            assert decision.strict, (name, profile, chosen)
            assert decision.verdict is not Verdict.ALLOW or confined(name), (name, decision, profile, chosen)
            assert decision.grant is None, (name, decision)
    assert seen > 40_000


@pytest.mark.parametrize("loosened", [name for name in LOOSEST if name.startswith("Profile.")])
def test_no_setting_alone_does_either(loosened: str) -> None:
    """P6: one at a time, lest two of them hide each other."""
    profile = a_profile(tools=tuple(CALLS), strict=False, policy=Policy.SKIP, **{loosened.partition(".")[2]: LOOSEST[loosened]})
    for kind, saved in itertools.product(OTHERS, (None, SavedVerdict.ALLOW)):
        chosen = {} if saved is None else dict.fromkeys(CALLS, saved)
        context = PolicyContext(view=VIEW, sender=kind, owner_policy=Policy.SKIP, saved=chosen, sensitive=False)
        ran = {name for name, call in CALLS.items() if decide(call, profile, context).verdict is Verdict.ALLOW}
        assert all(confined(name) for name in ran), ran


def test_only_the_supervisors_own_reply_of_a_run_that_saw_nothing_private_goes_out_by_permission() -> None:
    """R20, invariant 10: the permission lets no call of a model out, and is none where something private was in reach."""
    reply = parse_call("Reply", '{"text": "done"}')
    for number, (profile, chosen) in enumerate(settings()):
        context = PolicyContext(view=VIEW, sender=OTHERS[number % len(OTHERS)], own_reply=True, **chosen)
        decision = decide(reply, profile, context)
        if decision.verdict is Verdict.ALLOW:
            assert profile.allow_replies, profile
            assert context.sensitive is False, context
        assert decide(reply, profile, replace(context, own_reply=False)).verdict is not Verdict.ALLOW


def test_a_contacts_run_is_strict_from_its_first_row_whatever_is_set() -> None:
    """R33, R55: as intake settles it, for every profile and host, and whatever the capture asks for."""
    profiles = {id(profile): profile for profile, _ in settings()}.values()
    for profile, host, asked, kind in itertools.product(profiles, (False, True), (False, True), OTHERS):
        capture = Capture(agent="scribe", note="x", strict=asked)
        sender = Sender(kind=kind, petname="maria", fingerprint="abcd-efgh-2345-6723")
        assert Floors(strict=host).strict_for(profile, capture, sender)


def test_the_same_settings_do_let_the_owners_calls_run() -> None:
    """Without this the tests above could pass because nothing ever runs."""
    ran = {
        name
        for profile, chosen in itertools.islice(settings(), 0, None, 7)
        for name, call in CALLS.items()
        if decide(call, profile, PolicyContext(view=VIEW, sender=SenderKind.OWNER, **chosen)).verdict is Verdict.ALLOW
    }
    assert ran >= {"Write", "Edit", "FetchPage", "RunCode", "mcp__mail__send"}


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
