"""Refusals and results of tools/release.py and of the scripts of a release: python release_test.py SOURCE_TREE

On copies of the files that have a version."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(sys.argv[1]).resolve()
FILES = ("Cargo.toml", "Cargo.lock", "CHANGELOG.md", "include/lazyxla.h", "include/lazyxla.json", "docs/abi.md",
         "conda/recipe.yaml", "tools/release.py", "tools/release.sh", "tools/packages.sh")  # fmt: skip


def copied(folder):
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, folder / name)


def said(folder, *arguments):
    command = [sys.executable, "tools/release.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{path}: no {old!r}"
    path.write_text(text.replace(old, new))


def refused(folder, version, want):
    code, text = said(folder, "check", version)
    assert code == 1 and want in text, f"{text!r}, want {want!r}"


def not_prepared(folder, version, date, want):
    """Nothing is written by a preparation that is refused."""
    before = {name: (folder / name).read_bytes() for name in FILES}
    code, text = said(folder, "prepare", version, date)
    assert code == 1 and want in text, f"{text!r}, want {want!r}"
    assert before == {name: (folder / name).read_bytes() for name in FILES}


def scripts_refuse(folder):
    def runs(script, variables, *arguments):
        done = subprocess.run(
            ["bash", script, *arguments], env={**os.environ, **variables}, capture_output=True, text=True
        )
        return done.returncode, done.stderr.strip()

    code, text = runs(folder / "tools/release.sh", {"LXLA_RELEASE_SKIP": "docs test"}, "0.1.0")
    assert (code, text) == (1, "release: LXLA_RELEASE_SKIP has 'test'; want words of: tests abi root docs"), text
    spaced = folder / "a folder"
    (spaced / "tools").mkdir(parents=True)
    for name in ("release", "packages"):
        shutil.copy(TREE / f"tools/{name}.sh", spaced / "tools")
        code, text = runs(spaced / f"tools/{name}.sh", {}, "cmake", "ninja", "out")
        assert code == 1 and f"{name}: the folder '{spaced}' has a space in its name" in text, text


def a_failed_release_leaves_no_files(folder, version):
    """With a `make` that fails, in a repository of the copies."""
    copied(folder)
    text = (folder / "docs/abi.md").read_text()
    (folder / "docs/abi.md").write_text(text.replace("is not released yet", "is released"))
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version}, 2031-05-06\n\n- One.\n")
    stubs = folder / "stubs"
    stubs.mkdir()
    for name, status in (("make", 3), ("dpkg-shlibdeps", 0)):
        (stubs / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (stubs / name).chmod(0o755)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", *FILES], ["commit", "--quiet", "-m", "A release"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    variables = {"PATH": f"{stubs}:{os.environ['PATH']}", "LXLA_RELEASE_SKIP": "tests abi root docs"}
    command = ["bash", folder / "tools/release.sh", version]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 3 and "release: failed with status 3; no files were kept." in done.stderr, done
    assert [path.name for path in (folder / "build/release").iterdir()] == ["clone"]


def main(folder):
    copied(folder)
    manifest = (folder / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"$', manifest, re.M)[1]
    assert manifest.count(f'"{version}"') == 1, "Cargo.toml has the version once"
    changelog = folder / "CHANGELOG.md"
    for wrong in ("1", "1.2", "v1.2.3", "1.2.3-rc1", "01.2.3", "", "1.2.3.4"):
        refused(folder, wrong, f"{wrong!r} is not a version; want three numbers")
    major, minor, _ = version.split(".")
    later = f"{major}.{int(minor) + 7}.3"
    refused(folder, later, f"Cargo.toml has version {version}, not {later}: run tools/release.sh --prepare {later}")

    changelog.write_text(f"# Changelog\n\n## {version}, not yet released\n\n- One.\n\n## 0.0.9, 2020-01-02\n\n- Old.\n")
    refused(folder, version, "has 'not yet released' for a date, want YYYY-MM-DD")
    for date in ("2031-13-01", "2031-02-30", "6.5.2031", "20310506", "", "today"):
        not_prepared(folder, later, date, f"{date!r} is not a date; want YYYY-MM-DD")
    not_prepared(folder, "0.0.9", "2031-05-06", f"version 0.0.9 is lower than that of Cargo.toml, {version}")
    edit(folder / "docs/abi.md", "# The ABI", f"Version {version} is not released yet. Until then.\n\n# The ABI")
    assert said(folder, "prepare", later, "2031-05-06") == (0, "")
    assert (folder / "docs/abi.md").read_text().startswith("Until then.\n\n# The ABI")
    assert "not released yet" not in (folder / "docs/abi.md").read_text()
    assert said(folder, "prepare", later, "2031-05-06") == (0, ""), "it may be repeated"
    assert changelog.read_text().splitlines()[2] == f"## {later}, 2031-05-06"
    assert f'version = "{later}"' in (folder / "Cargo.toml").read_text()
    assert f"\n  version: {later}\n" in (folder / "conda/recipe.yaml").read_text()
    assert (folder / "Cargo.toml").read_text().replace(later, version) == manifest, "nothing else changes"
    refused(folder, later, f"include/lazyxla.h has version {version}, not {later}")
    assert said(folder, "notes", later) == (0, "- One.")
    assert said(folder, "notes", "0.0.9") == (0, "- Old.")
    assert said(folder, "notes", "5.5.5")[0] == 1
    not_prepared(folder, "99.0.0", "2031-05-07", f"CHANGELOG.md starts with version {later}, want a section `## 99.0.0")
    released = changelog.read_text()
    changelog.write_text(released.replace("# Changelog\n", f"# Changelog\n\n## {later}, not yet released\n\n- New.\n"))
    not_prepared(folder, later, "2031-05-07", f"CHANGELOG.md has two sections {later}")
    changelog.write_text(released.replace("# Changelog\n", "# Changelog\n\n## 99.0.0, not yet released\n\n- New.\n"))
    not_prepared(folder, later, "2031-05-07", f"version {later} is released; version {later} is not after it")
    assert said(folder, "prepare", "99.1.0", "2031-05-07") == (0, "")

    copied(folder)
    edit(folder / "docs/abi.md", "is not released yet", "is released") if "is not released yet" in (
        folder / "docs/abi.md"
    ).read_text() else None
    changelog.write_text(f"# Changelog\n\n## {version}, 2031-05-06\n\n- One.\n")
    assert said(folder, "check", version) == (0, "")
    (folder / "docs/abi.md").write_text(f"Version {version} is not released yet.")
    refused(folder, version, f"docs/abi.md says that version {version} is not released yet")
    (folder / "docs/abi.md").write_text("")
    changelog.write_text(f"# Changelog\n\n## {version}, 2031-05-06\n\nNothing.\n")
    refused(folder, version, "lists nothing")
    changelog.write_text(f"# Changelog\n\n## 9.0.0, not yet released\n\n- Two.\n\n## {version}, 2031-05-06\n\n- One.\n")
    refused(folder, version, "the section 9.0.0 is not released")
    changelog.write_text(f"# Changelog\n\n## {version}, 2031-05-06\n\n- One.\n\n## {version}, 2031-05-05\n\n- Two.\n")
    refused(folder, version, f"CHANGELOG.md has two sections {version}")
    for heading in (
        "Unreleased",
        f"{version} (2031-05-06)",
        f"[{version}], 2031-05-06",
        f"{version}, 2031-02-30",
        version,
    ):
        changelog.write_text(f"# Changelog\n\n## {heading}\n\n- One.\n")
        refused(folder, version, f"CHANGELOG.md: the heading '## {heading}' is neither `## VERSION, YYYY-MM-DD` nor")
    changelog.write_text("# Changelog\n")
    refused(folder, version, f"has no section `## {version}, DATE`")
    edit(
        folder / "Cargo.lock",
        f'name = "lazyxla-linalg"\nversion = "{version}"',
        'name = "lazyxla-linalg"\nversion = "0.0.1"',
    )
    refused(folder, version, f"Cargo.lock: lazyxla-linalg has version 0.0.1, not {version}")
    scripts_refuse(folder)
    a_failed_release_leaves_no_files(folder / "repository", version)
    print("releases")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder).resolve())
