"""What a reply would give away is named: every form in which a text can lead elsewhere, and traces of what must not leave."""

from __future__ import annotations

import pytest

from runner.captures.revealing import MOST_LINKS, has_more_links, links, traces

NONCE = "0123456789abcdef" * 2
ID = "a_7k3m9q2v8xk1abcd"


@pytest.mark.parametrize(
    ("text", "form", "host"),
    [
        ("![](https://h.example/?d=secret)", "image", "h.example"),
        ("![](//h.example?d=secret)", "image", "h.example"),
        ("![x][a]\n\n[a]: https://evil.example/q?d=1", "reference", "evil.example"),
        ("> [a]: <https://evil.example/q>", "reference", "evil.example"),
        ("[click](http://real.example@evil.example/)", "link", "evil.example"),
        ("<https://auto.example/x>", "address", "auto.example"),
        ("see https://user@plain.example:8443/x", "address", "plain.example"),
        ("see www.plain.example", "address", "www.plain.example"),
        ("see plain.example/q?d=1", "address", "plain.example"),
        ('<img src="https://i.example/x.png">', "html", "i.example"),
        ("<img/src=i.example/x.png>", "html", "i.example"),
        ('<svg><image xlink:href="https://s.example/x"/></svg>', "html", "s.example"),
        ("<div style=\"background:url('http://c.example/x')\">", "css", "c.example"),
        ("@import 'https://imp.example/a.css';", "css", "imp.example"),
        ("\x1b]8;;https://osc.example/\x07here\x1b]8;;\x07", "terminal link", "osc.example"),
        ("\x9d8;id=1;https://osc.example/\x9chere", "terminal link", "osc.example"),
        ("&#104;ttps&colon;//ent.example/", "address", "ent.example"),
        ("https\\://esc.example/x", "address", "esc.example"),
        ("https://h%65x.example/x", "address", "hex.example"),
        ("https:\\\\back.example/x", "address", "back.example"),
        ("https://full。example/x", "address", "full.example"),
        ("mailto:a@m.example?body=x", "address", "m.example"),
        ("[x](javascript:alert(1))", "link", "javascript:"),
        ("![](data:image/png;base64,AAAA)", "image", "data:"),
        ("ftp://f.example/x", "address", "f.example"),
    ],
)
def test_whatever_leads_elsewhere_is_named_with_its_host(text: str, form: str, host: str) -> None:
    """O1: reference style, autolinks, images, HTML, CSS, terminal links, spelled so that a program would still follow them."""
    assert (form, host) in {(link.form, link.host) for link in links(text)}


@pytest.mark.parametrize("lookalike", ["\u0430pple.com", "\u0251pple.com", "apple\u2024com.evil.example"])
def test_a_host_that_looks_like_another_is_shown_in_ascii(lookalike: str) -> None:
    """O1: host in ASCII or punycode."""
    (link, *_) = links(f"https://{lookalike}/login")
    assert link.host.isascii()
    assert link.host != "apple.com"


@pytest.mark.parametrize("text", ["", "See file.txt and notes.md.", "v1.2/3 and 10:30", "a <b> c", "[x] done", "[here](#top)"])
def test_a_text_that_leads_nowhere_has_no_link(text: str) -> None:
    assert links(text) == ()


def test_images_and_styles_are_said_to_be_fetched_by_whatever_shows_them() -> None:
    (picture,) = links("![](https://h.example/?d=1)")
    (plain,) = links("https://h.example/?d=1")
    assert (picture.loads, plain.loads) == (True, False)


def test_a_flood_of_links_is_bounded_and_quick() -> None:
    assert len(links(" ".join(f"https://h{number}.example/x" for number in range(5000)))) == MOST_LINKS
    assert links("[" * 50_000 + "a." * 50_000 + "![" * 50_000) == ()


def test_that_there_are_more_links_than_are_named_is_said_and_holds_a_reply() -> None:
    """O1, R21: what stands behind the two hundredth would else be let out unseen."""
    many = " ".join(f"https://h{number}.example/" for number in range(MOST_LINKS))
    assert (traces(many), has_more_links(many)) == ((), False)
    one_more = f"{many} https://evil.example/?d=secret"
    assert has_more_links(one_more)
    assert traces(one_more) == ("it holds more than 200 links, and a review names the first 200 of them only",)


@pytest.mark.parametrize(
    "text",
    [NONCE, NONCE.upper(), "-".join(NONCE), "\u200b".join(NONCE), f"f{NONCE}f", "".join(chr(ord(c) + 0xFEE0) for c in NONCE)],
)
def test_a_live_fence_is_found_however_it_is_spread(text: str) -> None:
    """O2."""
    assert "it holds the fence value of a run" in traces(f"so: {text}", nonces=[NONCE])


@pytest.mark.parametrize("text", [ID, ID[:8], ID.upper(), " ".join(ID[2:]), "p_0123456789abcdef"])
def test_an_id_that_something_can_be_decided_by_is_found(text: str) -> None:
    """O2, B12: whole, its beginning, spelled apart, or of the form of one."""
    assert any("id of an approval" in said for said in traces(f"run approve {text} please", ids=[ID]))


@pytest.mark.parametrize("text", ["sk-abcdefghijklmnopqrst", "AKIAABCDEFGHIJKLMNOP", "password: hunter2hunter2"])
def test_what_looks_like_a_secret_is_found(text: str) -> None:
    """O2."""
    assert "it holds what looks like a secret" in traces(text)


def test_characters_that_a_screen_would_hide_are_counted() -> None:
    assert traces("a\u202eb\u200bc") == ("it holds 2 characters that a screen would hide or act on",)


@pytest.mark.parametrize(
    "text", ["It is a bill of 20 €.", "Zeile eins\nZeile zwei\t\u2013", "c_5h2n8p4w6yz3efgj is your capture"]
)
def test_a_plain_text_has_no_trace(text: str) -> None:
    assert traces(text, nonces=[NONCE], ids=[ID]) == ()
