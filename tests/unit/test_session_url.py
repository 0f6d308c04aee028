"""Engine URLs: what they say, and each way to get one wrong."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import connect
from hbase_orm.errors import ConfigurationError
from hbase_orm.session.url import EngineOptions, parse_url


def test_a_url_without_ports_or_options_takes_the_defaults() -> None:
    assert parse_url("hbase://gateway") == EngineOptions(thrift1=(("gateway", 9090),))


def test_every_option_arrives() -> None:
    url = (
        "hbase://a:1,b/ns?thrift2=c,d:4&transport=framed&protocol=compact"
        "&timeout_s=2.5&pool=3&retries=0"
    )

    assert parse_url(url) == EngineOptions(
        thrift1=(("a", 1), ("b", 9090)),
        thrift2=(("c", 9091), ("d", 4)),
        namespace="ns",
        transport="framed",
        protocol="compact",
        timeout_s=2.5,
        pool=3,
        retries=0,
    )


def test_addresses_of_ipv6_stand_in_brackets() -> None:
    assert parse_url("hbase://[::1]:1,[::2]").thrift1 == (("::1", 1), ("::2", 9090))


def test_memory_takes_a_namespace() -> None:
    assert parse_url("memory:///ns") == EngineOptions("memory", namespace="ns")


WRONG: dict[str, dict[str, Any]] = {
    "http://a": {"scheme": "http"},
    "a:9090": {"scheme": "a"},
    "": {"scheme": ""},
    "hbase://": {},
    "hbase:///ns": {},
    "hbase://[::1": {},
    "hbase://a:": {"option": "URL"},
    "hbase://a:0": {"option": "URL", "port": "0"},
    "hbase://a:65536": {"option": "URL", "port": "65536"},
    "hbase://a:x": {"option": "URL", "port": "x"},
    "hbase://a,": {"option": "URL"},
    "hbase://:9090": {"option": "URL"},
    "hbase://a/b/c": {"namespace": "b/c"},
    "hbase://a/b-c": {"namespace": "b-c"},
    "hbase://a?thrift2=": {"option": "thrift2"},
    "hbase://a?thrift2=b:x": {"option": "thrift2", "port": "x"},
    "hbase://a?tls=1": {"option": "tls"},
    "hbase://a?timestamps=mine": {"option": "timestamps"},
    "hbase://a?readonly=1": {"option": "readonly"},
    "hbase://a?bogus=1": {"option": "bogus"},
    "hbase://a?Pool=1": {"option": "Pool"},
    "hbase://a?pool": {"option": "pool"},
    "hbase://a?pool=1&pool=2": {"option": "pool"},
    "hbase://a?pool=0": {"option": "pool"},
    "hbase://a?pool=1.5": {"option": "pool"},
    "hbase://a?retries=-1": {"option": "retries"},
    "hbase://a?timeout_s=0": {"option": "timeout_s"},
    "hbase://a?timeout_s=nan": {"option": "timeout_s"},
    "hbase://a?timeout_s=inf": {"option": "timeout_s"},
    "hbase://a?timeout_s=soon": {"option": "timeout_s"},
    "hbase://a?transport=http": {"option": "transport"},
    "hbase://a?protocol=json": {"option": "protocol"},
    "memory://a": {"host": "a"},
    "memory://?bogus=1": {"option": "bogus"},
    "memory://?pool=2": {"option": "pool"},
    "memory:///ns#x": {"fragment": "x"},
    "hbase://a?pool=1#x": {"fragment": "x"},
    "hbase://a#": {"fragment": ""},
}


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_url_names_what_is_wrong_and_how_to_mend_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(url)

    shown = {name: caught.value.details.get(name) for name in WRONG[url]}
    assert shown == WRONG[url]
    assert caught.value.fix


@pytest.mark.parametrize("option", ["tls", "readonly"])
def test_an_option_of_a_later_version_is_told_from_an_unknown_one(option: str) -> None:
    with pytest.raises(ConfigurationError, match="does not have the URL option yet"):
        parse_url(f"hbase://a?{option}=1")


def test_something_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no text"):
        connect(9090)  # type: ignore[arg-type]  # what is tested


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_url("hbase://user:geheim@127.0.0.1:9090")

    assert "geheim" not in str(caught.value)
