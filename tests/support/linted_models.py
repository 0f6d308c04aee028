"""For each rule about models one model that it remarks, and the same model as it should be."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import ClassVar, NamedTuple
from uuid import UUID, uuid4

from hbase_orm import (
    Bucket,
    Digest,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Period,
    RandomSalt,
    Salt,
    Table,
    codecs,
    column,
    key,
    rowkey,
    validators,
)
from hbase_orm.rowkey.split_algorithms import range_split


class Kind(Enum):
    NEW = "n"
    OLD = "o"


class Pair(NamedTuple):
    """A model that a rule remarks, and one that it does not."""

    wrong: type[Model]
    right: type[Model]


class Log(Model, abstract=True):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v", codec=codecs.uint32())


class TimeFirst(Log, table="time_first"):
    pass


class Salted(Log, table="salted"):
    __rowkey__ = rowkey(Salt(16), Log.at, Log.host)


class NewestFirst(Model, table="newest_first"):
    d = Family()
    at: Key[datetime] = key(codecs.millis(desc=True))
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class HostThenNewest(Model, table="host_newest"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[int] = column(d, "v")


def some_number() -> int:
    return random.randrange(100)


class RandomEnd(Model, table="random_end"):
    d = Family()
    host: Key[str] = key()
    random: Key[int] = key(codecs.uint8(), default_factory=some_number)
    value: Mapped[int] = column(d, "v")


class NoRandomEnd(Model, table="no_random_end"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class OnlyTime(Model, table="only_time"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(Salt(16), at)


class TimeAndId(Model, table="time_and_id"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    event_id: Key[UUID] = key(default_factory=uuid4)
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(Salt(16), at, event_id)


class LongKey(Model, table="long_key"):
    d = Family()
    path: Key[str] = key(codecs.text(width_bytes=200))
    value: Mapped[int] = column(d, "v")
    size: Mapped[int] = column(d, "s")
    owner: Mapped[int] = column(d, "o")


class DigestKey(Model, table="digest_key"):
    d = Family()
    path: Key[str] = key(family=d, qualifier="p")
    value: Mapped[int] = column(d, "v")
    size: Mapped[int] = column(d, "s")
    owner: Mapped[int] = column(d, "o")
    __rowkey__ = rowkey(Digest(of=path))


class Digits(Model, table="digit_numbers"):
    d = Family()
    host: Key[str] = key(codecs.text(width_bytes=8))
    number: Key[int] = key(codecs.digits(9))
    value: Mapped[int] = column(d, "v")


class BinaryNumbers(Model, table="binary_numbers"):
    d = Family()
    host: Key[str] = key(codecs.text(width_bytes=8))
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")


class Underscore(Model, table="underscore"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"_"))
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")


class ZeroByte(Model, table="zero_byte"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")


class PaddedByX(Model, table="padded_x"):
    d = Family()
    host: Key[str] = key(codecs.text(width_bytes=8, pad=b"x"))
    value: Mapped[int] = column(d, "v")


class PaddedByZero(Model, table="padded_zero"):
    d = Family()
    host: Key[str] = key(codecs.text(width_bytes=8))
    value: Mapped[int] = column(d, "v")


class AtRandom(Log, table="at_random"):
    __rowkey__ = rowkey(RandomSalt(8), Log.at, Log.host)


class SaltOfKind(Model, table="salt_of_kind"):
    d = Family()
    kind: Key[Kind] = key()
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(Salt(16, of=kind), kind, host)


class SaltOfHost(Model, table="salt_of_host"):
    d = Family()
    kind: Key[Kind] = key()
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(Salt(16, of=[kind, host]), kind, host)


class BucketOfDay(Log, table="bucket_of_day"):
    day = Period("day", of=Log.at)
    __rowkey__ = rowkey(Bucket(16, of=day), Log.at, Log.host)


class BucketOfTime(Log, table="bucket_of_time"):
    __rowkey__ = rowkey(Bucket(16, of=Log.at), Log.at, Log.host)


class HashOfTime(Log, table="hash_of_time"):
    __rowkey__ = rowkey(HashPrefix(2, of=[Log.host, Log.at]), Log.host, Log.at)


class HashOfHost(Log, table="hash_of_host"):
    __rowkey__ = rowkey(HashPrefix(2, of=Log.host), Log.host, Log.at)


SIXTEEN = [bytes([bucket, half]) for bucket in range(8) for half in (0, 128)][1:]


class FewBuckets(Log, table=Table("few_buckets", splits=SIXTEEN)):
    __rowkey__ = rowkey(Salt(8), Log.at, Log.host)


class EnoughBuckets(Log, table="enough_buckets"):
    __rowkey__ = rowkey(Salt(16), Log.at, Log.host)


class WrongSplits(Model, table=Table("wrong_splits", splits=range_split(10, b"0" * 4, b"f" * 4))):
    d = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(HashPrefix(4, of=name, form="hex"), name)


class EvenSplits(Model, table=Table("even_splits", splits=10)):
    d = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    __rowkey__ = rowkey(HashPrefix(4, of=name, form="hex"), name)


class Whole(Model, table="whole"):
    d = Family()
    number: Key[UUID] = key()
    value: Mapped[int] = column(d, "v")


class Split(Model, table=Table("split", splits=16)):
    d = Family()
    number: Key[UUID] = key()
    value: Mapped[int] = column(d, "v")


class FourFamilies(Model, table="four_families"):
    a = Family()
    b = Family()
    c = Family()
    d = Family()
    name: Key[str] = key()
    one: Mapped[int] = column(a, "v")
    two: Mapped[int] = column(b, "v")
    three: Mapped[int] = column(c, "v")
    four: Mapped[int] = column(d, "v")


class OneFamily(Model, table="one_family"):
    a = Family()
    name: Key[str] = key()
    one: Mapped[int] = column(a, "1")
    two: Mapped[int] = column(a, "2")
    three: Mapped[int] = column(a, "3")
    four: Mapped[int] = column(a, "4")


class UnlikeFamilies(Model, table="unlike"):
    d = Family()
    r = Family(ttl=timedelta(days=1))
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    last: Mapped[int] = column(r, "v")


class LikeFamilies(Model, table="like"):
    d = Family(ttl=timedelta(days=300))
    r = Family(ttl=timedelta(days=100))
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    last: Mapped[int] = column(r, "v")


class LongNames(Model, table="long_names"):
    measurements = Family()
    name: Key[str] = key()
    temperature_celsius: Mapped[float] = column(measurements)
    humidity_percent: Mapped[float] = column(measurements)


class EncodedNames(Model, table="encoded_names"):
    measurements = Family(block_encoding="FAST_DIFF")
    name: Key[str] = key()
    temperature_celsius: Mapped[float] = column(measurements)
    humidity_percent: Mapped[float] = column(measurements)


class ManyVersions(Model, table="many_versions"):
    d = Family(versions=1000)
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class History(Model, table="history_versions"):
    d = Family(versions=50)
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class StateRows(Model, table="state_rows"):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[int] = column(d, "v")


class UselessTtl(Model, table="useless_ttl"):
    d = Family(versions=3, min_versions=3, ttl=timedelta(days=1))
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class LastStays(Model, table="last_stays"):
    d = Family(versions=3, min_versions=1, ttl=timedelta(days=1))
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class Ends(Model, table="ends"):
    d = Family(versions=3, ttl=timedelta(days=1))
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")


class Film(Model, table="films"):
    d = Family()
    name: Key[str] = key()
    film: Mapped[bytes] = column(d, "f", validate=validators.max_length(50_000_000))


class FilmAddress(Model, table="film_addresses"):
    d = Family()
    name: Key[str] = key()
    film_url: Mapped[str] = column(d, "f", validate=validators.max_length(2000))


class Photo(Model, table="photos"):
    d = Family()
    name: Key[str] = key()
    photo: Mapped[bytes | None] = column(
        d, "p", default=None, deferred=True, validate=validators.max_length(3_000_000)
    )


class MobPhoto(Model, table="mob_photos"):
    d = Family()
    p = Family(mob_enabled=True)
    name: Key[str] = key()
    photo: Mapped[bytes | None] = column(
        p, "p", default=None, deferred=True, validate=validators.max_length(3_000_000)
    )


class EagerPhoto(Model, table="eager_photos"):
    d = Family()
    p = Family(mob_enabled=True)
    name: Key[str] = key()
    photo: Mapped[bytes] = column(p, "p")


class Placed(Model, abstract=True):
    d = Family()
    name: Key[str] = key()
    placed: Mapped[datetime] = column(d, "p")
    kind: Mapped[Kind] = column(d, "k")
    size: Mapped[int] = column(d, "s", codec=codecs.uint32())
    price: Mapped[int] = column(d, "c", codec=codecs.uint32())


class ByTime(Placed, table="by_time"):
    by_time = Index(Placed.placed)


class BySaltedTime(Placed, table="by_salted_time"):
    by_time = Index(Placed.placed, salt=16)


class ByKind(Placed, table="by_kind"):
    by_kind = Index(Placed.kind, Placed.placed.desc())


class BySaltedKind(Placed, table="by_salted_kind"):
    by_kind = Index(Placed.kind, Placed.placed.desc(), salt=16)


class CopiesAll(Placed, table="copies_all"):
    title: Mapped[str] = column(Placed.d, "t")
    author: Mapped[str] = column(Placed.d, "a")
    by_title = Index(
        title,
        author,
        include=[Placed.placed, Placed.kind, Placed.size, Placed.price],
        covering=True,
    )


class CopiesOne(Placed, table="copies_one"):
    by_size = Index(Placed.size, include=[Placed.kind], covering=True)


class NeedlessReason(Log, table="needless_reason"):
    __rowkey__ = rowkey(Salt(16), Log.at, Log.host)
    __lint__: ClassVar = {"key-monotone": "a few rows a day"}


PAIRS: Mapping[str, Pair] = {
    "key-monotone": Pair(TimeFirst, Salted),
    "key-descending": Pair(NewestFirst, HostThenNewest),
    "key-random-suffix": Pair(RandomEnd, NoRandomEnd),
    "key-not-unique": Pair(OnlyTime, TimeAndId),
    "key-long": Pair(LongKey, DigestKey),
    "number-as-text": Pair(Digits, BinaryNumbers),
    "key-separator": Pair(Underscore, ZeroByte),
    "key-padding": Pair(PaddedByX, PaddedByZero),
    "salt-random": Pair(AtRandom, Salted),
    "salt-few-values": Pair(SaltOfKind, SaltOfHost),
    "salt-of-period": Pair(BucketOfDay, BucketOfTime),
    "hash-hides-range": Pair(HashOfTime, HashOfHost),
    "salt-fewer-than-regions": Pair(FewBuckets, EnoughBuckets),
    "regions-unreachable": Pair(WrongSplits, EvenSplits),
    "regions-one": Pair(Whole, Split),
    "families-many": Pair(FourFamilies, OneFamily),
    "families-unlike": Pair(UnlikeFamilies, LikeFamilies),
    "names-long": Pair(LongNames, EncodedNames),
    "versions-many": Pair(ManyVersions, StateRows),
    "versions-as-rows": Pair(History, StateRows),
    "ttl-no-effect": Pair(UselessTtl, Ends),
    "ttl-min-versions": Pair(LastStays, Ends),
    "cell-large": Pair(Film, FilmAddress),
    "cell-without-mob": Pair(Photo, MobPhoto),
    "column-not-deferred": Pair(EagerPhoto, MobPhoto),
    "index-monotone": Pair(ByTime, BySaltedTime),
    "index-low-cardinality": Pair(ByKind, BySaltedKind),
    "index-covering-large": Pair(CopiesAll, CopiesOne),
    "silence-unused": Pair(NeedlessReason, Salted),
}
