"""Builds the documentation site: python build.py MERMAID WORK SITE

MERMAID is the folder that tools/docs/mermaid.sh writes. Writes pages to WORK/source from the Markdown of the repository,
include/lazyxla.json, the C++ headers and the Python package; lets Sphinx make SITE of them; and checks the links of
SITE. A warning of Sphinx is an error."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import c_reference
import cpp_reference
import links
import pages
import python_reference
from common import remove_others


# Packages with scripts, styles or templates in the site.
IN_SITE = ("sphinx", "furo", "sphinx-basic-ng", "sphinx-copybutton", "pygments", "snowballstemmer")


def write_licences(folder):
    """Copies the licences of the packages in the site, a folder for each package."""
    for name in IN_SITE:
        files = [each for each in importlib.metadata.files(name) if re.match(r"(LICEN[CS]E|COPYING)", each.name, re.I)]
        if not files:
            sys.exit(f"docs: {name} has no text of its licence")
        for file in files:
            (folder / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), folder / name / file.name)
    (folder / "clipboard.js.txt").write_text(
        "clipboard.js (https://clipboardjs.com), in the script of sphinx-copybutton: MIT, Copyright (c) Zeno Rocha. The\n"
        "text of the licence is that in sphinx-copybutton/LICENSE.\n"
    )


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    mermaid, work, site = (Path(each).resolve() for each in sys.argv[1:])
    source = work / "source"
    documents = pages.arrange(source)
    for part in (c_reference, cpp_reference, python_reference):
        part.reference(source, documents)
    remove_others(source)
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html"]
    command += ["-c", str(Path(__file__).parent), "-d", str(work / "doctrees"), str(source), str(site)]
    if subprocess.run(command).returncode:
        sys.exit("docs: Sphinx fails")
    shutil.copytree(mermaid, site / "_static/mermaid")
    write_licences(site / "_static/licenses")
    found = sorted(set(links.problems(site)))
    if found:
        sys.exit("docs: " + "\ndocs: ".join(found))
    print(f"{site}: {len(list(site.rglob('*.html')))} pages, every link has a target")


if __name__ == "__main__":
    main()
