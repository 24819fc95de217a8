"""What the owner does with threads: send into one, and see which there are and what came along in each."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model import OWNER, Capture, JsonObject
from runner.store import Connection, Store, profiles, taints, threads
from runner.store.threads import Line, Part
from runner.supervisor.changes import Changes
from runner.supervisor.intake import Intake
from runner.supervisor.pictures import Pictures
from runner.supervisor.threads import named
from runner.supervisor.views import taint_view, thread_view

#: Threads of one answer.
MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Implements `runner.api.thread_service.Threads`."""

    store: Store
    intake: Intake
    changes: Changes
    pictures: Pictures

    async def send(self, name: str, capture: Capture) -> JsonObject:
        """Take the owner's capture as the beginning of a thread, or as what continues it.

        Raises:
            RunnerError: As `send`, and as the thread's own rules have it.
        """
        clean = await self.pictures.clean(capture, sender=OWNER)
        answer = await self.store.call(self._send, named(name), clean)
        self.changes.ring()
        return answer

    async def listed(self) -> list[JsonObject]:
        """Every thread, the one that moved last first."""
        return await self.store.query(_listed)

    def _send(self, conn: Connection, name: str, capture: Capture) -> JsonObject:
        taken = self.intake.receive(conn, capture, OWNER, thread=name)
        return {**taken.answer, "thread": thread_of(conn, threads.of_capture(conn, taken.capture))}


def thread_of(conn: Connection, part: Part | None) -> JsonObject | None:
    """A capture's or a run's thread, and what of the conversation before came along; None for one that stands alone."""
    if part is None:
        return None
    return thread_view(part, () if part.continues is None else taints.of_run(conn, part.continues))


def _listed(conn: Connection) -> list[JsonObject]:
    current = {stored.name: stored.digest for stored in profiles.all(conn) if stored.retired is None}
    return [_line(conn, line, current.get(line.thread.agent)) for line in threads.listing(conn, limit=MOST)]


def _line(conn: Connection, line: Line, digest: str | None) -> JsonObject:
    thread, last = line.thread, threads.last(conn, line.thread.name)
    over = None if digest == thread.profile_digest else "its agent was retired" if digest is None else "its profile changed"
    return {
        "name": thread.name,
        "agent": thread.agent,
        "runs": line.runs,
        "state": None if line.state is None else line.state.value,
        "last": last,
        "taint": [] if last is None else taint_view(taints.of_run(conn, last)),
        "over": over,
        "created": thread.created,
        "updated": line.updated,
    }
