"""Extension of Sphinx: diagrams, and code in the text that is a name of the API is a link to its documentation."""

import html
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.domains.c import CDomain
from sphinx.domains.cpp import CPPDomain
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode


class Mermaid(Directive):
    """A diagram, which static/diagrams.js draws. Without scripts the reader sees its text."""

    has_content = True

    def run(self):
        text = html.escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">{text}</pre>', format="html")]


class Names(SphinxPostTransform):
    default_priority = 500

    def places(self):
        """Returns the page and the anchor of each name, once per build."""
        if not hasattr(self.app, "lazyxla_places"):
            found = {}
            for domain, prefix in (("cpp", "lazyxla::"), ("c", ""), ("py", "lazyxla.")):
                for name, _, _, page, anchor, _ in self.env.get_domain(domain).get_objects():
                    if not page.startswith("reference/"):
                        continue
                    if domain == "c" and not name.lower().startswith("lxla_"):
                        continue
                    found.setdefault(name, (page, anchor))
                    if domain == "py" and name.startswith(prefix):
                        found.setdefault(name.replace(prefix, "lx.", 1), (page, anchor))
            self.app.lazyxla_places = found
        return self.app.lazyxla_places

    def run(self):
        places, page = self.places(), self.env.docname
        for literal in list(self.document.findall(nodes.literal)):
            inside = isinstance(literal.parent, (nodes.reference, nodes.title)) or "xref" in literal.get("classes", [])
            name = re.sub(r"\(.*\)$", "", literal.astext())
            if inside or name not in places:
                continue
            to, anchor = places[name]
            link = make_refnode(self.app.builder, page, to, anchor, literal.deepcopy(), name)
            literal.replace_self(link)


def without_parameters(domain):
    """Returns a domain of Sphinx that gives no entries to the search for parameters of functions and templates."""

    class Domain(domain):
        def get_objects(self):
            return (each for each in super().get_objects() if each[2] not in ("functionParam", "templateParam"))

    return Domain


def setup(app):
    for domain in (CDomain, CPPDomain):
        app.add_domain(without_parameters(domain), override=True)
    app.add_directive("mermaid", Mermaid)
    app.add_post_transform(Names)
