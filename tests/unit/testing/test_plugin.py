from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hbase_orm.testing import servers
from hbase_orm.testing.shared import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from hbase_orm.testing.sources import Choice

URL = "hbase://127.0.0.1:1?thrift2=127.0.0.1:2"
USES_HBASE = """
    def test_it(hbase):
        assert hbase.url
"""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TEST_URL", "REQUIRE_HBASE", "REQUIRE_DOCKER"):
        monkeypatch.delenv(f"HBASE_ORM_{name}", raising=False)


@pytest.fixture
def url_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HBASE_ORM_TEST_URL", URL)


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Decide what the machine lacks."""

    def decide(docker: str, embedded: str) -> None:
        monkeypatch.setattr(servers, "docker_refusal", lambda: docker)
        monkeypatch.setattr(servers, "embedded_refusal", lambda: embedded)

    return decide


class RecordsWhatIsAsked:
    """Stands for starting servers, whose real ways are tested with real ones."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def start(self, choice: Choice, owner_pid: int) -> Running:  # noqa: ARG002  # as the original
        self.asked.append(f"start {choice.source}")
        return Running(URL, "docker", "c0ffee")

    def read_log(self, running: Running) -> str:
        self.asked.append(f"log of {running.handle}")
        return "HBASE-ORM died of a reason\n"

    def stop(self, running: Running) -> None:
        self.asked.append(f"stop {running.handle}")


@pytest.fixture
def machine(
    refuse: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> RecordsWhatIsAsked:
    """A machine with Docker."""
    refuse("", "")
    recorder = RecordsWhatIsAsked()
    for name in ("start", "read_log", "stop"):
        monkeypatch.setattr(servers, name, getattr(recorder, name))
    return recorder


@pytest.mark.usefixtures("url_given")
def test_the_report_names_the_url_where_a_test_needs_hbase(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest()

    result.stdout.fnmatch_lines([f"hbase: url {URL}"])


def test_the_report_says_why_not_docker(
    pytester: pytest.Pytester, machine: RecordsWhatIsAsked, refuse: Callable[[str, str], None]
) -> None:
    refuse("the Docker engine does not answer", "")
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest()

    assert machine.asked[0] == "start embedded"

    result.stdout.fnmatch_lines(
        [
            (
                "hbase: embedded (not url: HBASE_ORM_TEST_URL is not set; not docker: the "
                "Docker engine does not answer)"
            )
        ]
    )


@pytest.mark.usefixtures("url_given")
def test_the_fixture_knows_url_and_source(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_it(hbase):
            assert (hbase.source, hbase.url) == ("url", "{URL}")
            assert hbase.url_in("n") == "hbase://127.0.0.1:1/n?thrift2=127.0.0.1:2"
        """
    )

    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.usefixtures("url_given")
def test_a_server_given_by_url_has_no_admin_and_says_how_to_get_one(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_it(hbase): hbase.admin.flush('t')")

    result = pytester.runpytest()

    result.stdout.fnmatch_lines(["*ServerError: this HBase has no admin port*unset HBASE_ORM*"])


def test_tests_are_skipped_with_all_reasons_where_there_is_no_hbase(
    pytester: pytest.Pytester, refuse: Callable[[str, str], None]
) -> None:
    refuse("no engine", "no Java")
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*no HBase: none (*; not docker: no engine; not embedded: no Java)"]
    )


def test_tests_fail_without_hbase_where_it_is_required(
    pytester: pytest.Pytester,
    refuse: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse("no engine", "no Java")
    monkeypatch.setenv("HBASE_ORM_REQUIRE_HBASE", "1")
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*HBASE_ORM_REQUIRE_HBASE=1 asks for an HBase: none*"])


def test_tests_fail_on_the_embedded_server_where_docker_is_required(
    pytester: pytest.Pytester,
    refuse: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse("no engine", "")
    monkeypatch.setenv("HBASE_ORM_REQUIRE_DOCKER", "1")
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*HBASE_ORM_REQUIRE_DOCKER=1 asks for Docker*"])


def test_a_test_with_only_the_marker_is_skipped_too(
    pytester: pytest.Pytester, refuse: Callable[[str, str], None]
) -> None:
    refuse("no engine", "no Java")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.hbase
        def test_it():
            raise AssertionError("must not run")
        """
    )

    pytester.runpytest().assert_outcomes(skipped=1)


@pytest.mark.usefixtures("url_given")
def test_the_fixture_alone_makes_a_test_selectable_by_the_marker(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(USES_HBASE + "\n    def test_other(): pass\n")

    pytester.runpytest("-m", "hbase").assert_outcomes(passed=1, deselected=1)


def test_nothing_is_started_for_tests_that_need_no_hbase(
    pytester: pytest.Pytester, machine: RecordsWhatIsAsked
) -> None:
    pytester.makepyfile("def test_it(): pass")

    pytester.runpytest().assert_outcomes(passed=1)

    assert machine.asked == []


def test_one_server_is_started_for_all_tests_and_stopped_at_the_end(
    pytester: pytest.Pytester, machine: RecordsWhatIsAsked
) -> None:
    pytester.makepyfile("def test_a(hbase): pass\ndef test_b(hbase): pass")

    pytester.runpytest().assert_outcomes(passed=2)

    assert machine.asked == ["start docker", "stop c0ffee"]


def test_the_servers_log_is_kept_when_a_test_on_hbase_fails(
    pytester: pytest.Pytester, machine: RecordsWhatIsAsked
) -> None:
    pytester.makepyfile("def test_a(hbase): assert False")

    result = pytester.runpytest()

    result.stdout.fnmatch_lines(["hbase: the server's log is kept: *.log"])
    (log,) = (pytester.path / ".pytest_cache" / "d" / "hbase-logs").iterdir()
    assert log.read_text() == "HBASE-ORM died of a reason\n"
    assert machine.asked[1:] == ["log of c0ffee", "stop c0ffee"]


def test_no_log_is_kept_when_only_other_tests_fail(
    pytester: pytest.Pytester, machine: RecordsWhatIsAsked
) -> None:
    pytester.makepyfile("def test_a(hbase): pass\ndef test_b(): assert False")

    pytester.runpytest()

    assert machine.asked == ["start docker", "stop c0ffee"]


@pytest.mark.usefixtures("url_given")
@pytest.mark.parametrize("option", ["-q", "--collect-only"])
def test_nothing_is_reported_where_nobody_reads_it(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile(USES_HBASE)

    result = pytester.runpytest(option)

    result.stdout.no_fnmatch_line("hbase: *")


@pytest.mark.usefixtures("url_given")
def test_workers_share_one_choice_and_the_report_names_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_a(hbase): pass
        def test_b(hbase): pass
        """
    )

    result = pytester.runpytest("-n2", "-p", "no:randomly")

    result.assert_outcomes(passed=2)
    assert [line for line in result.outlines if line.startswith("hbase:")] == [f"hbase: url {URL}"]
