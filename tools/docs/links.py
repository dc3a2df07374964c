"""Checks the links of a folder of HTML pages: each link to a page leads to a file, each anchor to an element, and no
page loads anything from elsewhere. Returns the errors."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Page(HTMLParser):
    """The anchors of a page, and its links, with whether the browser loads them by itself."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag == "a" and name == "href") or (tag, name) in LOADS:
                self.links.append((value or "", (tag, name) in LOADS))


def problems(folder):
    """Yields the errors of all pages below a folder."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder}: no pages"
    for path, page in pages.items():
        for link, loaded in page.links:
            parts = urlsplit(link)
            name = path.relative_to(folder)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    yield f"{name}: loads {link} from the network"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(folder) or not target.is_file():
                yield f"{name}: {link}: there is no such page"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {link}: there is no such anchor"
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for url in re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^)"'\s]+)""", text):
            yield f"{path.relative_to(folder)}: loads {url} from the network"
