"""What strict parsing and digests cost per call, as a multiple of the standard parser on the same text in the same run."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from runner.digest import call_digest, parse_call
from runner.model import Digest

ROUNDS = 30
DEFINITION = Digest("sha256:" + "0" * 64)
INPUTS = {
    "read, 30 bytes": {"file_path": "notes/today.md"},
    "write, 4 KiB": {"file_path": "out.md", "content": "a line of the summary\n" * 190},
    "write, 256 KiB": {"file_path": "out.md", "content": "a line of the summary\n" * 12_000},
}


def seconds(work: Callable[[], object], *, times: int) -> float:
    """Median time of one call over some rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - began) / times)
    return statistics.median(rounds)


def bind(raw: str) -> Digest:
    """What the gate does with the text of a call before anything is decided."""
    call = parse_call("Write", raw)
    return call_digest(tool="Write", definition=DEFINITION, arguments=call.input or {}, paths=["/workspace/out.md"])


def main() -> None:
    """Print a line per input."""
    print(f"{'input':<16}{'json.loads':>12}{'strict':>12}{'+ digest':>12}{'ratio':>8}")
    for title, value in INPUTS.items():
        raw = json.dumps(value)
        times = 200 if len(raw) < 10_000 else 5
        plain = seconds(lambda raw=raw: json.loads(raw), times=times)
        strict = seconds(lambda raw=raw: parse_call("Write", raw), times=times)
        whole = seconds(lambda raw=raw: bind(raw), times=times)
        print(f"{title:<16}{plain * 1e6:>9.1f} µs{strict * 1e6:>9.1f} µs{whole * 1e6:>9.1f} µs{whole / plain:>7.1f}x")


if __name__ == "__main__":
    main()
