"""What is generated from `lifecycle`, and what columns turn into and back."""

from pathlib import PurePosixPath

import pytest

from runner.lifecycle import APPROVAL, RUN, ApprovalState, moves
from runner.model import OWNER, ResolvedPath, Sender, SenderKind
from runner.store import codec, schema, triggers


def rule(name: str) -> triggers.Rule:
    return next(rule for rule in triggers.rules() if rule.name == name)


def test_every_legal_move_and_no_other_stands_in_its_rule() -> None:
    for table, legal in (("runs", moves(RUN)), ("approvals", moves(APPROVAL))):
        refuse = rule(f"runner_{table}_update").refuse
        listed = refuse[refuse.rindex("(") + 1 : -1].split(", ")
        assert sorted(listed) == sorted(f"'{before.value}>{after.value}'" for before, after in legal)  # type: ignore[attr-defined]


def test_every_rule_guards_a_table_of_ours_under_a_name_of_its_own() -> None:
    rules = triggers.rules()
    assert len({rule.name for rule in rules}) == len(rules)
    assert {rule.table for rule in rules} >= {"runs", "approvals", "audit", "pre_images", "taints", "written"}
    assert all(rule.name.startswith("runner_") and rule.table in schema.metadata.tables for rule in rules)


def test_the_intent_record_follows_the_state_of_an_effect() -> None:
    """design.md §10: null → started → done | failed | unknown."""
    assert {state.value: effect for state, effect in triggers.EFFECT.items()} == {
        "executing": "started",
        "done": "done",
        "failed": "failed",
        "unknown": "unknown",
    }
    assert "'denied>'" in rule("runner_approvals_effect").refuse
    assert all(f"'{state.value}>" in rule("runner_approvals_effect").refuse for state in ApprovalState)


@pytest.mark.parametrize("sender", [OWNER, Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")])
def test_a_sender_comes_back_from_its_columns(sender: Sender) -> None:
    assert codec.load_sender(codec.sender_columns(sender)) == sender  # type: ignore[arg-type]


def test_paths_come_back_from_their_text() -> None:
    paths = (
        ResolvedPath(asked='a"\\\n\udc80', resolved=PurePosixPath("/workspace/ä")),
        ResolvedPath(asked="", resolved=PurePosixPath("/workspace")),
    )
    assert codec.load_paths(codec.dump_paths(paths)) == paths


def test_only_what_the_scripts_do_not_know_is_left_alone() -> None:
    """Alembic's autogenerate would drop DBOS's tables otherwise (engine.md)."""
    assert schema.ours(None, "workflow_status", "table", True, None) is False
    assert schema.ours(None, "runs", "table", True, object()) is True
    assert schema.ours(None, "runs", "table", False, None) is True
