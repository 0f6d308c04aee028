from __future__ import annotations

from hbase_orm.testing.sources import Choice, choose


def available() -> str:
    return ""


def never_asked() -> str:
    raise AssertionError("must not be asked")


def test_a_url_is_taken_before_docker_is_even_asked() -> None:
    environ = {"HBASE_ORM_TEST_URL": "hbase://127.0.0.1:1"}

    choice = choose(environ, docker=never_asked, embedded=never_asked)

    assert (choice.source, choice.url) == ("url", "hbase://127.0.0.1:1")


def test_docker_is_taken_before_the_embedded_server_is_even_asked() -> None:
    choice = choose({}, docker=available, embedded=never_asked)

    assert choice.source == "docker"
    assert str(choice) == "docker (not url: HBASE_ORM_TEST_URL is not set)"


def test_the_embedded_server_is_taken_where_docker_is_refused() -> None:
    choice = choose({}, docker=lambda: "no engine", embedded=available)

    assert choice.source == "embedded"
    assert str(choice).endswith("; not docker: no engine)")


def test_nothing_is_chosen_where_all_are_refused_and_every_reason_is_told() -> None:
    choice = choose({}, docker=lambda: "no engine", embedded=lambda: "no Java")

    assert choice.source is None
    assert str(choice) == (
        "none (not url: HBASE_ORM_TEST_URL is not set; not docker: no engine; "
        "not embedded: no Java)"
    )


def test_a_missing_hbase_is_no_failure_unless_asked_for() -> None:
    assert Choice(None, ()).failure == ""


def test_a_missing_hbase_is_a_failure_where_it_is_required() -> None:
    environ = {"HBASE_ORM_REQUIRE_HBASE": "1"}

    choice = choose(environ, docker=lambda: "no engine", embedded=lambda: "no Java")

    assert choice.failure.startswith("HBASE_ORM_REQUIRE_HBASE=1 asks for an HBase: none (")


def test_the_embedded_server_is_a_failure_where_docker_is_required() -> None:
    environ = {"HBASE_ORM_REQUIRE_DOCKER": "1"}

    choice = choose(environ, docker=lambda: "no engine", embedded=available)

    assert "tests would run on: embedded" in choice.failure


def test_docker_is_no_failure_where_docker_is_required() -> None:
    environ = {"HBASE_ORM_REQUIRE_DOCKER": "1", "HBASE_ORM_REQUIRE_HBASE": "1"}

    choice = choose(environ, docker=available, embedded=never_asked)

    assert choice.failure == ""


def test_tables_in_memory_are_no_hbase_and_nothing_else_is_asked() -> None:
    environ = {"HBASE_ORM_TEST_URL": "memory://"}

    choice = choose(environ, docker=never_asked, embedded=never_asked)

    assert choice.source is None
    assert str(choice) == "none memory:// (not url: HBASE_ORM_TEST_URL names tables in memory)"
