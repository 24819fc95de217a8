"""How the CLI is told, and how often it may ask."""

from __future__ import annotations

import pytest

from runner.errors import every_error
from runner.gateway.allowance import Allowance
from runner.gateway.refusals import RequestRefusedError, UpstreamError, clean, error_body, status_for_cli


@pytest.mark.parametrize(
    ("upstream", "cli"),
    [(401, 403), (403, 403), (429, 429), (400, 400), (413, 413), (500, 500), (502, 500), (529, 529), (302, 500)],
)
def test_the_cli_gets_the_status_that_makes_it_give_up(upstream: int, cli: int) -> None:
    assert status_for_cli(UpstreamError("no", status=upstream)) == cli


def test_only_errors_that_pass_by_themselves_are_asked_again() -> None:
    passing = [
        status
        for status in (302, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529)
        if UpstreamError("", status=status).passing
    ]
    assert passing == [408, 429, 500, 502, 503, 504, 529]


def test_a_text_from_outside_becomes_one_printable_bounded_line() -> None:
    assert clean("a\r\nb\x1b[31m\u202ec\u200b\0d") == "a b [31m c d"
    assert clean("x" * 1000, 10) == "xxxxxxxxx…"
    assert clean("schöne Grüße, 日本") == "schöne Grüße, 日本"


def test_an_error_body_has_the_api_s_own_form() -> None:
    assert error_body(403, "no\nway") == {"type": "error", "error": {"type": "permission_error", "message": "no way"}}
    assert error_body(599, "x") == {"type": "error", "error": {"type": "api_error", "message": "x"}}


def test_the_gateway_s_errors_have_codes_of_their_own() -> None:
    known = every_error()
    assert (known["gateway_refused"], known["upstream"]) == (RequestRefusedError, UpstreamError)
    assert known["gateway"].__name__ == "GatewayError"


def test_an_allowance_gives_its_burst_and_then_its_pace() -> None:
    now = [0.0]
    allowance = Allowance(3, 2.0, clock=lambda: now[0])
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [allowance.take() for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]
