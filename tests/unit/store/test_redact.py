"""V9, A5: what looks like a secret is taken out of the audit, by field and by shape, wherever it stands; digests stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.store import audit
from runner.store.redact import REDACTED, redacted
from tests.helpers.stored import NOW, opened

DIGEST = "sha256:" + "ab" * 32
#: Put together here, so that no scanner takes this file for a leak.
TOKENS = [
    "sk-" + "ant-api03-" + "x1" * 20,
    "gh" + "p_" + "A1" * 18,
    "github" + "_pat_" + "A1" * 20,
    "gl" + "pat-" + "A1" * 10,
    "AK" + "IA" + "A1" * 8,
    "AI" + "za" + "A1" * 18,
    "xo" + "xb-" + "123456789-abcdefghi",
    "ey" + "J" + "hbGciOiJI" + ".eyJzdWIiOiIx." + "c2ln",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nabc\n-----END RSA " + "PRIVATE KEY-----",
    "-----BEGIN " + "PRIVATE KEY-----\nMIIE cut off",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("form", ["{}", "it used {} again", '{{"header": "{}"}}', "/srv/{}/file", "url?k={}&x=1"])
def test_a_secret_is_known_by_its_shape_in_every_place(token: str, form: str) -> None:
    """V9, A5."""
    said = redacted({"a": [{"reason": form.format(token)}]})
    assert said == {"a": [{"reason": form.format(REDACTED)}]} or token.startswith("-----BEGIN PRIVATE")
    assert not any(part in json.dumps(said) for part in ("MIIE", token))


@pytest.mark.parametrize(
    ("given_", "left"),
    [
        ({"a": [{"password": "x"}]}, {"a": [{"password": REDACTED}]}),
        (
            {"apiKey": "x", "API-KEY": 7, "db_password": ["x"]},
            {"apiKey": REDACTED, "API-KEY": REDACTED, "db_password": REDACTED},
        ),
        ({"Authorization": "x", "cookie": {"a": "x"}}, {"Authorization": REDACTED, "cookie": REDACTED}),
        ({"token": None, "secret": False}, {"token": None, "secret": False}),
        ("Authorization: Bearer abcdefghijklmnop", f"Authorization: {REDACTED} {REDACTED}"),
        ("postgresql://runner:hunter2@db/x", f"postgresql://runner:{REDACTED}@db/x"),
        ("password=hunter2, then more", f"password={REDACTED}, then more"),
        ('{"password": "hunter 2", "n": 1}', f'{{"password": {REDACTED}, "n": 1}}'),
        ("the password is hunter2", f"the password is {REDACTED}"),
        ("mysql --password hunter2 -h db", f"mysql --password {REDACTED} -h db"),
        ("PGPASSWORD=hunter2 psql", f"PGPASSWORD={REDACTED} psql"),
        ("curl -s -u me:hunter2 https://x", f"curl -s -u me:{REDACTED} https://x"),
        ("sshpass -p hunter2 ssh me@x", f"sshpass -p {REDACTED} ssh me@x"),
        ("https://hooks.slack.com/services/T0/B0/abcdefgh", f"https://hooks.slack.com/services/{REDACTED}"),
        ("https://discord.com/api/webhooks/12345/abcdef-gh", f"https://discord.com/api/webhooks/{REDACTED}"),
        ("tgram://123456789:" + "A1" * 16 + "/2", f"tgram://{REDACTED}/2"),
        ({"env": {"PGPASSWORD": "x", "MAX_TOKENS": 5}}, {"env": {"PGPASSWORD": REDACTED, "MAX_TOKENS": 5}}),
    ],
)
def test_a_secret_is_known_by_the_name_before_it(given_: object, left: object) -> None:
    """A32: nested in lists and objects too."""
    assert redacted(given_) == left  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "facts",
    [
        {"digest": DIGEST, "call_digest": DIGEST, "run": "r_7k3m9q0123456789", "rank": 7, "strict": True, "reason": None},
        {"input_tokens": 12, "tokens": 3, "key": "k", "author": "x", "secretary": "ann", "from": "pending", "to": "denied"},
        "the budget of 200000 tokens is spent: sk-1 and password rules stay, https://example.org:8080/a@b",
        "MAX_TOKENS=5, PWD=/home/x, git commit -p now, curl -u is a flag, 12:30 to 13:45",
        {"by": {"uid": 0, "channel": "cli", "name": "anna"}, "before": ["allow", 1.5]},
    ],
)
def test_what_is_no_secret_stays(facts: object) -> None:
    assert redacted(facts) == facts  # type: ignore[arg-type]


@given(st.text() | st.from_regex(r"(password|token)[=: ]+[a-z]{0,9}( is .*)?"))
def test_what_is_redacted_once_stays_as_it_is(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


def test_the_database_file_holds_no_secret_that_a_reason_brought(tmp_path: Path) -> None:
    """V9, A5: the digest stays."""
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        row = audit.append(conn, time=NOW, event="x", subject="s", data={"reason": f"it says {TOKENS[0]}", "digest": DIGEST})
        assert (json.loads(row.data), audit.verify(conn)) == ({"reason": f"it says {REDACTED}", "digest": DIGEST}, None)
    assert not any(TOKENS[0].encode() in file.read_bytes() for file in tmp_path.iterdir())
