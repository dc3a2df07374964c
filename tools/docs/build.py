"""Builds the documentation site: python build.py MERMAID WORK SITE

MERMAID is the folder that tools/docs/mermaid.sh writes. Writes pages to WORK/source from the Markdown of the repository, include/lazyxla.json, the C++ headers and the Python
package; lets Sphinx make SITE of them; and checks the links of SITE. A warning of Sphinx is an error."""

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
    found = sorted(set(links.problems(site)))
    if found:
        sys.exit("docs: " + "\ndocs: ".join(found))
    print(f"{site}: {len(list(site.rglob('*.html')))} pages, all links lead somewhere")


if __name__ == "__main__":
    main()
