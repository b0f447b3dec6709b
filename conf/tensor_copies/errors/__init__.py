"""Messages and silent mistakes: raise each, try its cures, find a pasted one."""

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what the pages are made with, and connect what arranges them."""
    from tensor_copies.errors import cards, messages, pairs
    from tensor_copies.gallery import PARALLEL

    app.add_directive("error-box", cards.Box)
    app.add_directive("sign-legend", cards.Legend)
    app.add_directive("cures", cards.Cures)
    app.add_directive("wordings", cards.Wordings)
    # Before Sphinx collects the contents of a page (500).
    app.connect("doctree-read", cards.arrange, priority=400)
    app.connect("doctree-read", pairs.arrange, priority=400)
    app.connect("env-updated", messages.write_messages)
    return PARALLEL
