"""What effects of somebody else's runs left is kept from a contact's snapshot while it is theirs (invariant 10, R57)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runner.approvals import approve, begin_effect, finish_effect
from runner.digest import digest_bytes
from runner.gateway import ToolUse
from runner.lifecycle import ApprovalEvent
from runner.model import OWNER, ResolvedPath, Sender, SenderKind, Verdict
from runner.policy import PolicyContext
from runner.sandbox.beneath import Beneath
from runner.sandbox.snapshot import SnapshotView, take_snapshot
from runner.store import Connection, RunRow, Store
from runner.store.forwards import ForwardRow, insert
from runner.store.schema_taint import written
from runner.supervisor.apart import of_others
from runner.supervisor.proposals import propose
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, a_run, an_approval, opened

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="abcd-efgh-2345-6723")
BEN = Sender(kind=SenderKind.CONTACT, petname="ben", fingerprint="bbbb-efgh-2345-6723")
ROBOT = Sender(kind=SenderKind.AGENT, petname="build", fingerprint="cccc-efgh-2345-6723")


def handed_on(conn: Connection, run: RunRow) -> RunRow:
    """The run is of a capture that the owner handed on."""
    insert(conn, ForwardRow(capture=run.capture, of=run.capture, note="our floor is 40k", hops=(OWNER,)), who=ANNA, now=NOW)
    return run


def left(store: Store, cwd: Path, path: str, data: bytes, sender: Sender, *, forwarded: bool = False) -> RunRow:
    """An effect of a sender's run left a file; its run."""
    target = cwd / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    with store.begin() as conn:
        run = a_run(conn, sender=sender)
        approval = an_approval(conn, run.id)
        values = {"approval": approval.id, "agent": "scribe", "path": f"/workspace/{path}", "post_image": digest_bytes(data)}
        whose = {"sender_kind": sender.kind.value, "sender_petname": sender.petname, "sender_fingerprint": sender.fingerprint}
        conn.execute(written.insert().values(**values, **whose, run=run.id, at=NOW))
        return handed_on(conn, run) if forwarded else run


def shown(store: Store, cwd: Path, sender: Sender) -> set[str]:
    """What a run of a sender finds."""
    with store.begin() as conn:
        apart = of_others(conn, a_run(conn, sender=sender))
    snapshot = cwd.parent / f"snapshot of {sender.petname}"
    without = apart.files_in(cwd)
    bounds: dict[str, Any] = {"max_bytes": 10_000, "max_files": 100, "allow_hard_links": False}
    take_snapshot(cwd, snapshot, read=["**"], hide=[], without=without, **bounds)
    apart.tidy(snapshot, without)
    return {str(path.relative_to(snapshot)) for path in snapshot.rglob("*")}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "owner.txt").write_text("mine")
    return folder


def test_what_others_left_is_kept_from_a_contact_while_it_is_theirs(tmp_path: Path, cwd: Path) -> None:
    """People and programs alike; the owner sees everything; a changed file is the owner's; the folder's name goes too."""
    with opened(tmp_path / "db") as store:
        left(store, cwd, "of maria/canary.txt", b"CANARY", MARIA)
        left(store, cwd, "ben[1].txt", b"ben", BEN)
        left(store, cwd, "both.txt", b"same", MARIA)
        left(store, cwd, "both.txt", b"same", ROBOT)
        assert shown(store, cwd, MARIA) == {"owner.txt", "of maria", "of maria/canary.txt", "both.txt"}
        assert shown(store, cwd, BEN) == {"owner.txt", "ben[1].txt"}
        assert shown(store, cwd, ROBOT) == {"owner.txt", "both.txt"}
        assert shown(store, cwd, OWNER) == {"owner.txt", "of maria", "of maria/canary.txt", "ben[1].txt", "both.txt"}
        (cwd / "of maria/canary.txt").write_text("the owner changed it")
        with store.begin() as conn:
            apart = of_others(conn, a_run(conn, sender=BEN))
        assert apart.files_in(cwd) == {("both.txt",)}


def test_what_a_forwarded_capture_s_run_left_is_not_its_contact_s(tmp_path: Path, cwd: Path) -> None:
    """Invariant 10, R36: the owner's note may be in it; that very run finds it again, no other of the contact's does."""
    with opened(tmp_path / "db") as store:
        left(store, cwd, "hers.txt", b"hers", MARIA)
        forwarded = left(store, cwd, "comparison.txt", b"below 40k", MARIA, forwarded=True)
        with store.begin() as conn:
            deals = (ResolvedPath(asked="deals", resolved=PurePosixPath("/workspace/deals")),)
            asked = an_approval(conn, forwarded.id, sender=MARIA, tool="CreateFolder", paths=deals, pre_images={})
            approve(conn, asked.id, digest=asked.approval_digest, who=ANNA, reason=None, now=NOW)
            begin_effect(conn, asked.id, now=NOW)
            finish_effect(conn, asked.id, event=ApprovalEvent.SUCCEED, outcome="made", now=NOW)
        (cwd / "deals").mkdir()
        assert shown(store, cwd, MARIA) == {"owner.txt", "hers.txt"}
        assert shown(store, cwd, OWNER) == {"owner.txt", "hers.txt", "comparison.txt", "deals"}
        with store.reading() as conn:
            apart = of_others(conn, forwarded)
        assert (apart.files_in(cwd), apart.folders) == (frozenset(), ())


@pytest.mark.parametrize("content", ["CANARY", "something else"])
def test_a_call_over_what_was_kept_from_it_learns_nothing(tmp_path: Path, cwd: Path, content: str) -> None:
    """R57: whether the guess is right or wrong, the answer is the same; the owner's run is asked about as ever."""
    (cwd / "canary.txt").write_text("CANARY")
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    use = ToolUse(id="t", name="mcp__runner__Write", raw=f'{{"file_path": "/workspace/canary.txt", "content": "{content}"}}')
    profile = a_profile(tools=("Write",))
    with Beneath.open(snapshot) as beneath:
        context = PolicyContext(view=SnapshotView(beneath), sender=SenderKind.CONTACT)
        decision = propose(use, profile, context, cwd=cwd).decision
        owners = propose(use, profile, PolicyContext(view=SnapshotView(beneath)), cwd=cwd).decision
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "not_in_snapshot")
    assert "CANARY" not in decision.reason
    assert owners.rule != "not_in_snapshot"
