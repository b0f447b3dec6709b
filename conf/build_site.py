"""Build the site aside; publish it when the build has passed.

``python conf/build_site.py [options of sphinx-build]`` is what ``nox -s docs`` runs.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
SPHINX = (sys.executable, "-m", "sphinx", "-W", "-j", "2", "-c", "conf")


def main(*options: str) -> int:
    """Build into build/staging, then put a copy in the place of build/html."""
    where = ("-d", "build/doctrees", "docs", "build/staging")
    if status := subprocess.run([*SPHINX, *options, *where], cwd=ROOT).returncode:
        if status == 1:  # of warnings: Sphinx would not warn again of what it keeps
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
