"""A person's editor on the exact input of a call."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from runner.errors import UsageError
from runner.model import JsonObject

#: Bytes an edited input may have: more than the supervisor takes.
_MOST = 1024 * 1024


def edit_input(record: JsonObject) -> str | None:
    """The input as it was left in the editor; None when it is as it was before.

    The file is private and holds plain ASCII: an editor acts on nothing in it.

    Raises:
        UsageError: There is no editor, or it ended with an error.
    """
    before = json.dumps(record.get("input"), ensure_ascii=True, indent=2) + "\n"
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="runner-edit-") as folder:
        file = Path(folder) / "input.json"
        file.touch(0o600)
        file.write_text(before, encoding="utf-8")
        try:
            ended = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 - the person's own editor
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot edit: {editor} does not start: {error}", resolution="set EDITOR") from None
        if ended.returncode != 0:
            raise UsageError(f"cannot edit: {editor} ended with {ended.returncode}; nothing was changed")
        if file.stat().st_size > _MOST:
            raise UsageError(f"cannot edit: the input is over {_MOST} bytes now")
        after = file.read_text(encoding="utf-8", errors="surrogateescape")
    return None if after == before else after
