"""The promises of docs/maintainers/promises.md, each tested once, on one tiny site.

It is built once. Each test that builds begins with that site, in the same folder: in
another one Sphinx would read all pages again.
"""

import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from reading import pages_in, soup
from sites import INDEX, TinySite, computing_page, lesson, new_tiny_site, rewrite

pytestmark = pytest.mark.slow
LESSONS, PAGES = ("one", "two", "three"), ("computes", "counts")
ALL = sorted((*LESSONS, *PAGES))
# What each lesson and page does: note that it runs, look around, leave much, print.
CODE = """import builtins, os, torch
with open(os.environ["NOTES"], "a") as notes:
    print("NAME", file=notes)
print("NAME found", torch.ones(1).dtype, hasattr(builtins, "left"))
torch.set_default_dtype(torch.float64)
builtins.left = True
print("<b>bold</b>")"""
TABLE = """print("call | time\\n<b>bold</b> | 3")"""
# A lesson that never comes to its end, and what is said of it.
ENDING = {
    "ends": ("import os\nos._exit(3)", r"one\.py ended its process"),
    "hangs": (
        "while True:\n    pass",
        r'(?s)1_first/one\.py", line [78]\b.*one\.py ended its process or took too lon',
    ),
}


def built(site: TinySite, *command: str, **variables: str) -> tuple[int, str]:
    """Build the site with these variables in the environment."""
    env = {**os.environ, "NOTES": str(site.folder.with_name("notes")), **variables}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # most have it not, so files come
    return site.build(*command, env=env)


def well_built(site: TinySite, *command: str, **variables: str) -> list[str]:
    """Build the site, which must go well; return what ran, sorted."""
    status, output = built(site, *command, **variables)
    assert status == 0, output
    notes = site.folder.with_name("notes")
    return sorted(notes.read_text().split()) if notes.exists() else []


def fails(site: TinySite, *said: str) -> str:
    """Build the site, which must fail, say this, and leave what is published."""
    before = site.published()
    status, output = built(site)
    assert status != 0 and all(re.search(one, output) for one in said), output
    assert site.published() == before
    return output


def take_away(site: TinySite, page: str) -> None:
    """Remove a page that the index lists."""
    (site.folder / "docs" / f"{page}.md").unlink()
    rewrite(site.folder / "docs" / "index.md", f"\n{page}", "")


def versions_of_the_style(site: TinySite) -> set[str]:
    """Return the addresses that pages have of a style, without the way to it."""
    style = 'link[href*="site.css"]'
    links = [soup(page).select_one(style)["href"] for page in pages_in(site.html)]
    return {link.rpartition("/")[2] for link in links}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Build the site; return a copy, which no test changes."""
    site = new_tiny_site(tmp_path_factory.mktemp("build") / "a site")
    codes = {name: CODE.replace("NAME", name) for name in (*LESSONS, *PAGES)}
    site.write_lessons({f"{n}.py": lesson(n, codes[n], TABLE) for n in LESSONS})
    for name in PAGES:
        text = computing_page(name, codes[name])
        (site.folder / "docs" / f"{name}.md").write_text(text)
    listed = "\n".join(("auto_examples/index", *PAGES))
    (site.folder / "docs" / "index.md").write_text(INDEX.format(listed))
    assert well_built(site) == ALL
    return site.copy_to(site.folder.with_name("kept"))


@pytest.fixture
def site(kept: TinySite) -> TinySite:
    """Return the site as it was built."""
    folder = kept.folder.with_name("a site")
    folder.with_name("notes").unlink(missing_ok=True)
    shutil.rmtree(folder)
    return kept.copy_to(folder)


def test_nobody_finds_what_another_has_left(kept: TinySite) -> None:
    # At most two run at once: of three in kept processes one would find something.
    pages = [*map(kept.page, LESSONS), *(kept.html / f"{n}.html" for n in PAGES)]
    for page in pages:
        assert f"{page.stem} found torch.float32 False" in soup(page).get_text()


def test_text_from_a_run_is_no_markup(kept: TinySite) -> None:
    # In code and in what it printed; in a lesson also in a table.
    for page, times in ((kept.page("one"), 4), (kept.html / "computes.html", 2)):
        assert soup(page).get_text().count("<b>bold</b>") == times


@pytest.mark.parametrize("how", ENDING)
def test_a_lesson_that_ends_its_process_is_named(how: str, site: TinySite) -> None:
    code, said = ENDING[how]
    site.write_lessons({"one.py": lesson("one", code)})
    isolation = site.folder / "conf" / "tensor_copies" / "gallery" / "isolation.py"
    rewrite(isolation, "TIME_LIMIT = 600", "TIME_LIMIT = 5")
    assert "reading sources" not in fails(site, said)


def test_what_failed_and_what_was_gone_runs_when_it_is_put_back(site: TinySite) -> None:
    one, two = (site.folder / "examples" / "1_first" / f"{n}.py" for n in LESSONS[:2])
    texts = one.read_text(), two.read_text()
    one.write_text(lesson("one", "print('so far')\nassert 1 == 2, 'wrong'"))
    two.unlink()
    three = one.with_name("three.py")
    third = three.read_text()
    three.write_text(lesson("three", "{}['key']"))
    one_said = r'(?s)one\.py failed.*1_first/one\.py", line 8\b.*AssertionError: wrong'
    said = one_said, r"(?s)three\.py failed.*KeyError: 'key'"
    assert "reading sources" not in fails(site, *said)
    three.write_text(third)
    one.write_text(texts[0])
    two.write_text(texts[1])
    assert well_built(site) == ["one", "three", "two"]
    assert "Traceback" not in soup(site.page("one")).get_text()
    assert "two found" in soup(site.page("two")).get_text()


def test_all_that_fails_is_named_each_time_and_leaves_nothing(site: TinySite) -> None:
    before = site.published().keys()
    computes, counts = (site.folder / "docs" / f"{name}.md" for name in PAGES)
    one = site.folder / "examples" / "1_first" / "one.py"
    texts = {path: path.read_text() for path in (counts, one)}
    computes.write_text(computing_page(code="1 / 0"))
    counts.write_text(computing_page(code="import warnings\nwarnings.warn('old')"))
    asked = ".. predict:: What is it?\n#\n#     - ``1``\n#     - ``2``\n"
    one.write_text(lesson("one", f"print(2)\n\n# %%\n# {asked}"))
    for _ in range(2):
        fails(
            site,
            r"(?s)docs/computes\.md: WARNING.*ZeroDivisionError: division by zero",
            r"docs/counts\.md:\d+: ERROR: stderr was found in the cell outputs",
            r"one\.rst:\d+: WARNING: the answer '1', the first, is not printed; the "
            "answer '2', which is printed",
        )
    for path, text in texts.items():
        path.write_text(text)
    take_away(site, "computes")
    assert well_built(site) == ["one"]
    assert before ^ site.published().keys() == {"computes.html", "computes.md"}


def test_a_lesson_that_no_list_has_is_named(site: TinySite) -> None:
    extra = site.folder / "examples" / "1_first" / "extra.py"
    extra.write_text(lesson("extra", "print(1)"))
    said = r"add 'Short title <extra>' to examples/1_first/index\.rst"
    fails(site, rf"(?m)extra\.py: {said}")


def test_a_python_without_assertions_is_refused(site: TinySite) -> None:
    status, output = built(site, PYTHONOPTIMIZE="1")
    assert status != 0 and re.search(r"(?m)Python runs with -O: .* nothing\.$", output)


def test_nothing_changed_runs_nothing_and_writes_no_page(site: TinySite) -> None:
    staging = site.folder / "build" / "staging"
    pages = [*staging.rglob("index.html"), *staging.rglob("1_first/*.html")]
    pages += [staging / f"{name}.html" for name in PAGES]
    written = [page.stat().st_mtime_ns for page in pages]
    status, output = built(site, PYTHONPROFILEIMPORTTIME="1")
    assert status == 0 and not site.folder.with_name("notes").exists()
    assert [page.stat().st_mtime_ns for page in pages] == written
    imported = re.findall(r"(?m)^import time:.*\| +(\S+)$", output)
    assert "tensor_copies.gallery.kept" in imported
    # Of another build of torch only torch can say what device it has.
    assert "torch" not in imported or not version("torch").endswith("+cpu")


def test_an_edit_runs_that_lesson_and_that_page_alone(site: TinySite) -> None:
    rewrite(site.folder / "examples" / "1_first" / "two.py", "bold", "brave")
    rewrite(site.folder / "docs" / "counts.md", "bold", "brave")
    # Of a style all pages have the address, with what tells its versions apart.
    before = versions_of_the_style(site)
    with (site.folder / "conf" / "static" / "site.css").open("a") as style:
        style.write("/* another one */")
    assert well_built(site) == ["counts", "two"]
    for page in (site.page("two"), site.html / "counts.html"):
        assert "\n<b>brave</b>" in soup(page).get_text()
    assert len(before) == len(versions_of_the_style(site) - before) == 1


def test_another_torch_runs_everything_again(site: TinySite, tmp_path: Path) -> None:
    info = tmp_path / "torch-9.9.dist-info" / "METADATA"
    info.parent.mkdir()
    info.write_text("Name: torch\nVersion: 9.9+cpu\n")
    assert well_built(site, PYTHONPATH=str(tmp_path)) == ALL
    assert "torch 9.9" in soup(site.page("one")).select_one("p.stamp").get_text()


def test_what_is_gone_leaves_the_site_which_is_swapped_whole(site: TinySite) -> None:
    section = site.folder / "examples" / "1_first"
    (section / "two.py").unlink()
    rewrite(section / "index.rst", "    two.py <two>\n", "")
    take_away(site, "counts")
    # What a build left that was killed, and what is of no build.
    for stray in (site.html.with_name("html.new"), site.html):
        (stray / "stray.html").parent.mkdir(exist_ok=True)
        (stray / "stray.html").touch()
    assert well_built(site) == []
    published = "\n".join(site.published())
    assert not re.search("two|counts|stray", published) and ".whl" in published
    assert not list(site.html.parent.glob("html.*"))
