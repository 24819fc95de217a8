"""Glob patterns, however they spell a way out."""

from __future__ import annotations

import pytest

from runner.paths import PathRefusal, check_pattern, pattern_base
from runner.paths.patterns import MAX_PATTERN


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "**/*.py",
        "**/*.{ts,tsx}",
        "{src,tests}/**/*.py",
        "src/*.txt",
        "./notes/*",
        "/workspace/**/*.md",
        "//workspace/*",
        "/workspace",
        ".*",
        "..*",
        "*..*",
        "a..b",
        "...",
        "v[0-9].[0-9]/*",
        "[0-9][0-9]/*",
        "log{1..3}.txt",
        "{a..z}*",
        "!*.test.ts",
        "*.ts,*.tsx",
        "*.ts *.tsx",
        "foo*(1).txt",
        "report (final).txt",
        "[!/]*",
        "[]a]*",
        "a[",
        "a{b",
        r"\{literal\}",
        r"a\*b",
        "café/*",
    ],
)
def test_a_pattern_beneath_the_workspace_is_fine(pattern: str) -> None:
    assert check_pattern(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "..",
        "../*",
        "../**",
        "a/../../b",
        "*/..",
        "/etc/pass*",
        "/etc/**",
        "/*",
        "/",
        "/workspace-evil/*",
        "/workspace/../etc/*",
        "//etc/*",
        "/./etc/*",
        "~",
        "~/*",
        "~root/*",
        "{~,x}/*",
        "$HOME/*",
        "${HOME}/*",
        "file:///etc/*",
        "{..,a}/x",
        "{a,..}/x",
        "{a,{b,..}}/x",
        "{.,a}./x",
        "{.,}{.,}/x",
        "{..}/x",
        "{/etc,a}/*",
        "{,/}etc/*",
        "{a,/etc}/*",
        "{a,b/../..}/x",
        "{-../}x",
        "{...0}./x",
        r"\../x",
        r"\.\./x",
        r"\/etc/*",
        r"{\.\.,a}/x",
        "[.][.]/x",
        "[.]./x",
        ".[.]/x",
        "[!a][!a]/x",
        "[^a]./x",
        "[-.].[/]x",
        "[/]etc/*",
        "[a/]etc",
        "@(..|a)/x",
        "+(.)/x",
        "@(/etc|a)/x",
        "?(.)?(.)/x",
        "!../**",
        "!/etc/**",
        "*.ts ../**",
        "*.ts,/etc/**",
        "a\0b",
        "\ud800",
        "",
        "  ",
    ],
)
def test_a_pattern_that_could_name_something_outside_is_refused(pattern: str) -> None:
    """R50; cases 37, 39."""
    assert isinstance(check_pattern(pattern), PathRefusal)


def test_the_work_on_a_pattern_is_bounded() -> None:
    for pattern in ["{a,b}" * 12, "{a,b" * 200, "[" * 5000, "a," * 400, "{" * MAX_PATTERN, "@(" * 500, "x" * 5000]:
        found = check_pattern(pattern)
        assert found is None or isinstance(found, PathRefusal)
    assert isinstance(check_pattern("{a,b}" * 12), PathRefusal)
    assert isinstance(check_pattern("x" * (MAX_PATTERN + 1)), PathRefusal)


@pytest.mark.parametrize(
    ("pattern", "base"),
    [
        ("*", ""),
        ("src/*.py", "src"),
        ("src/app/**/x", "src/app"),
        ("notes/monday.txt", "notes/monday.txt"),
        ("/workspace/dlink/*", "/workspace/dlink"),
        ("/*", "/"),
        ("{a,b}/x", ""),
        ("a/[b]/c", "a"),
    ],
)
def test_the_fixed_part_of_a_pattern_is_where_a_search_starts(pattern: str, base: str) -> None:
    assert pattern_base(pattern) == base
