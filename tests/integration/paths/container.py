"""A process inside the wall that opens what it is told to and says what it got: the oracle's eyes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.sandbox.box import Box
from runner.sandbox.engine import ImageInfo
from runner.sandbox.launch import ContainerEngine, launch
from tests.helpers.sandbox_fixtures import an_order

#: Reads a whole batch before it opens anything: a path may lead to its own standard input.
EYES = r"""
use strict; use warnings; no warnings qw(syscalls newline);
use Fcntl qw(:DEFAULT :mode); use File::Glob ();
$| = 1; $SIG{PIPE} = 'IGNORE';
for my $place ("/tmp/secret", "/home/agent/secret", "/home/agent/in.txt") {
    open(my $h, ">", $place) or die; print $h "OUTSIDE";
}
chdir "/workspace" or die;
sub look {
    sysopen(my $h, $_[0], O_RDONLY|O_NONBLOCK|O_NOCTTY) or return "none " . ($!+0);
    my @facts = stat($h); my $head = "";
    my $kind = S_ISREG($facts[2]) ? "file" : S_ISDIR($facts[2]) ? "directory" : "other";
    sysread($h, $head, 64) if $kind eq "file";
    return join(" ", $kind, unpack("H*", readlink("/proc/self/fd/" . fileno($h))), unpack("H*", $head), $facts[3]);
}
sub near {
    my $path = $_[0];
    $path =~ s{/[^/]*$}{} while length $path && !lstat($path);
    my $seen = look($path);
    return (split / /, $seen)[1] eq unpack("H*", $path) ? $seen : "astray " . unpack("H*", $path) . "  0";
}
while (defined(my $count = <STDIN>)) {
    my @asked = map { my $line = <STDIN>; chomp $line; $line } 1..$count;
    my @said;
    for (@asked) {
        my ($verb, $text) = split / /; $text = pack("H*", defined $text ? $text : "");
        if ($verb ne "glob") { push @said, $verb eq "open" ? look($text) : near($text); next; }
        my @found = File::Glob::bsd_glob($text, File::Glob::GLOB_BRACE()|File::Glob::GLOB_TILDE()|File::Glob::GLOB_QUOTE());
        push @said, "found " . join(",", map { my @l = split / /, look($_); $l[0] eq "none" ? () : $l[1] } @found);
    }
    print map { "$_\n" } @said;
}
"""


@dataclass(frozen=True, slots=True)
class Got:
    """What an open gave. `place` is the kernel's own name for it, so no text was interpreted to get it."""

    kind: str  #: file, directory, other, none; astray: a proven path with a link in it
    place: str = ""
    head: bytes = b""
    names: int = 0
    error: int = 0


class Eyes:
    """One container, asked in batches."""

    def __init__(self, loop: asyncio.AbstractEventLoop, box: Box) -> None:
        self._loop, self._box = loop, box
        self._rest = b""

    @classmethod
    def open(cls, engine: ContainerEngine, folder: Path, image: ImageInfo) -> Self:
        """Start it over `folder`/snapshot."""
        loop = asyncio.new_event_loop()

        async def nobody(_: str) -> None:
            """Write no row."""

        return cls(
            loop, loop.run_until_complete(launch(engine, an_order(folder, image, "perl", "-e", EYES), on_created=nobody))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.run_until_complete(self._box.destroy())
        self._loop.close()

    def look_thrice(self, cases: Sequence[tuple[str, str, str]]) -> list[tuple[Got, Got, Got]]:
        """What two spellings give, and what stands at a proven path or nearest above it."""
        questions = [
            f"{verb} {_hex(text)}" for case in cases for verb, text in zip(("open", "open", "near"), case, strict=True)
        ]
        got = [_got(line) for line in self._ask(questions)]
        return list(zip(got[::3], got[1::3], got[2::3], strict=True))

    def match(self, patterns: Sequence[str]) -> list[list[str]]:
        """Where everything a shell's reading of each pattern matches really lies."""
        lines = self._ask([f"glob {_hex(pattern)}" for pattern in patterns])
        return [[_text(item) for item in line.partition(" ")[2].split(",") if item] for line in lines]

    def _ask(self, questions: list[str]) -> list[str]:
        return self._loop.run_until_complete(self._exchange(questions)) if questions else []

    async def _exchange(self, questions: list[str]) -> list[str]:
        await self._box.send("".join(f"{line}\n" for line in (str(len(questions)), *questions)).encode())
        async with asyncio.timeout(60):
            while self._rest.count(b"\n") < len(questions):
                chunk = await self._box.receive()
                assert chunk is not None, "the container ended"
                assert chunk.stream == "out", chunk.data
                self._rest += chunk.data
        *lines, self._rest = self._rest.split(b"\n")
        assert len(lines) == len(questions)
        return [line.decode() for line in lines]


def _got(line: str) -> Got:
    words = line.split(" ")
    if words[0] == "none":
        return Got(kind="none", error=int(words[1]))
    return Got(kind=words[0], place=_text(words[1]), head=bytes.fromhex(words[2]), names=int(words[3]))


def _hex(path: str) -> str:
    return path.encode("utf-8", "surrogatepass").hex()


def _text(hexed: str) -> str:
    return bytes.fromhex(hexed).decode("utf-8", "surrogateescape")
