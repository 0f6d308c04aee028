"""Chooses the HBase for the tests, once, by quick checks before any test runs.

Nothing is started here. The order is: the server that HBASE_ORM_TEST_URL names, a container of the
image, the embedded server. The first available kind is chosen, and the choice has the reasons why
the kinds before it are not available.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hbase_orm.binding.url import shown_url

Source = Literal["url", "docker", "embedded"]
"""The kinds of HBase that tests can run on."""

URL_VARIABLE = "HBASE_ORM_TEST_URL"
"""The variable with the URL of a running HBase, where tests create and drop their own tables."""

REQUIRE_HBASE_VARIABLE = "HBASE_ORM_REQUIRE_HBASE"
"""If this variable is 1 and no HBase is available, tests on HBase fail instead of being skipped."""

REQUIRE_DOCKER_VARIABLE = "HBASE_ORM_REQUIRE_DOCKER"
"""If this variable is 1, tests on HBase fail if the HBase is not in Docker."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The HBase for the tests, and the reasons why preferred kinds are not available.

    Attributes:
        source: The kind of HBase; None if none is available.
        refused: The kinds that are not available, each with the reason.
        url: The URL, only for the source `url`.
        must_have: Whether tests that need an HBase fail if there is none, instead of being
            skipped.
        must_be_docker: Whether tests that need an HBase fail unless it is in Docker.
    """

    source: Source | None
    refused: tuple[tuple[Source, str], ...]
    url: str = field(default="", repr=False)
    must_have: bool = False
    must_be_docker: bool = False

    def __str__(self) -> str:
        """Return the kind of HBase, and why other kinds were refused, in one line for display."""
        shown: str = self.source or "none"
        if self.url:
            shown = f"{shown} {shown_url(self.url)}"
        reasons = "; ".join(f"not {source}: {why}" for source, why in self.refused)
        return f"{shown} ({reasons})" if reasons else shown

    @property
    def failure(self) -> str:
        """Return why tests that need HBase must fail; empty if they must not."""
        if self.must_be_docker and self.source != "docker":
            return f"{REQUIRE_DOCKER_VARIABLE}=1 asks for Docker; tests would run on: {self}"
        if self.must_have and self.source is None:
            return f"{REQUIRE_HBASE_VARIABLE}=1 asks for an HBase: {self}"
        return ""


def is_in_memory(environ: Mapping[str, str]) -> bool:
    """Return whether tests that can run on tables in memory do so: `memory://` in the variable."""
    return environ.get(URL_VARIABLE, "").startswith("memory:")


def choose(
    environ: Mapping[str, str],
    *,
    docker: Callable[[], str],
    embedded: Callable[[], str],
) -> Choice:
    """Return the first kind of HBase that is available.

    Args:
        environ: The environment variables.
        docker: A function that returns why Docker cannot be used, or empty text if Docker can be
            used. It is called only if no URL is given.
        embedded: A function that returns why the embedded server cannot be used, or empty text if
            the server can be used. It is called only if Docker cannot be used.
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
    if is_in_memory(environ):
        return None, (("url", f"{URL_VARIABLE} names tables in memory"),)
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
