"""What stood where an effect is carried out, between the broker's words for it and the store's.

It is written in the transaction that begins the effect, before anything is changed (issue 5 item 3: undo).
"""

from __future__ import annotations

from runner.broker import FOLDER, PreImage
from runner.errors import StoreError
from runner.model import ApprovalId
from runner.store import Connection, ImageRow, images

_FORMS = {"absent": None, "directory": FOLDER}


def keep(conn: Connection, approval: ApprovalId, image: PreImage) -> None:
    """Keep what an approval is about to write over."""
    row = ImageRow(
        approval=approval,
        form="file" if isinstance(image.data, bytes) else "absent" if image.data is None else "directory",
        data=image.data if isinstance(image.data, bytes) else None,
        mode=image.mode,
        uid=image.owner[0],
        gid=image.owner[1],
        standing=image.standing,
    )
    images.keep(conn, row)


def kept(conn: Connection, approval: ApprovalId) -> PreImage | None:
    """What stood there before an approval was carried out; None where nothing was kept.

    Raises:
        StoreError: The row makes no sense.
    """
    row = images.get(conn, approval)
    if row is None:
        return None
    data = row.data if row.form == "file" else _FORMS.get(row.form, b"")
    if (row.form == "file") != isinstance(data, bytes):
        raise StoreError(f"cannot read what stood there before {approval}: {row.form!r} is unknown, or has no bytes")
    return PreImage(data=data, mode=row.mode, owner=(row.uid, row.gid), standing=row.standing)
