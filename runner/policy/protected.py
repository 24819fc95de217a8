"""Names whose content gives power later: hooks, tool settings, agent instructions (cases 14, 46, 47).

Writes to them are refused unless the profile's `unprotect` names them. Compared as another system might: without case, in one
Unicode form, without invisible characters, without closing dots and blanks.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_TABLE = """
.git .gitmodules .gitconfig .gitattributes .githooks .hg .svn .jj .bzr
.claude .claude.json .mcp.json claude.md claude.local.md agents.md gemini.md .codex .gemini .cursor .cursorrules .windsurf
.windsurfrules .clinerules .continue .roo .opencode opencode.json .aider.conf.yml .agents
.vscode .idea .zed .fleet .nova .vim .nvim .exrc .vimrc .nvimrc .dir-locals.el .devcontainer .devcontainer.json
.github .gitlab-ci.yml .circleci .husky .pre-commit-config.yaml lefthook.yml
.envrc .direnv .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .inputrc .npmrc .yarnrc
.yarnrc.yml .pypirc .netrc .ssh .gnupg .aws .kube .docker sitecustomize.py usercustomize.py
"""
PROTECTED = frozenset(_TABLE.split())


def folded(name: str) -> str:
    """The name as the most forgiving file system would compare it."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return visible.rstrip(". ")


def protected_name(parts: Iterable[str], *, unprotect: Iterable[str] = ()) -> str | None:
    """The protected name among `parts`, as the table spells it, or None."""
    named = {folded(name) for name in unprotect}
    found = (folded(part) for part in parts)
    return next((name for name in found if name in PROTECTED and name not in named), None)
