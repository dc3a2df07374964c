"""What tools/release.py refuses, and what it writes: python release_test.py SOURCE_TREE

On copies of the files that have a version."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(sys.argv[1]).resolve()
FILES = ("Cargo.toml", "Cargo.lock", "CHANGELOG.md", "include/lazyxla.h", "include/lazyxla.json", "docs/abi.md", "conda/recipe.yaml",
         "tools/release.py")  # fmt: skip


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


def main(folder):
    copied(folder)
    manifest = (folder / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"$', manifest, re.M)[1]
    assert manifest.count(f'"{version}"') == 1, "Cargo.toml has the version once"
    changelog = folder / "CHANGELOG.md"
    for wrong in ("1", "1.2", "v1.2.3", "1.2.3-rc1", "01.2.3", "", "1.2.3.4"):
        refused(folder, wrong, f"{wrong!r} is no version; want three numbers")
    major, minor, _ = version.split(".")
    later = f"{major}.{int(minor) + 7}.3"
    refused(folder, later, f"Cargo.toml has version {version}, not {later}: run tools/release.sh --prepare {later}")

    changelog.write_text(f"# Changelog\n\n## {version}, not yet released\n\n- One.\n\n## 0.0.9, 2020-01-02\n\n- Old.\n")
    refused(folder, version, "has 'not yet released' for a date, want YYYY-MM-DD")
    assert said(folder, "prepare", later, "2031-05-06") == (0, "")
    assert changelog.read_text().splitlines()[2] == f"## {later}, 2031-05-06"
    assert f'version = "{later}"' in (folder / "Cargo.toml").read_text()
    assert f"\n  version: {later}\n" in (folder / "conda/recipe.yaml").read_text()
    assert (folder / "Cargo.toml").read_text().replace(later, version) == manifest, "nothing else changes"
    refused(folder, later, f"include/lazyxla.h has version {version}, not {later}")
    assert said(folder, "notes", later) == (0, "- One.")
    assert said(folder, "notes", "0.0.9") == (0, "- Old.")
    assert said(folder, "notes", "5.5.5")[0] == 1

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
    changelog.write_text("# Changelog\n")
    refused(folder, version, f"has no section `## {version}, DATE`")
    edit(
        folder / "Cargo.lock",
        f'name = "lazyxla-linalg"\nversion = "{version}"',
        'name = "lazyxla-linalg"\nversion = "0.0.1"',
    )
    refused(folder, version, f"Cargo.lock: lazyxla-linalg has version 0.0.1, not {version}")
    print("releases")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
