"""Our own names for the container's requests: its ids are data, and one of them may come again at any moment.

The SDK keeps what it is asked under the id it is given, and forgets a second request when the first of that id is over.
Under names that come once, calling off reaches the very request that was meant, and no answer is told of another.
"""

from __future__ import annotations

import itertools
import json

from runner.model import JsonObject


class Names:
    """Of the requests that are open now. `theirs` is the container's id, `ours` the name the SDK knows."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}
        self._numbers = itertools.count(1)

    def for_sdk(self, frame: JsonObject) -> JsonObject | None:
        """A frame under our name; None for one that calls off what is not open."""
        match frame["type"]:
            case "control_request":
                name = f"q{next(self._numbers)}"
                self._ours[str(frame["request_id"])] = name
                self._theirs[name] = str(frame["request_id"])
            case "control_cancel_request":
                found = self._ours.pop(str(frame["request_id"]), None)
                if found is None:
                    return None
                del self._theirs[name := found]
            case _:
                return frame
        return {**frame, "request_id": name}

    def for_cli(self, line: str) -> tuple[str, str] | None:
        """An answer under the container's id, and that id; None when the request was called off meanwhile."""
        answer = json.loads(line)
        theirs = self._theirs.pop(answer["response"]["request_id"], None)
        if theirs is None:
            return None
        del self._ours[theirs]
        answer["response"]["request_id"] = theirs
        return json.dumps(answer) + "\n", theirs
