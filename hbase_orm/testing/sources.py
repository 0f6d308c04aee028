"""Decides, once and by cheap checks before any test runs, where the tests' HBase comes from.

Nothing is started here. The order is fixed: the server that HBASE_ORM_TEST_URL names, a container
of our image, the embedded server; the first that can be had is taken, and every earlier one has a
reason why it was not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hbase_orm.binding.url import shown_url

Source = Literal["url", "docker", "embedded"]
"""The kinds of HBase that tests can run on."""

URL_VARIABLE = "HBASE_ORM_TEST_URL"
"""Names an HBase that runs already. Tests make and drop tables of their own there."""

REQUIRE_HBASE_VARIABLE = "HBASE_ORM_REQUIRE_HBASE"
"""Set to 1, a missing HBase fails the tests that need one instead of skipping them."""

REQUIRE_DOCKER_VARIABLE = "HBASE_ORM_REQUIRE_DOCKER"
"""Set to 1, tests that need HBase fail on any but the dockerized one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The HBase that tests run on, and why the preferred kinds are not available.

    Attributes:
        source: The kind of HBase; None where none can be had.
        refused: The kinds that were looked at before, each with the reason against it.
        url: The URL given, for the source `url` only.
        must_have: A missing HBase is a failure.
        must_be_docker: Anything but Docker is a failure.
    """

    source: Source | None
    refused: tuple[tuple[Source, str], ...]
    url: str = field(default="", repr=False)
    must_have: bool = False
    must_be_docker: bool = False

    def __str__(self) -> str:
        """Return one line for the report header."""
        shown: str = self.source or "none"
        if self.url:
            shown = f"{shown} {shown_url(self.url)}"
        reasons = "; ".join(f"not {source}: {why}" for source, why in self.refused)
        return f"{shown} ({reasons})" if reasons else shown

    @property
    def failure(self) -> str:
        """Return why tests that need HBase must fail; empty if they need not."""
        if self.must_be_docker and self.source != "docker":
            return f"{REQUIRE_DOCKER_VARIABLE}=1 asks for Docker; tests would run on: {self}"
        if self.must_have and self.source is None:
            return f"{REQUIRE_HBASE_VARIABLE}=1 asks for an HBase: {self}"
        return ""


def choose(
    environ: Mapping[str, str],
    *,
    docker: Callable[[], str],
    embedded: Callable[[], str],
) -> Choice:
    """Return the first kind of HBase that is available.

    Args:
        environ: The environment variables.
        docker: Says why Docker cannot be used, or nothing. Called only where no URL is given.
        embedded: The same for the embedded server; called only where Docker cannot be used.
    """
    must_have = environ.get(REQUIRE_HBASE_VARIABLE) == "1"
    must_be_docker = environ.get(REQUIRE_DOCKER_VARIABLE) == "1"
    source, refused = _first(environ, docker, embedded)
    return Choice(
        source,
        refused,
        url=environ.get(URL_VARIABLE, ""),
        must_have=must_have,
        must_be_docker=must_be_docker,
    )


def _first(
    environ: Mapping[str, str], docker: Callable[[], str], embedded: Callable[[], str]
) -> tuple[Source | None, tuple[tuple[Source, str], ...]]:
    if environ.get(URL_VARIABLE):
        return "url", ()
    refused: list[tuple[Source, str]] = [("url", f"{URL_VARIABLE} is not set")]
    if not (why := docker()):
        return "docker", tuple(refused)
    refused.append(("docker", why))
    if not (why := embedded()):
        return "embedded", tuple(refused)
    refused.append(("embedded", why))
    return None, tuple(refused)
