"""The parts of a release that are texts; tools/release.sh runs them.

    release.py check VERSION            everything in the tree has this version, and the changelog a dated section
    release.py prepare VERSION DATE     gives the tree the version, and the changelog's next section the date
    release.py notes VERSION            prints the section of the changelog

Cargo.toml has the version. `make header` takes the header's from there, and CMake, the packages and the wheel theirs.
"""

import json
import re
import sys
from datetime import date as Date
from pathlib import Path

VERSION = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}")
UNRELEASED = "not yet released"


class Refused(Exception):
    """The tree is not ready: what is wrong, and what to do."""


def found(pattern, path):
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.M)
    if not match:
        raise Refused(f"{path} has no version")
    return match[1]


def versions(tree):
    """Returns the version of each file that has one."""
    header = tree / "include/lazyxla.h"
    parts = [found(rf"^#define LXLA_VERSION_{part} (\d+)$", header) for part in ("MAJOR", "MINOR", "PATCH")]
    made = {
        "Cargo.toml": found(r'^version = "(.*)"$', tree / "Cargo.toml"),
        "conda/recipe.yaml": found(r"^  version: (.*)$", tree / "conda/recipe.yaml"),
        "include/lazyxla.h": ".".join(parts),
        "include/lazyxla.json": json.loads((tree / "include/lazyxla.json").read_text(encoding="utf-8"))["version"],
    }
    for name, version in re.findall(
        r'^name = "(lazyxla[\w-]*)"\nversion = "(.*)"$', (tree / "Cargo.lock").read_text(encoding="utf-8"), re.M
    ):
        made[f"Cargo.lock: {name}"] = version
    return made


def sections(tree):
    """Returns the sections of the changelog: the version, what follows it in the heading, and the text."""
    parts = re.split(r"^## *(.*)$", (tree / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    found = []
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        name, _, rest = heading.partition(", ")
        if not VERSION.fullmatch(name) or not (rest == UNRELEASED or is_date(rest)):
            raise Refused(
                f"CHANGELOG.md: the heading '## {heading}' is neither `## VERSION, YYYY-MM-DD` nor"
                f" `## VERSION, {UNRELEASED}`"
            )
        if name in {other for other, _, _ in found}:
            raise Refused(f"CHANGELOG.md has two sections {name}")
        found.append((name, rest, body.strip()))
    return found


def is_date(text):
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and bool(Date.fromisoformat(text))
    except ValueError:
        return False


def numbers(version):
    return tuple(map(int, version.split(".")))


def section(tree, version):
    for name, rest, text in sections(tree):
        if name == version:
            return rest, text
    raise Refused(f"CHANGELOG.md has no section `## {version}, DATE`: write what changes for users")


def check(tree, version):
    for name, has in versions(tree).items():
        if has != version:
            raise Refused(
                f"{name} has version {has}, not {version}: run tools/release.sh --prepare {version}, and commit"
            )
    date, text = section(tree, version)
    if not is_date(date):
        raise Refused(f"CHANGELOG.md: the section {version} has {date!r} for a date, want YYYY-MM-DD")
    if not re.search(r"^- ", text, re.M):
        raise Refused(f"CHANGELOG.md: the section {version} lists nothing")
    if f"Version {version} is not released yet" in (tree / "docs/abi.md").read_text(encoding="utf-8"):
        raise Refused(f"docs/abi.md says that version {version} is not released yet")
    others = [name for name, rest, _ in sections(tree) if rest == UNRELEASED]
    if others:
        raise Refused(f"CHANGELOG.md: the section {others[0]} is not released, but {version} is to be")


def prepare(tree, version, date):
    """Writes the version to Cargo.toml and the conda recipe, the date to the changelog, and removes from docs/abi.md
    that the version is not released. The caller makes the other files from these. May be repeated with one version."""
    if not is_date(date):
        raise Refused(f"{date!r} is not a date; want YYYY-MM-DD")
    has = found(r'^version = "(.*)"$', tree / "Cargo.toml")
    if numbers(version) < numbers(has):
        raise Refused(f"version {version} is lower than that of Cargo.toml, {has}")
    every = sections(tree)
    name, rest, _ = every[0] if every else ("", "", "")
    text = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    if rest == UNRELEASED:
        released = [other for other, rest, _ in every if rest != UNRELEASED]
        later = [other for other in released if numbers(other) >= numbers(version)]
        if later:
            raise Refused(f"CHANGELOG.md: version {later[0]} is released; version {version} is not after it")
        text = re.sub(rf"^## *{re.escape(name)}, {UNRELEASED}$", f"## {version}, {date}", text, count=1, flags=re.M)
    elif name != version:
        raise Refused(f"CHANGELOG.md starts with version {name}, want a section `## {version}, {UNRELEASED}`")
    manifest = (tree / "Cargo.toml").read_text(encoding="utf-8")
    manifest = re.sub(r'^version = ".*"$', f'version = "{version}"', manifest, count=1, flags=re.M)
    recipe = (tree / "conda/recipe.yaml").read_text(encoding="utf-8")
    recipe = re.sub(r"^  version: .*$", f"  version: {version}", recipe, count=1, flags=re.M)
    abi = (tree / "docs/abi.md").read_text(encoding="utf-8")
    abi = re.sub(r"Version [0-9.]+ is not released yet\.[ \n]?", "", abi)
    for file, content in (
        ("conda/recipe.yaml", recipe),
        ("docs/abi.md", abi),
        ("CHANGELOG.md", text),
        ("Cargo.toml", manifest),
    ):
        (tree / file).write_text(content, encoding="utf-8")


def main(arguments, tree):
    commands = {("check", 2): check, ("prepare", 3): prepare, ("notes", 2): None}
    key = (arguments[0] if arguments else "", len(arguments))
    if key not in commands:
        sys.exit(__doc__)
    try:
        if not VERSION.fullmatch(arguments[1]):
            raise Refused(f"{arguments[1]!r} is not a version; want three numbers, such as 0.1.0")
        if key[0] == "notes":
            print(section(tree, arguments[1])[1])
        else:
            commands[key](tree, *arguments[1:])
    except Refused as refused:
        sys.exit(f"release: {refused}")


if __name__ == "__main__":
    main(sys.argv[1:], Path(__file__).resolve().parents[1])
