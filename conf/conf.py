"""Options of the site. What is more than an option stands in tensor_copies/."""

import gc
import logging
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.errors import ConfigError

CONF = Path(__file__).resolve().parent
PACKAGES = [str(CONF), str(CONF / "tensor_maps" / "src")]
sys.path[:0] = PACKAGES
# Fresh processes and the kernels of pages find them too.
paths = [*PACKAGES, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
os.environ["IPYTHONDIR"] = str(CONF / "ipython")
os.environ["KINETO_LOG_LEVEL"] = "6"  # torch's profiler says when it starts
gc.set_threshold(50_000)  # looking through Sphinx's objects took a fifth of its time

if not __debug__:
    raise ConfigError("Python runs with -O: its assertions would prove nothing.")

from tensor_copies.gallery.kept import hash_of, made_by  # noqa: E402

# When code changes, all pages are read again; when a style does, they are written.
code_of_the_site = hash_of(
    *("tensor_copies/**/*.*", "tensor_maps/src/**/*.*", "../docs/recordings/*.json"),
    extra=made_by(),
)
style_of_the_site = hash_of("static/**/*")

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
    "tensor_copies.gallery",
    "tensor_copies.simulated",
    "tensor_copies.calls",
    "tensor_copies.errors",
    "tensor_copies.lessons",
    "tensor_copies.search",
    "tensor_copies.web",
]
# MyST-NB would take the gallery's notebooks for pages and run them a second time.
exclude_patterns = ["auto_examples/**.ipynb", "maintainers", ".*", "**/.*"]
templates_path = ["templates"]
nitpicky = True
# It looks at the whole path, and so refuses a folder of the reader's with a space.
suppress_warnings = ["sphinx_gallery.space_in_filename"]

# -- Lessons: scripts in examples/, run by sphinx-gallery -----------------------

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py|(^|[\\/])\.[^\\/]*$",  # not what editors leave
    "copyfile_regex": r"index\.rst",  # each section has its own
    "reset_modules": (
        "tensor_copies.gallery.isolation.prepare",
        "tensor_copies.lessons.code_links.link_methods",
        "tensor_copies.figures.steps.watch",
    ),
    "reset_modules_order": "both",
    "image_scrapers": (
        "tensor_copies.lessons.page.scrape",
        "tensor_copies.figures.scrape",
    ),
    # Only what a script prints is shown: a reader's own run prints the same.
    "capture_repr": (),
    "remove_config_comments": True,
    "download_all_examples": False,
    "first_notebook_cell": "# Installs what the lessons need where it is missing.\n"
    '%pip install --quiet "torch>=2.6" numpy matplotlib perfplot',
    # Timings vary from run to run: the build prints them, the pages do not.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "css": (),
}

# -- Pages that compute: docs/*.md, run by MyST-NB ------------------------------

logging.getLogger("traitlets").setLevel("WARNING")  # says which kernel it starts
nb_execution_mode = "cache"
nb_execution_cache_path = str(CONF.parent / "build" / "jupyter-cache")
nb_execution_timeout = 600
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

# -- Where the site is hosted, if it is: see docs/maintainers/hosting.md -----------

env = os.environ.get
html_baseurl = env("SITE_URL") or env("READTHEDOCS_CANONICAL_URL", "")
html_baseurl = html_baseurl and html_baseurl.rstrip("/") + "/"
site_repository = env("SITE_REPOSITORY") or env("READTHEDOCS_GIT_CLONE_URL", "")
site_repository = site_repository.replace("git@github.com:", "https://github.com/")
site_repository = site_repository.removesuffix(".git")
# "latest" is what Read the Docs calls the development version.
is_dev = (env("SITE_VERSION") or env("READTHEDOCS_VERSION")) in ("dev", "latest")
stable = is_dev and env("SITE_STABLE_URL")
announcement = "Development version."  # on a phone, one short line is seen
if stable:
    announcement += f' <a href="{stable}">Read the stable one</a>.'
if html_baseurl and not stable:
    extensions.append("sphinx_sitemap")  # without an address it warns
    sitemap_url_scheme = "{link}"
    sitemap_excludes = ["404.html", "genindex.html", "search.html"]
if html_baseurl:
    extensions.append("notfound.extension")  # its links begin at the root of the host
    notfound_urls_prefix = urlsplit(html_baseurl).path
    notfound_template = "404.html"
    notfound_context = {
        "title": "No page has this address",
        "description": "No page has this address. Search the site, or start at home.",
        "pageurl": None,
        "root": notfound_urls_prefix,
    }

# -- HTML -----------------------------------------------------------------------

html_theme = "furo"
html_title = "Tensor Copies"
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_context = {
    "baseurl": html_baseurl,
    "repository": site_repository,
    "is_hidden": bool(stable),  # search engines are sent to the stable version
    "site_icon": (CONF / html_favicon).read_text(encoding="utf-8"),
}
# The priority is written out: Sphinx would add it, and take the option for changed.
html_css_files = [(name, {"priority": 800}) for name in ("site.css", "lessons.css")]
html_js_files = [
    (name, {"defer": "defer", "priority": 800}) for name in ("code.js", "predict.js")
]
html_additional_pages = {"search": "search.html"}
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False  # one module has a directive: no page for it
html_theme_options = {
    "announcement": announcement if is_dev else "",
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
