"""Files of revisions: what is read, what is written, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.migrate import DropTable, RevisionFileError, RevisionGraphError, RunPython, Scripts
from hbase_orm.migrate.checksum import checksum
from hbase_orm.migrate.new_revisions import NewRevision, create_folder, write_revision
from hbase_orm.record.snapshots import declaration_of
from tests.support.revisions import FillRows, write_file

EMPTY = '{"before": {}, "after": {}}'


class Part(Model, table="parts"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    name: Mapped[str] = column(d)
    by_name = Index(name)


def step(engine: object) -> None:
    del engine


def test_a_written_revision_is_read_again(tmp_path: Path) -> None:
    scripts = Scripts(tmp_path / "migrations")
    declaration = declaration_of([Part.__schema__])
    create_folder(scripts.folder)
    path = write_revision(
        scripts,
        NewRevision('Index "parts" \\ by name', (), (), {}, {"parts": declaration}),
    )
    second = write_revision(scripts, NewRevision("", (path.name[:12],), (), {}, {}))

    first, last = scripts.graph().revisions.values()

    assert first.message == 'Index "parts" \\ by name'
    assert path.name == f"{first.id}_index_parts_by_name.py"
    assert first.after == {"parts": declaration}
    assert (first.parents, first.operations, first.path) == ((), (), path)
    assert (last.id, last.parents, last.message) == (second.stem, (first.id,), "No message")


def test_steps_are_written_as_source() -> None:
    from hbase_orm.migrate.new_revisions import source_of  # noqa: PLC0415

    source = source_of(
        "3f2a", NewRevision("M", ("a", "b"), (RunPython(step, step), RunPython(step)), {}, {})
    )

    assert source == (
        '"""M."""\n\nfrom __future__ import annotations\n\n'
        "from hbase_orm.migrate import RunPython\n\n"
        'revision = "3f2a"\ndown_revision = ("a", "b")\n'
        "operations = [\n    RunPython(step, step),\n    RunPython(step),\n]\n"
    )


def test_comments_of_steps_are_indented_like_the_steps() -> None:
    from hbase_orm.migrate.new_revisions import source_of  # noqa: PLC0415

    operation = DropTable("parts", comment="One line.\nAnother line.")

    source = source_of("3f2a", NewRevision("M", (), (operation,), {}, {}))

    steps = '    # One line.\n    # Another line.\n    DropTable("parts"),\n'
    assert source.endswith(f"operations = [\n{steps}]\n")


def test_the_operations_of_a_file_are_its_steps(tmp_path: Path) -> None:
    write_file(
        tmp_path,
        "a",
        body="def forward(engine): pass\n",
        operations="[RunPython(forward)]",
    )

    (revision,) = Scripts(tmp_path).graph().revisions.values()

    assert [each.describe() for each in revision.operations] == ["run forward"]


def test_a_merge_names_several_parents(tmp_path: Path) -> None:
    for name, down in {"a": "None", "b": "'a'", "c": "'a'", "m": "('b', 'c')"}.items():
        write_file(tmp_path, name, down)

    graph = Scripts(tmp_path).graph()

    assert graph.revisions["m"].parents == ("b", "c")
    assert graph.heads == ("m",)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    write_file(tmp_path, "a")
    for name in ("__init__.py", "_helpers.py", ".hidden.py", "notes.txt"):
        (tmp_path / name).write_text("this is no revision")

    assert list(Scripts(tmp_path).graph().revisions) == ["a"]


def test_dataclasses_of_a_file_work(tmp_path: Path) -> None:
    body = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass C:\n    x: int\n"
    write_file(tmp_path, "a").write_text(
        f"{body}\nrevision, down_revision, operations = 'a', None, []\n"
    )

    assert list(Scripts(tmp_path).graph().revisions) == ["a"]


@pytest.mark.parametrize(
    ("text", "at", "error"),
    [
        ("revision = 'a'\nx = = 1", 2, "SyntaxError"),
        ("\n\nimport nothing_like_this", 3, "ModuleNotFoundError: No module named"),
        ("def f():\n    raise ValueError('no')\nf()", 2, "ValueError: no"),
        ("x = '\\0'\n\0", None, "SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(
    tmp_path: Path, text: str, at: int | None, error: str
) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)

    with pytest.raises(RevisionFileError, match="cannot be imported") as caught:
        Scripts(tmp_path).graph()

    assert (caught.value.file, caught.value.at) == (str(path), at)
    assert caught.value.error.startswith(error)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("down_revision, operations = None, []", "revision"),
        ("revision, down_revision, operations = 3, None, []", "revision"),
        ("revision, down_revision, operations = 'a b', None, []", "revision"),
        ("revision, operations = 'a', []", "down_revision"),
        ("revision, down_revision, operations = 'a', 3, []", "down_revision"),
        ("revision, down_revision, operations = 'a', ('b', 3), []", "down_revision"),
        ("revision, down_revision = 'a', None", "operations"),
        ("revision, down_revision, operations = 'a', None, [3]", "operations"),
        ("revision, down_revision, operations = 'a', None, 'x'", "operations"),
    ],
)
def test_a_name_that_is_missing_or_of_another_type_is_named(
    tmp_path: Path, text: str, name: str
) -> None:
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "a.json").write_text(EMPTY)

    with pytest.raises(RevisionFileError, match="lacks a name") as caught:
        Scripts(tmp_path).graph()

    assert caught.value.name == name


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RevisionFileError, match="does not exist") as caught:
        Scripts(tmp_path / "none").graph()

    assert caught.value.file == str(tmp_path / "none")


def test_missing_records_are_named(tmp_path: Path) -> None:
    write_file(tmp_path, "a")
    (tmp_path / "a.json").unlink()

    with pytest.raises(RevisionFileError, match="records of the revision is missing") as caught:
        Scripts(tmp_path).graph()

    assert (caught.value.revision, caught.value.file) == ("a", str(tmp_path / "a.json"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"before": {}}',
        '{"before": {}, "after": []}',
        '{"before": {"t": {}}, "after": {}}',
    ],
)
def test_damaged_records_are_named(tmp_path: Path, text: str) -> None:
    write_file(tmp_path, "a")
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(RevisionFileError, match="damaged, or of a newer release") as caught:
        Scripts(tmp_path).graph()

    assert caught.value.revision == "a"


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(RevisionFileError, match="cannot be read"):
        Scripts(tmp_path).graph()


def test_two_files_of_one_revision_are_named(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a")
    other = path.with_name("copy.py")
    other.write_text(path.read_text())

    with pytest.raises(RevisionGraphError, match="two files") as caught:
        Scripts(tmp_path).graph()

    assert caught.value.files == [str(path), str(other)]


def test_a_folder_that_is_a_file_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")

    with pytest.raises(RevisionFileError, match="cannot be created"):
        create_folder(tmp_path / "x")


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("a = 1\nb = 2\n", True),
        ("a = 1\r\nb = 2\r\n", True),
        ("\ufeffa = 1  \nb = 2\n\n\n", True),
        ("a = 1\n\nb = 2\n", False),
        ("a = 1\nb = 3\n", False),
        (" a = 1\nb = 2\n", False),
    ],
)
def test_a_checksum_ignores_line_ends_only(text: str, *, is_same: bool) -> None:
    one = checksum("a = 1\nb = 2", EMPTY)

    assert (checksum(text, '{"after":{},\n"before":{}}') == one) is is_same


def test_a_checksum_counts_the_records() -> None:
    assert checksum("a", EMPTY) != checksum("a", '{"before": {}, "after": {"t": 1}}')


def test_a_step_without_source_shows_itself() -> None:
    assert FillRows("x").source().startswith("FillRows(name='x'")
