"""Database triggers generated from the lifecycle tables: the last wall against an illegal change (invariant 9).

They are installed anew at every open, so they never lag behind `lifecycle`. They also keep what an approval is bound to, and
the audit, from ever being written over.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from runner.lifecycle import (
    APPROVAL,
    CAPTURE,
    REPLY,
    RUN,
    SHARE,
    SHARE_ENDS,
    ApprovalState,
    CaptureState,
    ReplyState,
    RunState,
    ShareState,
    moves,
)

#: The intent record follows the state: one column more, so that "did it start" needs no knowledge of states.
EFFECT: dict[ApprovalState, str] = {
    ApprovalState.EXECUTING: "started",
    ApprovalState.DONE: "done",
    ApprovalState.FAILED: "failed",
    ApprovalState.UNKNOWN: "unknown",
}

_TOLD = ("call", "segment", "attempt")
_BOUND = (
    *("id", "call", "run", "segment", "attempt", "turn", "agent", "tool", "profile_digest", "definition_digest", "call_digest"),
    *(
        "approval_digest",
        "nonce",
        "raw",
        "paths",
        "pre_images",
        "post_image",
        "sender_kind",
        "sender_petname",
        "sender_fingerprint",
    ),
    *("created", "opened", "required"),
)

#: What a grant is; only its use and its end may be written.
_GRANTED = (
    *("id", "agent", "tool", "profile_digest", "prefix", "matches"),
    *("created", "expires", "uses", "granted_by"),
)


#: What was reviewed of a reply, and of a share: neither may become another one afterwards.
_REPLIED = (
    *("id", "run", "capture", "agent", "sender_kind", "sender_petname", "sender_fingerprint", "text"),
    *("digest", "call_digest", "profile_digest", "rule", "reason", "warnings", "created", "expires"),
)
_SHARED = (
    *("id", "sender_kind", "sender_petname", "sender_fingerprint", "note", "digest", "warnings", "shared_by"),
    *("created", "expires"),
)


class Rule(NamedTuple):
    """When `table` may not be changed so. `refuse` is SQL over OLD and NEW that both databases read alike."""

    name: str
    table: str
    action: str  #: INSERT, UPDATE or DELETE
    refuse: str
    message: str


def rules() -> tuple[Rule, ...]:
    """Every rule, from the tables of `lifecycle`."""
    return (
        *_states("captures", {(a.value, b.value) for a, b in moves(CAPTURE)}, CaptureState.RECEIVED.value),
        *_states("runs", {(a.value, b.value) for a, b in moves(RUN)}, RunState.QUEUED.value),
        *_states("approvals", {(a.value, b.value) for a, b in moves(APPROVAL)}, ApprovalState.PENDING.value),
        Rule("runner_approvals_effect", "approvals", "UPDATE", _effect(), "the intent record does not fit the state"),
        Rule("runner_approvals_bound", "approvals", "UPDATE", _bound(), "what an approval is bound to cannot change"),
        Rule("runner_approvals_edit", "approvals", "UPDATE", _edit(), "what is carried out cannot change once it is decided"),
        Rule("runner_approvals_unedited", "approvals", "INSERT", "NEW.edit IS NOT NULL", "a call begins as it was proposed"),
        *_states("replies", {(a.value, b.value) for a, b in moves(REPLY)}, ReplyState.HELD.value),
        Rule("runner_replies_bound", "replies", "UPDATE", _changed(_REPLIED), "what was reviewed of a reply cannot change"),
        Rule("runner_replies_delete", "replies", "DELETE", "1 = 1", "a reply stays on record"),
        *_states("shares", {(a.value, b.value) for a, b in moves(SHARE)}, ShareState.OFFERED.value),
        Rule("runner_shares_bound", "shares", "UPDATE", _changed(_SHARED), "what was shared cannot change"),
        Rule("runner_shares_delete", "shares", "DELETE", "1 = 1", "a share stays on record"),
        Rule("runner_share_files_insert", "share_files", "INSERT", _once("share_files", "share", "n"), "a file is shared once"),
        Rule("runner_share_files_update", "share_files", "UPDATE", _shared_file(), "a shared file cannot change"),
        Rule("runner_share_files_delete", "share_files", "DELETE", "1 = 1", "a shared file stays on record"),
        Rule("runner_share_parts_insert", "share_parts", "INSERT", _once("share_parts", "digest", "n"), "bytes are kept once"),
        Rule("runner_share_parts_update", "share_parts", "UPDATE", "1 = 1", "the bytes of a digest cannot change"),
        Rule("runner_share_parts_delete", "share_parts", "DELETE", _still_shared(), "a share that lives needs these bytes"),
        Rule("runner_forwards_update", "forwards", "UPDATE", "1 = 1", "a forward cannot change"),
        Rule("runner_grants_update", "grants", "UPDATE", _granted(), "a grant is used up or ended, and never grows"),
        Rule("runner_grants_delete", "grants", "DELETE", "1 = 1", "a grant stays on record"),
        Rule("runner_pre_images_insert", "pre_images", "INSERT", _kept(), "what stood before an effect is kept once"),
        Rule("runner_pre_images_update", "pre_images", "UPDATE", "1 = 1", "what stood before an effect cannot change"),
        Rule("runner_taints_insert", "taints", "INSERT", _once("taints", "run", "n"), "the taint of a run cannot change"),
        Rule("runner_taints_update", "taints", "UPDATE", "1 = 1", "the taint of a run cannot change"),
        Rule("runner_taints_delete", "taints", "DELETE", "1 = 1", "the taint of a run only grows"),
        Rule("runner_written_insert", "written", "INSERT", _once("written", "approval", "path"), "it is on record already"),
        Rule("runner_written_update", "written", "UPDATE", "1 = 1", "what a tainted run wrote cannot change"),
        Rule("runner_written_delete", "written", "DELETE", "1 = 1", "what a tainted run wrote is not forgotten"),
        Rule("runner_threads_insert", "threads", "INSERT", _once("threads", "name"), "a thread begins once"),
        Rule("runner_threads_update", "threads", "UPDATE", "1 = 1", "a thread cannot change"),
        Rule("runner_threads_delete", "threads", "DELETE", "1 = 1", "a thread stays on record"),
        Rule(
            "runner_thread_captures_insert", "thread_captures", "INSERT", _misplaced(), "only the owner goes on with a thread"
        ),
        Rule("runner_thread_captures_update", "thread_captures", "UPDATE", "1 = 1", "the thread of a capture cannot change"),
        Rule("runner_thread_captures_delete", "thread_captures", "DELETE", "1 = 1", "the thread of a capture stays on record"),
        Rule("runner_turn_words_insert", "turn_words", "INSERT", _once("turn_words", "run", "turn"), "a turn is said once"),
        Rule("runner_turn_words_update", "turn_words", "UPDATE", "1 = 1", "what was said cannot change"),
        Rule("runner_turn_words_delete", "turn_words", "DELETE", "1 = 1", "what was said stays on record"),
        Rule("runner_turn_said_insert", "turn_said", "INSERT", _once("turn_said", "run", "turn", "n"), "a turn is said once"),
        Rule("runner_turn_said_update", "turn_said", "UPDATE", "1 = 1", "what was said cannot change"),
        Rule("runner_turn_said_delete", "turn_said", "DELETE", "1 = 1", "what was said stays on record"),
        Rule("runner_call_results_insert", "call_results", "INSERT", _once("call_results", *_TOLD), "a result is told once"),
        Rule("runner_call_results_update", "call_results", "UPDATE", "1 = 1", "what was told cannot change"),
        Rule("runner_call_results_delete", "call_results", "DELETE", "1 = 1", "what was told stays on record"),
        Rule(
            "runner_signatures_insert",
            "signatures",
            "INSERT",
            _once("signatures", "approval", "key_id", "digest"),
            "a key signs once",
        ),
        Rule("runner_signatures_update", "signatures", "UPDATE", "1 = 1", "a signature cannot change"),
        Rule(
            "runner_reply_signatures_insert",
            "reply_signatures",
            "INSERT",
            _once("reply_signatures", "reply", "key_id"),
            "a signature is given once",
        ),
        Rule("runner_reply_signatures_update", "reply_signatures", "UPDATE", "1 = 1", "a signature cannot change"),
        Rule("runner_reply_signatures_delete", "reply_signatures", "DELETE", "1 = 1", "a signature stays on record"),
        Rule("runner_signatures_delete", "signatures", "DELETE", "1 = 1", "a signature stays on record"),
        Rule("runner_audit_insert", "audit", "INSERT", _inside_chain(), "the audit only grows at its end"),
        Rule("runner_audit_update", "audit", "UPDATE", "1 = 1", "the audit cannot be changed"),
        Rule("runner_audit_delete", "audit", "DELETE", "1 = 1", "the audit cannot be shortened"),
    )


def install(conn: Connection) -> None:
    """Put every rule in force, replacing what an older version left."""
    if conn.dialect.name == "sqlite":
        _install_sqlite(conn)
    else:
        _install_postgresql(conn)


def _states(table: str, legal: set[tuple[str, str]], first: str) -> tuple[Rule, ...]:
    pairs = ", ".join(sorted(f"'{before}>{after}'" for before, after in legal))
    change = f"NEW.state <> OLD.state AND OLD.state || '>' || NEW.state NOT IN ({pairs})"
    # An INSERT OR REPLACE would otherwise put an ended row back to its beginning.
    start = f"NEW.state <> '{first}' OR EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"  # noqa: S608 -- our own names
    return (
        Rule(f"runner_{table}_update", table, "UPDATE", change, f"no such change of state in {table}"),
        Rule(f"runner_{table}_insert", table, "INSERT", start, f"a row of {table} begins as {first}"),
    )


def _effect() -> str:
    pairs = sorted(f"'{state.value}>{EFFECT.get(state, '')}'" for state in ApprovalState)
    return f"NEW.state || '>' || coalesce(NEW.effect, '') NOT IN ({', '.join(pairs)})"


def _bound() -> str:
    return _changed(_BOUND)


def _changed(columns: tuple[str, ...]) -> str:
    return " OR ".join(f"NEW.{column} IS DISTINCT FROM OLD.{column}" for column in columns)


def _edit() -> str:
    pending = ApprovalState.PENDING.value
    return f"NEW.edit IS DISTINCT FROM OLD.edit AND (OLD.state <> '{pending}' OR NEW.state <> '{pending}')"


def _granted() -> str:
    return (
        f"{_changed(_GRANTED)} OR NEW.used < OLD.used OR NEW.used > NEW.uses OR (OLD.ended IS NOT NULL AND NEW.ended IS NULL)"
    )


def _shared_file() -> str:
    return f"{_changed(('share', 'n', 'name', 'kind', 'size', 'digest'))} OR NEW.fetches < OLD.fetches"


def _still_shared() -> str:
    ends = ", ".join(sorted(f"'{state.value}'" for state in SHARE_ENDS))
    return (
        "EXISTS (SELECT 1 FROM share_files JOIN shares ON shares.id = share_files.share "  # noqa: S608 -- our own names
        f"WHERE share_files.digest = OLD.digest AND shares.state NOT IN ({ends}))"
    )


def _kept() -> str:
    return "EXISTS (SELECT 1 FROM pre_images WHERE approval = NEW.approval)"


def _once(table: str, *key: str) -> str:
    """An INSERT OR REPLACE would write over a row past the triggers that keep it."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    return f"EXISTS (SELECT 1 FROM {table} WHERE {same})"  # noqa: S608 -- our own names


def _misplaced() -> str:
    """A capture joins a thread once, as the owner's, with its agent; what it continues is a replied run of that thread."""
    fits = (
        "SELECT 1 FROM captures JOIN threads ON threads.agent = captures.agent "
        "WHERE captures.id = NEW.capture AND threads.name = NEW.thread AND captures.sender_kind = 'owner'"
    )
    continued = (
        "SELECT 1 FROM runs JOIN thread_captures ON thread_captures.capture = runs.capture WHERE runs.id = NEW.continues "
        "AND thread_captures.thread = NEW.thread AND runs.state = 'replied' AND runs.sender_kind = 'owner'"
    )
    known = _once("thread_captures", "capture")
    return f"{known} OR NOT EXISTS ({fits}) OR (NEW.continues IS NOT NULL AND NOT EXISTS ({continued}))"


def _inside_chain() -> str:
    return "NEW.seq <= (SELECT coalesce(max(seq), 0) FROM audit)"


def _install_sqlite(conn: Connection) -> None:
    found = conn.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'runner!_%' ESCAPE '!'"
    )
    present: dict[str, str] = {name: sql for name, sql in found}
    wanted = {rule.name: _sqlite(rule) for rule in rules()}
    for name in present.keys() - wanted.keys() | {name for name, sql in wanted.items() if present.get(name, sql) != sql}:
        conn.exec_driver_sql(f"DROP TRIGGER {name}")
        present.pop(name)
    for name in wanted.keys() - present.keys():
        conn.exec_driver_sql(wanted[name])


def _sqlite(rule: Rule) -> str:
    # SQLite before 3.39 has no IS DISTINCT FROM; its IS NOT means the same.
    refuse = rule.refuse.replace("IS DISTINCT FROM", "IS NOT")
    return (
        f"CREATE TRIGGER {rule.name} BEFORE {rule.action} ON {rule.table} WHEN {refuse} "
        f"BEGIN SELECT RAISE(ABORT, '{rule.message}'); END"
    )


def _install_postgresql(conn: Connection) -> None:
    for rule in rules():
        back = "OLD" if rule.action == "DELETE" else "NEW"
        conn.exec_driver_sql(
            f"CREATE OR REPLACE FUNCTION {rule.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF {rule.refuse} THEN RAISE EXCEPTION '{rule.message}'; END IF; RETURN {back}; END $$"
        )
        conn.exec_driver_sql(f"DROP TRIGGER IF EXISTS {rule.name} ON {rule.table}")
        conn.exec_driver_sql(
            f"CREATE TRIGGER {rule.name} BEFORE {rule.action} ON {rule.table} FOR EACH ROW EXECUTE FUNCTION {rule.name}()"
        )
