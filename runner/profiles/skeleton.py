"""A commented profile to start from: it passes `profile check` as it is. Pure text."""

from __future__ import annotations

import json

_TEXT = '''\
# An agent that other people, or you, can write to. Check it with: runner profile check {file}
# Every key is described by: runner profile schema
schema = 1
name = {name}
description = "Reads a folder and writes what it is asked for into it"
kind = "claude-sdk"
model = "claude-sonnet-4-5"
system_prompt = """
You work on the files in your workspace.
Read what you need, then write what was asked for with Write or Edit.
A write waits until a person approves it. If one is refused, say what you would have written.
"""

# A directory that belongs to this agent alone. What is in it, the agent can read, less what `hide` leaves out.
cwd = {cwd}

# Fewest tools. Narrow one with patterns: "Write(out/**)", "Edit(!**/migrations/**)".
tools = ["Read", "Glob", "Grep", "Write", "Edit"]

# Only confined reads run unasked; all else waits for: runner approve ID
strict = true
policy = "read_only"            # ask | read_only | skip

# Names of contacts that may send to it; empty: you only. A contact's capture is always strict.
contacts = []

# What of cwd it gets, and what is left out of that: gitignore patterns. Keys and .env files are left out anyway.
read = ["**"]
hide = []

# [snapshot]
# max_bytes = "256MiB"
# max_files = 50000

# [limits]
# memory = "1GiB"
# turns = 40
# wall = "15m"
# budget_tokens = 200000

[approvals]
hold = "60s"                    # how long its container is kept while calls wait
expires = "7d"                  # an unanswered call is denied then

# Calls and the verdicts you expect for them; a wrong one refuses the profile.
[[examples]]
tool = "Write"
input = {{ file_path = "notes.md", content = "x" }}
expect = "ask"

[[examples]]
tool = "Read"
input = {{ file_path = "../secret.txt" }}
expect = "deny"
'''


def skeleton(name: str, *, cwd: str, file: str) -> str:
    """A profile for a new agent.

    Args:
        name: The agent's name.
        cwd: Its directory, absolute.
        file: What the file will be called, for the comment at its head.
    """
    return _TEXT.format(name=json.dumps(name), cwd=json.dumps(cwd), file=json.dumps(file)[1:-1])
