"""A failed run can go on when what stopped it is mended (issue 3 item 4)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, eventually
from tests.helpers.supervisor_process import text as said
from tests.helpers.upstream import UpstreamDouble, error_answer, reply_answer, text, tool_use

pytestmark = pytest.mark.docker

WRITE = '{"file_path": "a.txt", "content": "A"}'


def test_a_run_whose_upstream_failed_goes_on_where_it_was(supervisor: SupervisorProcess) -> None:
    """Nothing done before is done again, and the model is told every outcome in the same conversation."""
    double = UpstreamDouble([reply_answer(tool_use("mcp__runner__Write", WRITE)), error_answer(401, "no such key")])
    with double.in_thread():
        supervisor.environment["RUNNER_MODEL"] = double.url
        supervisor.start()
        supervisor.publish()
        run = supervisor.send()
        supervisor.until(run, "held")
        assert supervisor.approve(supervisor.queue(run)[0]).returncode == 0
        assert "401" in supervisor.until(run, "failed", "replied")["reason"]
        (supervisor.cwd / "a.txt").write_text("changed by a person since")
        double.answers[:] = [reply_answer(text("All done."))]
        again = supervisor.run("run", "resume", run)
        assert again.returncode == 0, again.stderr
        ended = eventually(lambda: found if (found := supervisor.show(run))["state"] == "replied" else None, "it goes on")
    assert (ended["reply"], len(ended["segments"])) == ("All done.", 2)
    assert (supervisor.cwd / "a.txt").read_text() == "changed by a person since"
    messages: Any = cast("dict[str, Any]", double.seen[-1].body)["messages"]
    results = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
    assert len(results) == 1
    assert "Created /workspace/a.txt" in json.dumps(results)
    assert "401" not in json.dumps(messages)


def test_only_a_failed_run_can_be_resumed(supervisor: SupervisorProcess) -> None:
    """Usage errors change nothing."""
    supervisor.script([said("here")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "replied")
    assert supervisor.run("run", "resume", run).returncode == 2
    assert supervisor.run("run", "resume", "r_nosuchrun").returncode == 3
    assert supervisor.show(run)["state"] == "replied"
