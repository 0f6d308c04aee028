"""Files by owner and day, the query of several conditions: `user(6) + yyyymmdd(8) + file id(6)`.

Choose it where every question names the first part, and the next as a value or a range: the rows of
an owner's days stand together, and what is left (beginnings of a name and a category) the server
filters on those rows alone. Digits padded with zeros sort as numbers and can be read in the shell;
they cost 20 bytes a cell where two numbers and a date take 12. The file's id makes each key unique.

The worked example of this design asks for the files from 2012-09-01 until 2012-10-01 and prints a
stop row of 2012-09-14. A stop row is excluded, and as a prefix it stands before all rows that begin
with it: that scan ends at file 5. The wanted file 7 needs the end of the question, as below.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, select


class FileInfo(Model, table="files"):
    """No part needs an end: each has as many digits as the next row's."""

    f = Family()
    owner: Key[int] = key(codecs.digits(6))
    created: Key[datetime] = key(codecs.strftime("%Y%m%d"))
    file_id: Key[int] = key(codecs.digits(6))
    name: Mapped[str] = column(f, "n")
    category: Mapped[str] = column(f, "c")

    __lint__: ClassVar = {
        "number-as-text": "the design has digits, which people read in HBase's shell"
    }


def september(day: int) -> datetime:
    """Return a day of September 2012."""
    return datetime(2012, 9, day, tzinfo=UTC)


FILES = [
    (1, september(2), "中国好声音第1期", "综艺", 1),
    (2, september(4), "中国好声音第2期", "综艺", 1),
    (3, september(6), "中国好声音外卡赛", "综艺", 1),
    (4, september(8), "中国好声音第3期", "综艺", 1),
    (5, september(10), "中国好声音第4期", "综艺", 1),
    (6, september(12), "中国好声音选手采访", "综艺花絮", 2),
    (7, september(14), "中国好声音第5期", "综艺", 1),
    (8, september(16), "中国好声音录制花絮", "综艺花絮", 2),
    (9, september(18), "张玮独家专访", "花絮", 3),
    (10, september(20), "加多宝凉茶广告", "综艺广告", 4),
]


def show(engine: Engine) -> None:
    """Load ten files and ask the five conditions, with the right end and with the printed one."""
    engine.drop_tables(FileInfo)
    engine.create_tables(FileInfo)
    with engine.session() as session:
        session.add_all(
            FileInfo(file_id=number, created=created, name=name, category=category, owner=owner)
            for number, created, name, category, owner in FILES
        )
        session.flush()

        wanted = select(FileInfo).where(
            FileInfo.owner == 1,
            FileInfo.created >= september(1),
            FileInfo.name.startswith("中国好声音"),
            FileInfo.category.startswith("综艺"),
        )
        october = datetime(2012, 10, 1, tzinfo=UTC)
        right = ask(session, "until October 1", wanted.where(FileInfo.created < october))
        printed = wanted.where(FileInfo.created < september(14))
        short = ask(session, "until September 14, as is often printed", printed)
        page = session.page(wanted, size=4)
        rest = session.page(wanted, size=4, token=page.token)

    assert [file.file_id for file in right] == [1, 2, 3, 4, 5, 7]
    assert [file.file_id for file in short] == [1, 2, 3, 4, 5]
    assert [[file.file_id for file in each.items] for each in (page, rest)] == [
        [1, 2, 3, 4],
        [5, 7],
    ]


if __name__ == "__main__":
    run(show)
