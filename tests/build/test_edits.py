"""What an edit makes again: of our code, and of what pages show of each other.

That a build after edits gives what a clean one does, test_recorded_pages.py proves.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from pytest_regressions.file_regression import FileRegressionFixture
from recorded import check
from sphinx import addnodes
from tensor_copies.calls.facts import PROBED
from tensor_copies.gallery import kept
from tensor_copies.machines import below, others

# What is kept, and the pages of a lesson that is there and of one that is gone.
LEFT = (
    *("cells/kept", "lessons/kept", "lessons/1/index.rst", "lessons/1/two.rst"),
    *("lessons/1/gone.rst", "lessons/1/gone.py.md5", "lessons/1/two.py.md5"),
)
CODE = ("lessons/page.py", "errors/kernel.py")
# What pages show of each other, or of themselves alone.
SHOWN = {
    name: name
    for name in (
        *("title", "short title", "group of the menu", "label", "question", "path"),
        *("heading", "description"),
    )
}


def test_what_an_edit_of_conf_makes_again_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    """A folder stands for all that is in it, where an edit of each does the same."""
    monkeypatch.setattr(others, "shows_simulated", lambda: True)
    lesson = tmp_path / "a.py"
    lesson.write_text("cuda")
    makers = {
        "lessons": kept.BY_LESSONS,
        "lessons on the simulated device": below._simulated(lesson).code,
        "cells of pages": kept.BY_PAGES,
        "probes": PROBED.code,
    }
    found = {
        what: {path for one in code for path in kept.CONF.glob(one)}
        for what, code in makers.items()
    }
    lines, files = [], sorted(one for one in kept.CONF.rglob("*.*") if one.is_file())
    for folder in sorted({one.parent for one in files if one.suffix != ".pyc"}):
        among = [one for one in files if one.parent == folder]
        again = {
            one.name: [what for what in found if one in found[what]] for one in among
        }
        first, *more = again.values()
        again = {"*": first} if all(one == first for one in more) else again
        of = folder.relative_to(kept.CONF).as_posix()
        lines += [
            f"{of}/{one}: {', '.join(what)}" for one, what in again.items() if what
        ]
    monkeypatch.setattr(kept, "version", lambda package: package)
    monkeypatch.setattr(kept, "this_machine", lambda: "the machine")
    monkeypatch.setattr(kept, "compiler", lambda: "its compiler")
    lines.append(f"all of these: {kept.made_by.__wrapped__()}")
    check("\n".join(lines), file_regression)


def test_other_code_throws_away_what_it_gave_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    made, lines = ["torch 1"], []
    monkeypatch.setattr(kept, "CONF", conf := tmp_path / "conf")
    monkeypatch.setattr(kept, "made_by", lambda: made[-1])
    monkeypatch.setattr(kept, "lesson_scripts", lambda app: ["lessons/1/two"])
    options = {"gallery_dirs": ["lessons"]}
    config = {"sphinx_gallery_conf": options, "nb_execution_cache_path": "cells"}
    page, kernel = (conf / "tensor_copies" / one for one in CODE)
    edits = {
        "at first": lambda: None,
        "nothing": lambda: None,
        f"an edit of {CODE[0]}": lambda: page.write_text("other"),
        f"an edit of {CODE[1]}": lambda: kernel.write_text("other"),
        "another name of it": lambda: kernel.rename(kernel.with_name("k.py")),
        "another torch": lambda: made.append("torch 2"),
    }
    for path in (page, kernel):
        path.parent.mkdir(parents=True)
        path.write_text("first")
    monkeypatch.chdir(tmp_path)
    for what, edit in edits.items():
        edit()
        kept._code.cache_clear()
        for name in LEFT:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).touch()
        app = SimpleNamespace(srcdir=tmp_path)
        kept.forget_what_is_stale(app, SimpleNamespace(**config))
        lines.append(f"{what}: {[name for name in LEFT if Path(name).exists()]}")
    kept._code.cache_clear()
    check("\n".join(lines), file_regression)


def env_of(**other: str) -> SimpleNamespace:
    """Return what Sphinx knows of two pages, as far as others show it."""
    said = SHOWN | other
    menu = nodes.bullet_list("", nodes.paragraph(text=said["group of the menu"]))
    menu += addnodes.toctree(entries=[(said["short title"], "one")])
    aside = nodes.bullet_list("", nodes.paragraph(text=said["heading"]))
    labels = {"label": ("one", "anchor", said["label"])}
    index = {"path": [said["path"]], "questions": [said["question"]]}
    return SimpleNamespace(
        titles={"one": nodes.title(text=said["title"])},
        tocs={"index": menu, "one": aside},
        metadata={"index": index, "one": {"description": said["description"]}},
        get_domain=lambda name: SimpleNamespace(labels=labels),
        found_docs={"one", "index"},
    )


@pytest.mark.parametrize("what", SHOWN)
def test_all_pages_are_written_where_others_show_an_edit(what: str) -> None:
    env = env_of()
    assert kept.write_all_if_titles_changed(None, env) == []
    vars(env).update(vars(env_of(**{what: "another"})))
    pages = [] if what in ("heading", "description") else ["index", "one"]
    assert kept.write_all_if_titles_changed(None, env) == pages
