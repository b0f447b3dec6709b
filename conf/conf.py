"""Options of the site. What is more than an option stands in tensor_copies/."""

import os
import sys
from pathlib import Path

CONF = Path(__file__).resolve().parent
PACKAGES = [str(CONF), str(CONF / "tensor_maps" / "src")]
sys.path[:0] = PACKAGES
# The kernels of pages find them too.
paths = [*PACKAGES, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))

from sphinx.errors import ConfigError  # noqa: E402
from tensor_copies.recordings.format import pages_digest  # noqa: E402
from tensor_copies.run.code_keys import (  # noqa: E402
    pages_are_dressed_in,
    pages_are_made_from,
)
from tensor_copies.run.fingerprint import (  # noqa: E402
    UnfitMachine,
    check,
    lesson_seconds,
)
from tensor_copies.run.freshness import pages_key  # noqa: E402
from tensor_copies.web.address import site_address  # noqa: E402

try:
    kept_pages = pages_key()
    check(("torch", "numpy"))  # refuses a day that is none too
except UnfitMachine as unfit:
    raise ConfigError(str(unfit)) from None
address = site_address()
pages_are_made_from = pages_are_made_from()
pages_are_dressed_in = pages_are_dressed_in()

# -- Project ------------------------------------------------------------------

project = "Tensor Copies"
author = "the Tensor Copies authors"
copyright = "the Tensor Copies authors. Text CC BY 4.0, code BSD-3-Clause"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "myst_nb",
    # ours: a room for each thing; its __init__ has all that it connects, in order
    "tensor_copies.run",
    "tensor_copies.recordings",
    "tensor_copies.explorer",
    "tensor_copies.atlas",
    "tensor_copies.errors",
    "tensor_copies.lessons",
    "tensor_copies.web",
]
# MyST-NB would take the gallery's notebooks for pages and run them a second time.
exclude_patterns = ["auto_examples/**.ipynb", "maintainers", ".*", "**/.*"]
templates_path = ["templates"]
template_bridge = "tensor_copies.web.mending.MendingTemplates"
nitpicky = True
# It looks at the whole path, and so refuses a folder of the reader's with a space; a
# lesson's own name is checked with its place in the reading order.
suppress_warnings = ["sphinx_gallery.space_in_filename"]

# -- Lessons: scripts in examples/, run by sphinx-gallery -----------------------

lesson_time_limit = lesson_seconds()
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py|(^|[\\/])\.[^\\/]*$",  # not what editors leave
    "within_subsection_order": "tensor_copies.run.lesson_list.ReadingOrder",
    "reset_modules": (
        "tensor_copies.figures.steps.end_watching",
        "tensor_copies.run.isolation.prepare",
        "tensor_copies.lessons.code_links.link_methods",
        "tensor_copies.figures.steps.begin_watching",
    ),
    "reset_modules_order": "both",
    "parallel": 2,  # each lesson in a process of its own: run/apart.py
    "image_scrapers": (
        "tensor_copies.run.isolation.end_a_fork",
        "tensor_copies.figures.maps.scrape",
        "tensor_copies.figures.plots.scrape",
        "tensor_copies.figures.tables.scrape",
        "tensor_copies.figures.samples.scrape",
    ),
    # Only what a script prints is shown: a reader's own run prints the same.
    "capture_repr": (),
    "remove_config_comments": True,
    "download_all_examples": False,
    # Timings vary from run to run: the build prints them, the pages do not.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "css": (),
}

# -- Pages that compute: docs/*.md, run by MyST-NB ------------------------------

nb_execution_mode = "cache"
# Another machine, or another recording that a page shows, runs the pages again.
nb_execution_cache_path = str(
    CONF.parent / "build" / "pages" / f"{kept_pages}-{pages_digest(CONF.parent)}"
)
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "error"  # a Python warning on a page fails the build
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_code_prompt_show = "Show the code that ran"
nb_code_prompt_hide = "Hide the code that ran"
myst_enable_extensions = ["colon_fence", "deflist"]

# -- The manual of tensor_maps: from its docstrings ------------------------------

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

# -- Links to other projects' pages: from small files, without the network ------

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "../conf/inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "../conf/inventories/numpy.inv"),
    "torch": ("https://docs.pytorch.org/docs/stable", "../conf/inventories/torch.inv"),
}

# -- Pages that have moved: the old name, and the new one ------------------------

redirects = {"builders": "machines"}

# -- HTML -----------------------------------------------------------------------

html_theme = "furo"
html_title = "Tensor Copies"
html_baseurl = address.url
site_repository = address.repository
site_is_indexed = address.is_indexed
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_css_files = ["lessons.css", "site.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("code.js", "predict.js")]
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False  # one module has a directive: no page for it
html_theme_options = {
    "announcement": address.announcement,
    # Text of Furo with a contrast of 7:1 or more on each of its backgrounds.
    "light_css_variables": {
        "color-foreground-secondary": "#4a4c53",
        "color-foreground-muted": "#4f5158",
        "color-brand-content": "#1b44b8",
        "color-brand-visited": "#6a1fb8",
        "color-sidebar-link-text--top-level": "var(--color-brand-content)",
        "color-toc-item-text--active": "var(--color-brand-content)",
        # MyST-NB takes its colours from the system, Furo from the reader's switch.
        "mystnb-source-bg-color": "var(--color-code-background)",
        "mystnb-stdout-bg-color": "var(--output-block)",
        "mystnb-stderr-bg-color": "var(--output-block)",
        "mystnb-traceback-bg-color": "var(--output-block)",
    },
    "dark_css_variables": {
        "color-foreground-secondary": "#b9bdc2",
        "color-foreground-muted": "#adb1b6",
        "color-brand-content": "#72b2ff",
        "color-brand-visited": "#c9a3f2",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
