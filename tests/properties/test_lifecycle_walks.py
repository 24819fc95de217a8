"""Invariant 9: whatever happens in whatever order, a run is where its table says, and a refused event changes nothing."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.lifecycle import RUN, RUN_ENDS, RunEvent
from runner.store import Store, audit, runs
from tests.helpers.stored import NOW, a_run, opened

WALKS = st.lists(
    st.tuples(st.sampled_from(RunEvent), st.sampled_from([None, 0, 1]), st.sampled_from([None, 0, 1])), max_size=25
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("walks") / "runner.db") as store:
        yield store


@settings(max_examples=150, deadline=None)
@given(walk=WALKS)
def test_a_run_walks_along_its_table_only(store: Store, walk: list[tuple[RunEvent, int | None, int | None]]) -> None:
    with store.begin() as conn:
        row = a_run(conn)
        for event, segment, attempt in walk:
            links = len(audit.of_subject(conn, row.id))
            moved = runs.move(conn, row.id, event, now=NOW, segment=segment, attempt=attempt)
            target = RUN.get((row.state, event))
            if target is None or segment == 1 or attempt == 1:
                assert moved is None
            else:
                row = replace(row, state=target, version=row.version + 1)
                assert moved == row
            assert runs.get(conn, row.id) == row
            assert len(audit.of_subject(conn, row.id)) == links + (moved is not None)


@settings(max_examples=50, deadline=None)
@given(walk=st.lists(st.sampled_from([event for event in RunEvent if event is not RunEvent.RETRY]), min_size=15, max_size=40))
def test_a_run_that_has_ended_stays_ended_unless_it_is_retried(store: Store, walk: list[RunEvent]) -> None:
    ended = None
    with store.begin() as conn:
        row = a_run(conn)
        for event in walk:
            row = runs.move(conn, row.id, event, now=NOW) or row
            if ended is not None:
                assert row == ended
            elif row.state in RUN_ENDS:
                ended = row
