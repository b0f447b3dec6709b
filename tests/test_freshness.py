"""What a build runs again, what it keeps, and that it keeps nothing wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT, TinySite, computing_page, lesson, new_tiny_site
from tensor_copies.explorer import kept as explorer
from tensor_copies.machine import code_keys, fingerprint, freshness, kept, kept_json
from tensor_copies.recordings import format as recordings

MAP = '''import torch
x = torch.ones(2)
y = x.detach()
# sphinx_gallery_tensor_map = "x, y"'''
A = lesson("A", MAP)
B = lesson("B", "print('b runs')")
SECTION = Path("examples", "1_first")
PROSE_PAGE = "# Prose\n\nSome words. See {doc}`what computes <computes>`.\n"
# Ends the build between the reading and the writing of the pages, when asked to.
MAY_BE_KILLED = """

def setup(app):
    import os

    if "END_BEFORE_WRITING" in os.environ:
        app.connect("env-check-consistency", lambda *_: os.kill(os.getpid(), 9))
"""
SAY_A_DAY = """import locale
from contextlib import suppress
from datetime import date
with suppress(locale.Error):  # this machine may lack the locale
    locale.setlocale(locale.LC_ALL, "")
from tensor_copies.machine.freshness import in_words
print(in_words("2026-03-03"))
print(f"{date(2026, 3, 3):%B}")
"""
KEPT = "Lessons: 0 of {0} ran, {0} kept from earlier builds."


def pages(site: TinySite, *names: str) -> None:
    """Make these the pages of the index, beside the lessons."""
    index = site.folder / "docs" / "index.md"
    entries = "\n".join(["auto_examples/index", *names])
    index.write_text(f"# Tiny\n\n```{{toctree}}\n{entries}\n```\n")


def built(site: TinySite, *arguments: str) -> dict[str, str]:
    """Build the site, which must go well; return its files."""
    done = site.build(*arguments)
    assert done.status == 0, done.output
    return site.published()


def clean(site: TinySite) -> dict[str, str]:
    """Build without anything that was read or written before; return the files.

    What lessons and pages gave when they ran stays: the day and the seconds of a run
    are no matter here.
    """
    for folder in ("doctrees", "staging", "html", "kept"):
        shutil.rmtree(site.folder / "build" / folder)
    return built(site)


@pytest.fixture(scope="module")
def new_site(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Return a site of two lessons and three pages, built."""
    site = new_tiny_site(tmp_path_factory.mktemp("kept") / "tiny")
    with (site.folder / "conf" / "conf.py").open("a") as conf:
        conf.write(MAY_BE_KILLED)
    site.write_lessons({"a.py": A, "b.py": B})
    site.order(["a.py", "b.py", "renamed.py", "added.py"])
    pages(site, "computes", "prose")
    docs = site.folder / "docs"
    (docs / "computes.md").write_text(computing_page())
    (docs / "prose.md").write_text(PROSE_PAGE)
    done = site.build()
    assert done.status == 0, done.output
    assert done.lessons == "Lessons: 2 of 2 ran, 0 kept from earlier builds."
    return site


@pytest.fixture
def site(new_site: TinySite, tmp_path: Path) -> Iterator[TinySite]:
    """Return the built site, and put it back as it was at the end."""
    shutil.copytree(new_site.folder, tmp_path / "as it was", symlinks=True)
    yield new_site
    shutil.rmtree(new_site.folder)
    shutil.copytree(tmp_path / "as it was", new_site.folder, symlinks=True)


def recording_of(site: TinySite, name: str) -> Path:
    """Write a recording of a lesson, as another machine would have made it."""
    machine = fingerprint.Fingerprint("cpu", "Other", "2.9.0", "2.1.0", "3.12.1")
    keys = recordings.keys(site.folder / SECTION / f"{name}.py").values()
    blocks = tuple(recordings.Block(key, "seen elsewhere", ()) for key in keys)
    folder = site.folder / "docs" / "recordings" / machine.name
    recordings.save(
        recordings.Recording(f"1_first/{name}", machine, "2026-01-02", 1.0, blocks),
        {},
        folder,
    )
    return folder / f"{name}.json"


def test_an_incremental_build_is_a_clean_one(site: TinySite) -> None:
    docs, examples = site.folder / "docs", site.folder / SECTION

    def edit_a_page_and_keep_its_date_and_record() -> None:
        page = docs / "prose.md"
        page.write_text(PROSE_PAGE.replace("Some words", "Other letters"))
        os.utime(page, (1e9, 1e9))
        recording_of(site, "b")

    def retitle_a_page() -> None:
        page = docs / "computes.md"
        page.write_text(computing_page("Calculates"))

    def add_a_page_and_a_lesson() -> None:
        pages(site, "computes", "prose", "added")
        (docs / "added.md").write_text("# Added\n\nUniquely.\n")
        (examples / "added.py").write_text(lesson("Added", "print('added')"))

    def rename_a_lesson_and_lose_its_recording() -> None:
        (examples / "b.py").rename(examples / "renamed.py")
        shutil.rmtree(docs / "recordings")

    def delete_a_page_and_a_lesson() -> None:
        pages(site, "computes", "prose")
        (docs / "added.md").unlink()
        (examples / "a.py").unlink()

    seen = []
    for edit in (
        edit_a_page_and_keep_its_date_and_record,
        retitle_a_page,
        add_a_page_and_a_lesson,
        rename_a_lesson_and_lose_its_recording,
        delete_a_page_and_a_lesson,
    ):
        edit()
        files = built(site)
        assert files not in seen, f"{edit.__name__}: nothing has changed"
        seen.append(files)
        if edit is edit_a_page_and_keep_its_date_and_record:
            assert "Other letters" in (site.html / "prose.html").read_text()
            assert "seen elsewhere" in site.page("b").read_text()
        assert files == clean(site), edit.__name__
    left = [name for name in files if Path(name).stem in ("a", "b", "added.html")]
    left += [name for name in files if "_glr_a_" in name or "_glr_b_" in name]
    assert left == []
    generated = site.folder / "docs" / "auto_examples" / "1_first"
    assert {path.stem.partition(".")[0] for path in generated.glob("*.*")} == {
        "index", "added", "renamed",
    }  # fmt: skip


def test_only_what_changed_runs_again(site: TinySite) -> None:
    unchanged = site.build()
    assert unchanged.status == 0, unchanged.output
    assert unchanged.lessons == KEPT.format(2)
    assert "Nothing has changed" in unchanged.output

    script = site.folder / SECTION / "b.py"
    script.write_text(B.replace("b runs", "b runs again"))
    after_edit = site.build()
    assert after_edit.lessons == "Lessons: 1 of 2 ran, 1 kept from earlier builds."
    assert "computes" not in after_edit.output
    assert "b runs again" in site.page("b").read_text()

    # How a page looks: no lesson and no page runs, all pages are written anew.
    room = site.folder / "conf" / "tensor_copies"
    head = room / "web" / "head.py"
    head.write_text(head.read_text().replace("summary_large_image", "summary"))
    other_look = site.build()
    assert other_look.lessons == KEPT.format(2)
    assert "computes" not in other_look.output
    for page in (site.page("a"), site.html / "prose.html"):
        assert "summary_large_image" not in page.read_text()

    # What draws: the lessons run again, the page, which imports none of it, does not.
    with (room / "figures" / "plots.py").open("a") as module:
        module.write("edited = True\n")
    other_plots = site.build()
    assert other_plots.lessons == "Lessons: 2 of 2 ran, 0 kept from earlier builds."
    assert "computes" not in other_plots.output


def test_another_torch_is_another_machine(site: TinySite, tmp_path: Path) -> None:
    # What the metadata say of torch's version is what an upgrade would change.
    metadata = tmp_path / "upgrade" / "torch-99.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n"
    )
    upgraded = {**os.environ, "PYTHONPATH": str(metadata.parent)}
    done = site.build_alone(env=upgraded)
    assert done.lessons == "Lessons: 2 of 2 ran, 0 kept from earlier builds."
    assert "Run with torch 99.0," in site.page("a").read_text()
    assert "Run with torch 99.0," in (site.html / "computes.html").read_text()
    assert "ran with torch 99.0," in (site.html / "prose.html").read_text()


def test_a_failure_is_no_result_even_when_taken_back(site: TinySite) -> None:
    script = site.folder / SECTION / "b.py"
    script.write_text(B.replace("print('b runs')", "raise ValueError('no')"))
    before = site.published()
    assert site.build().status != 0
    script.write_text(B)
    assert site.build().lessons == KEPT.format(2)  # of the last good build
    assert site.published() == before
    (site.folder / "docs" / "prose.md").write_text(f"{PROSE_PAGE}\nMore.\n")
    repaired = site.build()
    assert repaired.status == 0, repaired.output
    assert repaired.lessons == "Lessons: 1 of 2 ran, 1 kept from earlier builds."
    assert "ValueError" not in site.page("b").read_text()


def halve(path: Path) -> None:
    """Leave the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> None:
    """Put bytes into a file that are no text."""
    path.write_bytes(b"\xff\xfe" + path.read_bytes()[::-1])


DAMAGED = {
    "the files of a lesson's run": [
        "docs/auto_examples/1_first/a.rst",
        "docs/auto_examples/1_first/a.notebook.json",
        "docs/auto_examples/1_first/images/sphx_glr_a_001.svg",
        "docs/auto_examples/1_first/b.py.md5",
        "docs/auto_examples/1_first/b.ipynb",
    ],
    "a lesson's page, a run, and the cells of pages": [
        "docs/auto_examples/1_first/a.ipynb",
        "docs/auto_examples/1_first/b.rst",
        "docs/auto_examples/1_first/b.run.json",
        "build/pages/*/global.db",
        "build/pages/*/executed/*/base.ipynb",
        "build/doctrees/html/computes.doctree",
    ],
    "a page that was written": ["build/staging/prose.html"],
    "what Sphinx noted": [
        "build/staging/.buildinfo",
        "build/staging/_static/search_index.js",
        "build/doctrees/html/environment.pickle",
        "build/kept/html.json",
    ],
    "the published site": ["build/html/prose.html"],
}


@pytest.mark.parametrize("damage", [halve, garble])
@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_made_again(
    what: str, damage: Callable[[Path], None], site: TinySite
) -> None:
    before = site.published()
    for pattern in DAMAGED[what]:
        (path,) = site.folder.glob(pattern)
        damage(path)
    assert built(site) == before


def test_a_build_that_was_killed_leaves_nothing_behind(site: TinySite) -> None:
    before = site.published()
    recording_of(site, "b")
    killed = site.build(env={**os.environ, "END_BEFORE_WRITING": "1"})
    assert killed.status != 0
    assert signal.SIGKILL.name in killed.output
    assert site.published() == before
    after = built(site)
    assert "seen elsewhere" in site.page("b").read_text()
    assert after == clean(site)


def test_pages_in_folders_and_two_processes(site: TinySite) -> None:
    folder = site.folder / "build" / "dirhtml"
    # Both times there is each page, and its links to other pages lead somewhere.
    for _ in range(2):
        done = site.build("-b", "dirhtml", "-j", "2")
        assert done.status == 0, done.output
        made = {
            path.relative_to(folder).as_posix() for path in folder.rglob("index.html")
        }
        assert {
            "index.html", "prose/index.html", "auto_examples/index.html",
            "auto_examples/1_first/a/index.html", "auto_examples/1_first/b/index.html",
        } <= made  # fmt: skip
        recording_of(site, "b")
    page = folder / "auto_examples" / "1_first" / "b" / "index.html"
    assert "seen elsewhere" in page.read_text()


# Keys: no site is built.


@pytest.fixture(scope="module")
def copied_conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "conf"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "conf", folder, ignore=ignored)
    return folder


def make_keys_from(folder: Path, patch: pytest.MonkeyPatch) -> None:
    for module in (code_keys, freshness, recordings):
        patch.setattr(module, "CONF", folder)
    patch.setattr(code_keys, "ROOTS", (folder, folder / "tensor_maps" / "src"))


@pytest.fixture
def conf(copied_conf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of conf/ that the keys are made from."""
    make_keys_from(copied_conf, monkeypatch)
    return copied_conf


@pytest.fixture(scope="module")
def before(copied_conf: Path) -> dict[str, str]:
    """Return the keys of the copy of conf/ as it is."""
    with pytest.MonkeyPatch.context() as patch:
        make_keys_from(copied_conf, patch)
        return keys()


@contextmanager
def edited(path: Path, text: str) -> Iterator[None]:
    """Give a file another text, and its own at the end."""
    own = path.read_text()
    path.write_text(text)
    yield
    path.write_text(own)


def keys() -> dict[str, str]:
    """Return all keys as a newly started build would find them."""
    for cached in (freshness.lessons_key, recordings.atlas_key):
        cached.cache_clear()
    return {
        "lessons": freshness.lessons_key(),
        "pages": freshness.pages_key(ROOT / "docs"),
        "atlas": recordings.atlas_key(),
        "explorer": explorer.live_key(),
    }


CODE = "edited = True\n"
COMMENT = "\n\n# edited\n"
PLACES = {
    # a file, what is added to it, and the keys that must change
    "tensor_copies/web/head.py": (CODE, set()),
    "tensor_copies/lessons/page.py": (CODE, set()),
    "tensor_copies/lessons/notebooks.py": (CODE, set()),
    "tensor_copies/errors/search.py": (CODE, set()),
    "tensor_copies/errors/cards.py": (CODE, set()),
    "tensor_copies/errors/pairs.py": (CODE, set()),
    "tensor_copies/errors/pair_steps.py": (CODE, set()),
    "tensor_copies/atlas/page.py": (CODE, set()),
    "tensor_copies/recordings/shown.py": (CODE, set()),
    "tensor_copies/machine/reading_order.py": (CODE, set()),
    "tensor_copies/machine/freshness.py": (CODE, set()),
    "static/site.css": ("a { color: red; }\n", set()),
    "templates/page.html": ("<hr>\n", set()),
    "tensor_maps/src/tensor_maps/atlas/calls.py": (CODE, {"pages", "explorer"}),
    "tensor_copies/explorer/probing.py": (CODE, {"explorer"}),
    "tensor_copies/explorer/page.py": (CODE, set()),
    "tensor_maps/src/tensor_maps/draw.py": (CODE, {"lessons", "pages"}),
    "tensor_maps/src/tensor_maps/steps/viewer.py": (CODE, {"pages"}),
    "tensor_maps/src/tensor_maps/steps/steps.js": ("// edited\n", {"pages"}),
    "tensor_copies/machine/isolation.py": (CODE, {"lessons"}),
    "tensor_copies/machine/figure.mplstyle": ("axes.grid: True\n", {"lessons"}),
    "tensor_copies/machine/code_links.py": (CODE, {"lessons"}),
    "tensor_copies/machine/background.py": (CODE, set()),
    "tensor_copies/machine/clocks.py": (CODE, {"lessons"}),
    "tensor_copies/machine/early_work.py": (CODE, set()),
    "tensor_copies/machine/chances.py": (CODE, {"lessons", "pages"}),
    "tensor_copies/figures/charts.py": (CODE, set()),
    "tensor_copies/figures/plots.py": (COMMENT, set()),
    "tensor_copies/figures/steps.py": (CODE, {"lessons"}),
    "tensor_copies/errors/page.py": (CODE, {"pages"}),
    "tensor_copies/recordings/format.py": (COMMENT, set()),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_changes_with_what_changes_a_result(
    place: str, conf: Path, before: dict[str, str]
) -> None:
    text, changed = PLACES[place]
    with edited(conf / place, (conf / place).read_text() + text):
        after = keys()
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_was_parsed_for_a_key_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str:
        code_keys._kept.cache_clear()
        return code_keys.code_behind(["tensor_copies.figures.charts"])

    def refuse(*_: object) -> None:
        raise AssertionError("it was parsed again")

    monkeypatch.setattr(code_keys, "KEPT", tmp_path / "code_keys.json")
    first = key()
    with monkeypatch.context() as patch:
        patch.setattr(code_keys, "_parsed", refuse)
        assert key() == first
    code_keys.KEPT.write_text("damaged")
    assert key() == first
    code_keys._kept.cache_clear()


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("__main__.py", 'help="one expression that uses x"', 'help="code"', False),
        ("calls.toml", 'lesson = "1_basics/clone"', 'lesson = "1_basics/a"', False),
        ("calls.py", '"a leaf that requires grad"', '"a leaf"', False),
        ("calls.toml", 'code = "x.detach()"', 'code = "x.detach().detach()"', True),
        ("calls.toml", 'states = ["constant", "view"]', 'states = ["view"]', True),
        ("probes.py", "        x += 1", "        x += 2", True),
        ("probes.py", "set_warn_always(True)", "set_warn_always(False)", True),
        ("run.py", "duplex=False", "duplex=True", True),
    ],
)
def test_an_atlas_is_stale_when_its_probes_are_others(
    file: str, old: str, new: str, changes: bool, conf: Path, before: dict[str, str]
) -> None:
    path = conf / "tensor_maps" / "src" / "tensor_maps" / "atlas" / file
    text = path.read_text()
    assert old in text
    with edited(path, text.replace(old, new)):
        recordings.atlas_key.cache_clear()
        assert (recordings.atlas_key() != before["atlas"]) is changes


def test_no_quality_is_the_normal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fingerprint.QUALITY, raising=False)
    unset = keys()
    monkeypatch.setenv(fingerprint.QUALITY, "normal")
    assert keys() == unset
    monkeypatch.setenv(fingerprint.QUALITY, "quick")
    assert {name for name in unset if keys()[name] != unset[name]} == {"lessons"}


def test_what_runs_is_hashed_as_every_python_has_it() -> None:
    source = '''"""Say."""

@f  # why
def g():
    """Do."""
    # so
    x = """a

# b
"""
    return x
'''
    code = '@f\ndef g():\n    x = """a\n\n# b\n"""\n    return x'
    assert code_keys.definitions(source, ["g"]) == code


# What is kept: no site is built.


@pytest.fixture
def kept_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a build folder with something in it, noted as good."""
    monkeypatch.setattr(kept, "BUILD", tmp_path / "build")
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    for place in ("build/doctrees/html/a.doctree", "build/out/a.html", "docs/a.md"):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_text(place)
    kept.Kept("html", tmp_path / "build" / "out").trust(None, ["said"])
    return tmp_path


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: None,
        lambda root: (root / "build/out/a.html").write_text("half"),
        lambda root: (root / "build/out/more.html").write_text("more"),
        lambda root: (root / "build/doctrees/html/a.doctree").unlink(),
        lambda root: halve(root / "build/kept/html.json"),
        lambda root: (root / "build/kept/html.json").write_text("[1]"),
    ],
)
def test_what_is_not_as_noted_is_removed(
    damage: Callable[[Path], None], kept_folders: Path
) -> None:
    written = kept_folders / "build" / "out"
    before = kept._hashes(kept_folders)
    damage(kept_folders)
    whole = kept._hashes(kept_folders) == before
    kept.Kept("html", written).begin()
    assert written.exists() is whole
    assert (kept_folders / "build" / "doctrees" / "html").exists() is whole


def test_a_build_that_fails_though_nothing_changed_forgets_all(
    kept_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = kept_folders / "build" / "out"
    assert kept.Kept("html", written).is_to_blame()
    (kept_folders / "docs" / "a.md").write_text("edited")
    assert not kept.Kept("html", written).is_to_blame()
    monkeypatch.setattr(kept, "KEPT", (kept_folders / "build",))
    kept.forget_all()
    assert not (kept_folders / "build").exists()


def test_an_unchanged_site_stands(kept_folders: Path) -> None:
    written = kept_folders / "build" / "out"
    kept.Kept("html", written).trust(written, ["said"])
    assert kept.Kept("html", written).unchanged(written)[-1] == "said"
    for change in (
        lambda: (written / "a.html").write_text("half"),
        lambda: (kept_folders / "docs" / "b.md").write_text("new"),
    ):
        change()
        assert kept.Kept("html", written).unchanged(written) is None
        kept.Kept("html", written).trust(written, [])
    assert kept.Kept("html", written, ["-j 2"]).unchanged(written) is None
    assert kept_json.load(kept_folders / "build/kept/html.json")["look"]


def test_what_was_kept_for_old_code_is_removed(kept_folders: Path) -> None:
    pages, atlas = (kept_folders / "build" / name for name in ("pages", "atlas"))
    atlas.mkdir()
    for age in range(kept.NEWEST + 2):
        run = pages / f"key {age}"
        run.mkdir(parents=True)
        (pages / f"key {age}.json").write_text("{}")
        (atlas / f"{age}.json").write_text("{}")
        for path in (run, pages / f"key {age}.json", atlas / f"{age}.json"):
            os.utime(path, (1e9 - age, 1e9 - age))
    os.utime(pages / f"key {age}.json")  # the oldest run, which a build has used now
    kept.prune()
    newest = {f"key {old}" for old in (*range(kept.NEWEST - 1), age)}
    assert {path.name.removesuffix(".json") for path in pages.iterdir()} == newest
    assert len(list(pages.iterdir())) == 2 * kept.NEWEST
    kept_of_atlas = {path.stem for path in atlas.iterdir()}
    assert kept_of_atlas == set(map(str, range(kept.NEWEST)))


@pytest.mark.slow  # it starts a Python
def test_days_are_in_english_under_any_locale(tmp_path: Path) -> None:
    """As Sphinx does, the process takes its locale from the environment."""
    german = tmp_path / "de_DE.UTF-8"
    if (localedef := shutil.which("localedef")) is not None:
        subprocess.run(
            [localedef, "-i", "de_DE", "-f", "UTF-8", str(german)], capture_output=True
        )
    said = subprocess.run(
        [sys.executable, "-c", SAY_A_DAY],
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": german.name, "LOCPATH": str(tmp_path)},
        cwd=ROOT / "conf",
    )
    assert said.returncode == 0, said.stderr
    first, last = said.stdout.splitlines()
    assert first == "3 March 2026"
    if german.exists():  # the locale was in force
        assert last == "März"
