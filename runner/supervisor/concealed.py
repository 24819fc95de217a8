"""What a capture hid from its reader, for the run's record and for whoever decides (U4).

Counts go on record when the run is made; what hidden characters spell is worked out from the stored capture whenever a person
looks, and goes to people only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from runner.fence import Hidden, hidden_in, texts_of
from runner.model import Capture, CaptureId, Json, JsonObject, RunId
from runner.store import AuditRow, Connection, audit, captures

EVENT = "run.hidden"
_BEFORE, _AFTER = ("url", "title"), ("note", "intent", "text")


def record(conn: Connection, run: RunId, capture: Capture, *, now: float) -> None:
    """Put on record how many characters of each class a run's capture hides, where it hides any."""
    found = hidden_in(texts_of(capture))
    if found:
        counts: JsonObject = {one.field: dict(one.counts) for one in found}
        audit.append(conn, time=now, event=EVENT, subject=run, data={"hidden": counts})


def of_run(conn: Connection, history: Iterable[AuditRow], capture: CaptureId) -> list[Json]:
    """What the capture of a run hides; the capture is read only where that is in the run's history."""
    if not any(row.event == EVENT for row in history):
        return []
    return of_content(json.loads(captures.get(conn, capture).text))


def of_content(content: JsonObject) -> list[Json]:
    """What a capture hides, from its stored form."""
    return _view(hidden_in(_texts(content)))


def _texts(content: JsonObject) -> Iterable[tuple[str, str]]:
    labels, images = content.get("labels"), content.get("images")
    for field in _BEFORE:
        yield field, str(content.get(field) or "")
    for at, label in enumerate(labels if isinstance(labels, list) else [], 1):
        yield f"label {at}", str(label)
    for field in _AFTER:
        yield field, str(content.get(field) or "")
    for at, image in enumerate(images if isinstance(images, list) else [], 1):
        yield f"image {at}", str(image.get("name") or "") if isinstance(image, dict) else ""


def _view(found: Sequence[Hidden]) -> list[Json]:
    return [{"field": one.field, "counts": dict(one.counts), "spelled": one.spelled} for one in found]
