"""One call of each verb, for models that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from hbase_orm import Engine, Session, select
from hbase_orm.errors import (
    FlushError,
    HBaseORMError,
    SchemaError,
)
from tests.support.declarations.cell_oracle import (
    RowId,
)
from tests.support.declarations.pair_tables import (
    key_of,
    object_shown,
    periods_of,
    targets,
)
from tests.support.declarations.plain_models import (
    Built,
    FieldSpec,
)
from tests.support.declarations.random_pairs import Pair

Verb = Callable[[Engine], object]


def error_of(verb: Verb, engine: Engine) -> Any:
    """Return the error that a verb raises, for rows of a batch their reason; None without one."""
    try:
        verb(engine)
    except FlushError as error:
        return error if isinstance(error, SchemaError) else error.not_written[0][-1]
    except HBaseORMError as error:
        return error
    return None


def _in_session(verb: Callable[[Session], object]) -> Verb:
    def run(engine: Engine) -> None:
        session = engine.session()
        try:
            verb(session)
        finally:
            session.close()

    return run


def _added(obj: Any) -> Callable[[Session], object]:
    def add(session: Session) -> None:
        session.add(obj)
        session.flush()

    return add


def _new_object(built: Built, chance: Random, record_type: str) -> tuple[Any, dict[str, Any]]:
    spec = built.spec
    key = {each.name: chance.choice(each.kind.values) for each in spec.keys_of(record_type)}
    fields = [each for each in spec.fields_of(record_type) if each.is_plain]
    values = {each.name: chance.choice(each.kind.values) for each in fields}
    return built.makers[record_type](**key, **values), key


def verbs_of(pair: Pair, chance: Random) -> dict[str, Verb]:
    """Return one call of each verb for a model that contradicts the record."""
    verbs: dict[str, Verb] = {}
    built = pair.second
    for model, types in targets(built):
        if not built.spec.types or len(types) > 1 or types[0] in pair.refused_types:
            verbs |= _reads_of(model)
    for record_type in pair.refused_types or ("",):
        verbs |= _of_type(built, chance, record_type)
    if built.spec.families.keys() == pair.first.spec.families.keys():
        # `create_tables` warns of a family that the table lacks, and records the others.
        verbs["create_tables"] = partial(_create, built=built)
    for index in built.spec.indexes:
        of = getattr(built.model, index.name)
        verbs[f"verify {index.name}"] = partial(_verify, model=built.model, index=of)
        verbs[f"build {index.name}"] = partial(_build, model=built.model, index=of)
    if built.spec.indexes:
        verbs["repair"] = lambda engine: engine.repair_indexes(built.model)
    return verbs


def _create(engine: Engine, built: Built) -> None:
    engine.create_tables(built.model, periods=periods_of(built))


def _verify(engine: Engine, model: Any, index: Any) -> None:
    engine.verify_index(model, index)


def _build(engine: Engine, model: Any, index: Any) -> None:
    engine.build_index(model, index)


def _reads_of(model: Any) -> dict[str, Verb]:
    """Return one call of each verb that takes a statement."""
    stmt = select(model).allow_full_scan()
    reads: dict[str, Callable[[Session], object]] = {
        "all": lambda s: s.all(stmt),
        "count": lambda s: s.count(stmt),
        "exists": lambda s: s.exists(stmt),
        "first": lambda s: s.first(stmt),
        "page": lambda s: s.page(stmt, size=2),
        "stream": lambda s: list(s.stream(stmt)),
    }
    return {f"{name} {model.__name__}": _in_session(verb) for name, verb in reads.items()}


def _of_type(built: Built, chance: Random, record_type: str) -> dict[str, Verb]:
    maker = built.makers[record_type]
    obj, key = _new_object(built, chance, record_type)
    plain = [each for each in built.spec.fields_of(record_type) if each.is_plain]
    verbs: dict[str, Callable[[Session], object]] = {
        "get": lambda s: s.get(maker, **key),
        "get_many": lambda s: s.get_many(maker, [key]),
        "insert": lambda s: s.insert(obj),
        "add": _added(_new_object(built, chance, record_type)[0]),
        "bulk": _bulk_added(_new_object(built, chance, record_type)[0]),
        "replace": lambda s: s.replace(_new_object(built, chance, record_type)[0]),
        "delete_row": lambda s: s.delete_row(maker, **key),
        "delete_where": lambda s: s.delete_where(select(maker).allow_full_scan()),
    }
    if plain:
        put = getattr(maker, plain[0].name).to(plain[0].kind.values[0])
        verbs["put_row"] = lambda s: s.put_row(maker, put, **key)
    counters = [each for each in built.spec.fields_of(record_type) if each.role == "counter"]
    if counters:
        by = getattr(maker, counters[0].name).by(1)
        verbs["increment"] = lambda s: s.increment(maker, by, **key)
    return {f"{name} {maker.__name__}": _in_session(verb) for name, verb in verbs.items()}


def _bulk_added(obj: Any) -> Callable[[Session], object]:
    def add(session: Session) -> None:
        with session.bulk() as bulk:
            bulk.add(obj)

    return add


def writes_of(built: Built, chance: Random, existing: list[RowId]) -> dict[str, Verb]:
    """Return the writes of a model that may read, but not write, by the catalog's rules."""
    verbs: dict[str, Verb] = {}
    for record_type in built.spec.kinds_of_rows:
        own = _of_type(built, chance, record_type)
        verbs |= {n: v for n, v in own.items() if not n.startswith(("get", "delete_where"))}
    for row in existing[:1]:
        plain = [each for each in built.spec.fields_of(row.record_type) if each.is_plain]
        if plain:
            verbs["change"] = _in_session(partial(_change, built=built, row=row, of=plain[0]))
        verbs["delete"] = _in_session(partial(_delete, built=built, row=row))
    return verbs


def _loaded(session: Session, built: Built, row: RowId) -> Any:
    return session.get(built.makers[row.record_type], **key_of(built, row))


def _change(session: Session, built: Built, row: RowId, of: FieldSpec) -> None:
    obj = _loaded(session, built, row)
    now = object_shown(built, row.record_type, obj)[of.name]
    setattr(obj, of.name, next(value for value in of.kind.values if value != now))
    session.flush()


def _delete(session: Session, built: Built, row: RowId) -> None:
    session.delete(_loaded(session, built, row))
    session.flush()
