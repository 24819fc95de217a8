"""Makes docs/features.md: every numbered feature with its state and the tests that name it.

Owns the short names. A feature counts as held when the docstring of a test names its number; limits are stated in a page and no
test can hold them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "features.md"
#: Tests shown for a feature; the rest are counted.
SHOWN = 2
#: What a page states and no test can hold.
LIMITS = frozenset({58, 59, 60, 61, 65, 104, 106, 107, 112, 118, 129, 136})

#: Area → its features, a line each: number and short name.
AREAS = {
    "Where text comes from": """
1 page text in a capture is data
2 pixels of a picture are data, and never called safe
3 a contact's note and intent are data
4 the owner's own note and intent are the request""",
    "The fence": """
5 one block holds everything of the page
6 an imitated end of the block changes nothing
7 odd values cannot break the opening tag
8 an over-long field is cut, and says so
9 the system prompt says that the block is data
10 the capture's own text repeats it
11 so does every tool server's description
12 a forwarded capture names its contact and `via="you"`
13 only the owner's forwarding note stands outside
14 petname and fingerprint are shown, never the claimed name
15 a claimed name cannot imitate the sender's form""",
    "What lets a capture reach an agent": """
16 an agent gets nothing until it is published and lists the sender
17 without `wake` a capture waits to be started
18 the capture asks for confirmation, and nothing relies on it
19 a reply is held until the owner approves it
20 replies without review are off until allowed
21 the review shows the whole text and who gets it
22 what an unverified sender sends waits to be accepted
23 another machine's agent reaches only those that list its label
24 an agent may send 20 captures an hour
25 its report is fenced, beneath the owner's standing instruction
26 what leaves the supervisor is asked about first
27 off a terminal it needs an explicit yes
28 what left is on record and listed
29 pause stops every new delivery
30 a running turn finishes during a pause
31 pause stops shares too""",
    "Strict mode": """
32 a stub first, the content after `accept`
33 how a run becomes strict
34 a policy that approves by itself is strict with captures
35 what would run by itself is held for them
36 a held capture goes by no other way
37 strict is the default
38 a read runs in a strict run
39 everything else waits for `runner approve`
40 a call refused, expired or cancelled does not run, and the agent hears it""",
    "Confinement": """
41 the CLI starts restricted and safe
42 nothing planted on the host or in the directory is loaded
43 the supervisor answers every permission itself
44 a tool that is not listed is denied
45 permissions are never bypassed
46 a path inside goes on to the rules
47 `..` that leads out is denied
48 `~` is denied
49 a link that leads out is denied
50 what cannot be checked is denied
51 checking a profile names its unconfined tools
52 publishing one with them is refused
53 unless it says so, and then they still wait
54 no secret in the agent's environment
55 a contact's run is strict, whatever the profile says
56 and has a fresh process of its own
57 no run sees another's context""",
    "Stated residuals": """
58 the owner's own hostile page is still read
59 text in a picture passes the fence
60 a turn that starts by itself has no person in it
61 whoever has the owner's uid is the owner""",
    "Guidance that became checks": """
62 a shared directory is warned about
63 `strict = false` is warned about
64 replies without review are warned about and listed
65 advice to operators""",
    "The default policy": """
66 one default per owner
67 it is `ask` until set
68 `ask` asks for reads too
69 `read_only` runs reads
70 `skip` runs reversible writes besides
71 file writes never run by themselves
72 a saved allow stops asking
73 a saved ask asks
74 a block refuses
75 a ceiling falls to `ask`""",
    "Built-in tools": """
76 web search is untrusted and carries data out
77 map search likewise
78 fetching a page is guarded
79 running code is an irreversible execute
80 writing stays in the directory
81 making a folder is reversible
82 listing stays in the directory
83 reading gives untrusted text
84 editing is an irreversible write
85 a document is a new file of five kinds
86 a skill is text
87 every tool has declared metadata""",
    "What always asks": """
88 a connector's tool puts the turn into manual mode
89 an unclassified tool is the worst case
90 posting to GitHub never runs by itself
91 a saved ask outranks the default
92 untrusted, private and outgoing together ask
93 and are refused where nobody answers""",
    "Precedence": """
94 rank 1: blocked
95 rank 2: a device's own step
96 rank 3: allowed, but escalated
97 rank 4: allowed
98 rank 5: needs approval
99 rank 6: covered in manual mode
100 rank 7: not covered
101 rank 8: escalated
102 rank 9: the default
103 rank and reason are recorded""",
    "Limits of the escalation": """
104 what counts as untrusted
105 an offered connector counts as a source
106 a leak within a declared read is not seen
107 what a person approves runs""",
    "Blocks": """
108 checked in the supervisor, before any effect
109 checked again when approved later
110 a hand-made request changes nothing
111 the agent is told not to retry
112 the tool may stay in the list""",
    "Browser": """
113 no session without an explicit start
114 it asks unless told not to
115 no answer in 30 s is a no
116 only allowed sites
117 secrets are taken out of what is read back
118 screenshots are not redacted
119 console and network need a grant
120 console text is redacted
121 a network line holds no body
122 a download only on request
123 the model only through the gateway""",
    "Desk and connectors": """
124 dangerous tools prompt locally
125 saved verdicts last over a restart
126 three standing verdicts per tool
127 a connector is connected when it was probed
128 three kinds of connectors
129 an installation's permissions are not restated
130 endpoint and credentials stay here
131 a custom server's token is encrypted
132 no pretended connection
133 a record without tokens
134 availability is asked for
135 private addresses are refused
136 a custom server sees what is sent to it""",
    "Revocation and audit": """
137 disconnecting forgets verdicts
138 after a reset the next call asks
139 a block binds both paths
140 unlinking GitHub
141 deleting a custom connector deletes its token
142 a removed site is refused at once
143 a gate turned on asks at the next action
144 verdicts can be set from the card
145 connecting is audited""",
}


def numbered_tests() -> dict[int, list[str]]:
    """Feature number → names of the tests whose docstrings name it, sorted."""
    found: dict[int, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for number in numbers_in(ast.get_docstring(node) or ""):
                    found.setdefault(number, set()).add(node.name)
    return {number: sorted(names) for number, names in found.items()}


def numbers_in(docstring: str) -> Iterator[int]:
    """The numbers of `R46`, `R47-R50` and `R47-50`."""
    for first, last in re.findall(r"\bR(\d+)(?:-R?(\d+))?\b", docstring):
        yield from range(int(first), int(last or first) + 1)


def page() -> str:
    """The whole page."""
    tests = numbered_tests()
    sections = "\n\n".join(f"## {area}\n\n{_table(lines, tests)}" for area, lines in AREAS.items())
    held = sum(1 for lines in AREAS.values() for number, _ in _lines(lines) if _state(number, tests) == "held")
    return f"""# Features

Made by `make diagrams` from the tests: a feature is *held* when at least one test names its number. A *limit* is stated in
[threat-model.md](threat-model.md) and no test can hold it. *Not built*: the product refuses it or does not offer it.
{held} of 145 are held.

{sections}
"""


def _table(lines: str, tests: dict[int, list[str]]) -> str:
    rows = [
        f"| R{number} | {title} | {_state(number, tests)} | {_shown(tests.get(number, []))} |"
        for number, title in _lines(lines)
    ]
    return "\n".join(["| | | | tests |", "|---|---|---|---|", *rows])


def _lines(lines: str) -> Iterator[tuple[int, str]]:
    for line in lines.strip().splitlines():
        number, _, title = line.partition(" ")
        yield int(number), title


def _state(number: int, tests: dict[int, list[str]]) -> str:
    if number in LIMITS:
        return "limit"
    return "held" if tests.get(number) else "not built"


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " · ".join(f"`{name}`" for name in names[:SHOWN]) + more


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
