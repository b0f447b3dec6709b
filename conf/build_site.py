"""Build the site aside; publish it when the build has passed.

``python conf/build_site.py [options of sphinx-build]`` is what ``nox -s docs`` runs.
"""

import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "build"
AT_ONCE = ("-j", "2") if sys.platform == "linux" else ()
SPHINX = (sys.executable, "-m", "sphinx", "-W", *AT_ONCE, "-c", "conf")


def main(*options: str) -> int:
    """Build into build/staging, then put a copy in the place of build/html."""
    where = ("-d", "build/doctrees", "docs", "build/staging")
    try:
        status = subprocess.call([*SPHINX, *options, *where], cwd=BUILD.parent)
    except KeyboardInterrupt:
        status = 1
    if status:
        if status == 1:  # Sphinx would neither warn again nor write what it kept
            shutil.rmtree(BUILD / "doctrees", ignore_errors=True)
            shutil.rmtree(BUILD / "staging", ignore_errors=True)
        print("The build failed: build/html is still the last good site.")
        return status
    site, new, old = BUILD / "html", BUILD / "html.new", BUILD / "html.old"
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(BUILD / "staging", new)
    if site.exists():
        site.rename(old)
    new.rename(site)
    shutil.rmtree(old, ignore_errors=True)
    print(f"The site stands. Open {(site / 'index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
