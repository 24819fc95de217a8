"""What `runner doctor --escape` shows: each script with what became of it, and how many got out."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from runner.render import Screen, Styled
from runner.settings import load_settings

if TYPE_CHECKING:
    from runner.model import Json, JsonObject
    from runner.supervisor.escape import Result

_STYLES = {"held": "green", "void": "yellow", "out": "bold red"}


def escape(screen: Screen) -> None:
    """Run the suite and show it.

    Raises:
        typer.Exit: A script got out.
    """
    from runner.supervisor.escape.host import try_host  # noqa: PLC0415 - for this alone

    results = asyncio.run(try_host(load_settings(), progress=lambda result: _beat(screen, result)))
    screen.calm()
    out = sum(result.verdict.value == "out" for result in results)
    void = sum(result.verdict.value == "void" for result in results)
    if screen.json:
        screen.document({"ok": not out, "out": out, "untried": void, "of": len(results), "scripts": [_row(r) for r in results]})
    else:
        for result in results:
            _line(screen, result)
        for line in _costs(results):
            screen.say(line)
        said = f"{out} of {len(results)} got out"
        screen.say(Styled(said, "bold red" if out else "bold green"), f"; {void} could not be tried here" if void else "")
    if out:
        raise typer.Exit(1)


def _beat(screen: Screen, result: Result) -> None:
    screen.beat(Styled(result.verdict.value, _STYLES[result.verdict.value], 7), result.script.id)


def _line(screen: Screen, result: Result) -> None:
    verdict = result.verdict.value
    screen.say(Styled(verdict, _STYLES[verdict], 5), Styled(result.script.id, "bold", 28), result.script.tries)
    for found in result.found:
        screen.say(Styled("", "", 5), found)


def _costs(results: tuple[Result, ...]) -> list[str]:
    """What the floods cost others at most, beside what a script that does nothing does."""
    both = [(one.measure, one.calm) for one in results if one.measure is not None and one.calm is not None]
    if not both:
        return []
    latency, stall = max(one.latency for one, _ in both), max(one.stall for one, _ in both)
    quiet = both[0][1]
    return [
        f"while they flooded, another run's answer took {latency * 1000:.1f} ms ({quiet.latency * 1000:.1f} beside nothing)",
        f"and nothing waited longer than {stall * 1000:.0f} ms for its turn ({quiet.stall * 1000:.0f}); at most "
        f"{max(one.memory for one, _ in both)} MiB and {max(one.handles for one, _ in both)} handles were taken",
    ]


def _row(result: Result) -> JsonObject:
    script = result.script
    measure: Json = None if result.measure is None else asdict(result.measure)
    calm: Json = None if result.calm is None else asdict(result.calm)
    return {
        "id": script.id,
        "class": script.kind,
        "tries": script.tries,
        "must": script.must,
        "verdict": result.verdict.value,
        "found": list(result.found),
        "measure": measure,
        "calm": calm,
        "note": result.note,
    }
