"""An edit as people are shown it: what was proposed, what is carried out, who changed it, and the difference (D2). Pure."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from runner.broker.preview import diff
from runner.digest import parse_call
from runner.model import Json, JsonObject
from runner.store import ApprovalRow


def edited_view(row: ApprovalRow) -> JsonObject:
    """The edit's keys of `show --json`; all null where nobody edited the call."""
    edit = row.edit
    if edit is None:
        return {"proposed": None, "effective": None, "edited_by": None, "edited_at": None, "edit_diff": None}
    return {
        "proposed": _input(row),
        "effective": _input(row.effective),
        "edited_by": edit.by.name or f"uid {edit.by.uid}",
        "edited_at": edit.at,
        "edit_diff": difference(row),
    }


def difference(row: ApprovalRow) -> str:
    """From the proposed arguments to the edited ones, one unified diff for each that differs."""
    before, after = _arguments(row), _arguments(row.effective)
    names = [*before, *(name for name in after if name not in before)]
    return "".join(_of_argument(name, before, after) for name in names if _differs(name, before, after))


def _differs(name: str, before: JsonObject, after: JsonObject) -> bool:
    return (name in before, before.get(name)) != (name in after, after.get(name)) or (
        type(before.get(name)) is not type(after.get(name))
    )


def _of_argument(name: str, before: JsonObject, after: JsonObject) -> str:
    as_text = all(isinstance(side.get(name, ""), str) for side in (before, after))
    old, new = (_bytes(side[name], as_text=as_text) if name in side else None for side in (before, after))
    return diff(PurePosixPath(name), old, new)


def _bytes(value: Json, *, as_text: bool) -> bytes:
    """A text as it is; where either side is something else, both as JSON, so that `"1"` and `1` read differently."""
    text = value if as_text and isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)
    return text.encode("utf-8", "backslashreplace")


def _input(row: ApprovalRow) -> JsonObject:
    return {
        "input": _arguments(row),
        "raw": row.raw,
        "call_digest": row.call_digest,
        "digest": row.approval_digest,
        "preview": row.preview,
    }


def _arguments(row: ApprovalRow) -> JsonObject:
    return dict(parse_call(row.tool, row.raw).input or {})
