"""Random directory trees and path arguments, as hostile as a model or a contact could make them (issue 4's oracle).

Seeded `random`, not hypothesis: thousands of cases go through one container in batches, and a seed is all it takes to see one
again.
"""

from __future__ import annotations

import os
import socket
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

PLAIN = ("a", "b", "c", "in.txt", "sub", "notes.md", "x.py")
ODD = (
    "~",
    "~root",
    "a b",
    " lead",
    "trail ",
    "\u00e9",
    "e\u0301",
    "\uff0e\uff0e",
    "%2e%2e",
    "%2e",
    "$X",
    "${HOME}",
    "$(id)",
    "...",
    "..a",
    "-n",
    "*",
    "[x]",
    "{a,b}",
    "a\\b",
    "file:",
    "C:",
    "\u202ex",
    "\u00a0",
    "new\nline",
    ".git",
    ".env",
    "A",
    "workspace",
    "etc",
    "proc",
    "n" * 250,
    "\u2025",
    "a\u2215b",
    "\x1b[2J",
)
AWAY = (
    "/etc/passwd",
    "/etc",
    "/proc/self/cwd",
    "/proc/self/root",
    "/proc/self/cwd/in.txt",
    "/proc/self/root/workspace/in.txt",
    "/proc/self/fd/0",
    "/dev/zero",
    "/dev/stdin",
    "/home/agent",
    "/tmp/secret",
    "/",
    "../etc/passwd",
    "../../../../etc",
    "..",
    "../..",
    "../workspace/in.txt",
    "../workspace",
    "/workspace/../workspace/in.txt",
    "/workspace/../etc/passwd",
    "/workspace-evil/s",
    "//workspace//in.txt",
    "/./workspace/./sub",
    "/workspace/",
    "/workspace",
    ".",
    "./",
    "gone",
    "/workspace/gone/../in.txt",
    "sub/../../workspace/in.txt",
    "~/secret",
)


@dataclass(slots=True)
class Grown:
    """A tree that stands on the disk: its names, plain files apart from the rest, paths relative to its root."""

    names: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)  #: no link on the way
    files: list[str] = field(default_factory=list)  #: one name each, no link on the way
    content: dict[str, bytes] = field(default_factory=dict)  #: of every regular file, hard links included


def grow(random: Random, root: Path, *, outside: Path) -> Grown:
    """Grow a random tree beneath an existing directory; `outside` is a directory of secrets beside it."""
    tree = Grown(directories=[""])
    for _ in range(random.randint(6, 28)):
        parent = random.choice(tree.directories)
        name = random.choice(ODD if random.random() < 0.4 else PLAIN)
        path = f"{parent}/{name}" if parent else name
        if os.path.lexists(root / path) or path.count("/") > 4 or len(path.encode()) > 3000:
            continue
        random.choices((_file, _directory, _link, _special, _hard_link), (7, 6, 11, 1, 2))[0](random, root, path, tree, outside)
    _chain(random, root, tree)
    return tree


def _file(random: Random, root: Path, path: str, tree: Grown, outside: Path) -> None:
    tree.content[path] = f"INSIDE {random.getrandbits(48):x}".encode()
    (root / path).write_bytes(tree.content[path])
    tree.names.append(path)
    tree.files.append(path)


def _directory(random: Random, root: Path, path: str, tree: Grown, outside: Path) -> None:
    (root / path).mkdir()
    tree.names.append(path)
    tree.directories.append(path)


def _link(random: Random, root: Path, path: str, tree: Grown, outside: Path) -> None:
    (root / path).symlink_to(_target(random, path, tree, outside, root))
    tree.names.append(path)


def _special(random: Random, root: Path, path: str, tree: Grown, outside: Path) -> None:
    os.mknod(root / path, random.choice((stat.S_IFIFO, stat.S_IFSOCK)) | 0o666)
    tree.names.append(path)


def _hard_link(random: Random, root: Path, path: str, tree: Grown, outside: Path) -> None:
    inside = [*tree.files]
    if inside and random.random() < 0.5:
        other = random.choice(inside)
        (root / path).hardlink_to(root / other)
        tree.files.remove(other)
        tree.content[path] = tree.content[other]
    else:
        (root / path).hardlink_to(outside / "secret.txt")
        tree.content[path] = (outside / "secret.txt").read_bytes()
    tree.names.append(path)


def _target(random: Random, path: str, tree: Grown, outside: Path, root: Path) -> str:
    some = random.choice([*tree.names, *tree.directories, "in.txt", "gone"])
    up = path.count("/")
    kinds: tuple[Callable[[], str], ...] = (
        lambda: "../" * up + some or ".",
        lambda: "../" * random.randint(0, up + 2) + some or ".",
        lambda: f"/workspace/{some}",
        lambda: random.choice(AWAY),
        lambda: random.choice((str(outside / "secret.txt"), str(outside), str(root), str(root / "in.txt"))),
        lambda: path.rpartition("/")[2],
        lambda: f"{some}/.." if some else "..",
        lambda: f"./{'../' * up}/{some}//",
    )
    return random.choices(kinds, (6, 2, 4, 8, 2, 1, 2, 2))[0]()


def _chain(random: Random, root: Path, tree: Grown) -> None:
    """Sometimes a chain of links about as long as a kernel follows."""
    if random.random() > 0.15:
        return
    length = random.choice((3, 38, 39, 40, 41, 45))
    end = random.choice(tree.names or ["gone"])
    for number in range(length):
        name = f"l{number}"
        (root / name).symlink_to(f"l{number + 1}" if number + 1 < length else end)
        if number < 4:
            tree.names.append(name)


def plain_argument(random: Random, tree: Grown) -> tuple[str, str] | None:
    """An ordinary spelling of an ordinary file, which must always be let through, and the file; None where there is none."""
    usual = [
        path for path in tree.files if all(name in (*PLAIN, ".git", "..a", "...", "\u00e9", "[x]") for name in path.split("/"))
    ]
    if not usual:
        return None
    path = random.choice(usual)
    spelling = random.choice((path, path, f"./{path}", f"/workspace/{path}", path.replace("/", "//"), path.replace("/", "/./")))
    return spelling, path


def argument(random: Random, tree: Grown, *, outside: Path) -> str:
    """Any path argument: a name of the tree, bent once or more, or a row of segments."""
    if random.random() < 0.25:
        return _row(random)
    text = random.choice([*tree.names, *tree.directories, "gone", "gone/deep"])
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        text = _bend(random, text, tree, outside)
    return text


def _row(random: Random) -> str:
    segments = (*PLAIN, *ODD, "..", "..", "..", ".", "", "workspace", "etc", "passwd", "l0", "%2e%2e", " ")
    start = random.choice(
        ("", "", "/", "./", "/workspace/", "../", "~/", "//", "/workspace/../", "/proc/self/cwd/", " /workspace/")
    )
    return start + "/".join(random.choice(segments) for _ in range(random.randint(1, 6)))


def _bend(random: Random, text: str, tree: Grown, outside: Path) -> str:
    other = random.choice([*tree.names, *tree.directories, "gone"])
    parts = text.split("/")
    place = random.randint(0, len(parts))
    between = random.choice((".", "", "..", f"{other}/..", "a/..", "gone/..", "../workspace", "../..", "...", other))
    bends: tuple[Callable[[], str], ...] = (
        lambda: "/workspace/" + text,
        lambda: "/".join([*parts[:place], between, *parts[place:]]),
        lambda: "/".join([*parts[:place], between, *parts[place:]]),
        lambda: (
            text + random.choice(("/", "/.", "/..", "/../..", "/../secret.txt", "//", "/" + other, " ", "\n", "\0", "\u00a0"))
        ),
        lambda: (
            random.choice(("~/", "~root/", "$HOME/", "file://", "file:///workspace/", " ", "\ufeff", "/proc/self/root/")) + text
        ),
        lambda: (
            random.choice(("/proc/self/cwd/", "/workspace/../workspace/", "/workspace", "/workspace-evil/", "//workspace/"))
            + text
        ),
        lambda: random.choice(("/dev/fd/0/", "/home/agent/", "/run/gateway/", "/etc/../workspace/", "/WORKSPACE/")) + text,
        lambda: random.choice((str(outside / "secret.txt"), f"{outside}/../cwd/{text}", "../outside/secret.txt")),
        lambda: text.replace(".", "%2e").replace("/", "%2f"),
        lambda: unicodedata.normalize(random.choice(("NFC", "NFD", "NFKC")), text),
        text.swapcase,
        lambda: f"{other}/{text}",
        lambda: f"{other}/" + "../" * random.randint(1, 4) + text,
        lambda: random.choice((*AWAY, "/etc/hostname", "/run/gateway", "../tmp/secret", "/home/agent/secret")),
        lambda: text + random.choice(("/passwd", "/etc/passwd", "/secret", "/workspace/in.txt", "/cwd/in.txt", "/in.txt")),
        lambda: text + "/x" * random.choice((40, 2100)),
    )
    return random.choices(bends, (4, 6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 3, 4, 2, 4, 1))[0]()


def clear(folder: Path) -> None:
    """Take everything out of a directory that stays."""
    for path, directories, names in os.walk(folder, topdown=False):
        for name in names:
            (Path(path) / name).unlink()
        for name in directories:
            inner = Path(path) / name
            inner.unlink() if inner.is_symlink() else inner.rmdir()


def open_up(folder: Path) -> None:
    """Let every uid read what stands there, whatever the umask was."""
    for path, _, names in os.walk(folder):
        Path(path).chmod(0o755)
        for name in names:
            leaf = Path(path) / name
            if not leaf.is_symlink():
                leaf.chmod(0o644)


def plant(outside: Path) -> None:
    """The secrets beside the agent's directory."""
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"OUTSIDE-SECRET")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(outside / "s"))
