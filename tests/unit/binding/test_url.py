"""Engine URLs: what they say, and each way to get one wrong."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from hbase_orm import Family, Key, Model, connect, key
from hbase_orm.binding.url import EngineOptions, parse_url, shown_url
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from hbase_orm.errors import ConfigurationError
from hbase_orm.testing.sources import URL_VARIABLE, choose


class Item(Model, table="items"):
    """A model that commands name."""

    d = Family()
    id: Key[str] = key()


def test_a_url_without_ports_or_options_takes_the_defaults() -> None:
    assert parse_url("hbase://gateway") == EngineOptions(thrift1=(("gateway", 9090),))


def test_every_option_arrives() -> None:
    url = (
        "hbase://a:1,b/ns?thrift2=c,d:4&transport=framed&protocol=compact"
        "&timeout_s=2.5&pool=3&retries=0&on_corrupt=skip"
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
        on_corrupt="skip",
    )


def test_addresses_of_ipv6_stand_in_brackets() -> None:
    assert parse_url("hbase://[::1]:1,[::2]").thrift1 == (("::1", 1), ("::2", 9090))


def test_memory_takes_a_namespace() -> None:
    assert parse_url("memory:///ns") == EngineOptions("memory", namespace="ns")


def test_memory_takes_a_rule_for_corrupt_rows() -> None:
    assert parse_url("memory://").on_corrupt == "raise"
    assert parse_url("memory://?on_corrupt=skip").on_corrupt == "skip"


WRONG: dict[str, dict[str, Any]] = {
    "http://a": {"scheme": "http"},
    "a:9090": {"scheme": ""},
    "": {"scheme": ""},
    "hbase://": {},
    "hbase:///ns": {},
    "hbase://[::1": {},
    "hbase://a:": {"option": "URL"},
    "hbase://a:0": {"option": "URL", "address": 1},
    "hbase://a:65536": {"option": "URL", "address": 1},
    "hbase://a,b:x": {"option": "URL", "address": 2},
    "hbase://a,": {"option": "URL"},
    "hbase://:9090": {"option": "URL"},
    "hbase://::1": {"option": "URL", "address": 1},
    "hbase://a,fe80::1:9090": {"option": "URL", "address": 2},
    "hbase://a b:9090": {"option": "URL", "address": 1},
    "hbase:// a": {"option": "URL", "address": 1},
    "hbase://a;b:9090": {"option": "URL", "address": 1},
    "hbase://[a]b:9090": {},
    "hbase://a?thrift2=::1": {"option": "thrift2", "address": 1},
    "hbase://a?thrift2=b%20c": {"option": "thrift2", "address": 1},
    "hbase://a?thrift2=[b": {"option": "thrift2", "address": 1},
    "hbase://a/b/c": {},
    "hbase://a/b-c": {},
    "hbase://a?thrift2=": {"option": "thrift2"},
    "hbase://a?thrift2=b:x": {"option": "thrift2", "address": 1},
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
    "hbase://a?timeout_s=nan": {"option": "timeout_s", "least": 0.001, "most": 86400.0},
    "hbase://a?timeout_s=inf": {"option": "timeout_s"},
    "hbase://a?timeout_s=soon": {"option": "timeout_s"},
    "hbase://a?transport=http": {"option": "transport"},
    "hbase://a?protocol=json": {"option": "protocol"},
    "memory://a:80": {},
    "memory://?bogus=1": {"option": "bogus"},
    "memory://?pool=2": {"option": "pool"},
    "memory:///ns#x": {},
    "hbase://a?pool=1#x": {},
    "hbase://a#": {},
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
    with pytest.raises(
        ConfigurationError, match="this version of hbase_orm does not support the URL option"
    ):
        parse_url(f"hbase://a?{option}=1")


def test_something_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the URL is not a str"):
        connect(9090)  # type: ignore[arg-type]  # what is tested


SECRET = "geheim"

WITH_SECRET = (
    "hbase://user:geheim@127.0.0.1:9090",
    "hbase://geheim@127.0.0.1:9090",
    "hbase://user:a#geheim@127.0.0.1:9090",
    "hbase://user:geheim#a@127.0.0.1:9090",
    "hbase://user:a?geheim@127.0.0.1:9090",
    "hbase://user:geheim?a@127.0.0.1:9090",
    "hbase://user:a/geheim@127.0.0.1:9090",
    "hbase://user:geheim/a@127.0.0.1:9090",
    "hbase://user:[geheim@127.0.0.1:9090",
    "hbase://user:a&geheim=1@127.0.0.1:9090",
    "hbase://user:geheim%40127.0.0.1",
    "hbase://user:geheim",
    "hbase://user:geheim,b",
    "hbase://a:1,user:geheim",
    "hbase://[geheim",
    "hbase://\u2100geheim",
    "hbase://a/user:geheim",
    "hbase://a/ge-geheim",
    "hbase://a?user:geheim",
    "hbase://a?geheim-1",
    "hbase://a?user:geheim=1",
    "hbase://a?password=geheim",
    "hbase://a?thrift2=user:geheim@h",
    "hbase://a?thrift2=user:geheim",
    "hbase://a?thrift2=geheim:9o90",
    "hbase://a?thrift2=,geheim",
    "hbase://a?pool=geheim",
    "hbase://a?timeout_s=geheim",
    "hbase://a?lease_s=geheim",
    "hbase://a?transport=geheim",
    "hbase://a?timestamps=geheim",
    "hbase://a?on_corrupt=geheim",
    "hbase://a?tls=geheim",
    "hbase://a?pool=1&pool=geheim",
    "hbase://a#geheim",
    "hbase:geheim",
    "user:geheim@127.0.0.1",
    "geheim:9090",
    "http://user:geheim@127.0.0.1",
    "memory://geheim:80",
    "memory:///ge-geheim",
    "memory://user:geheim@a",
    "memory://?pool=geheim",
    "memory://#geheim",
)


@pytest.mark.parametrize("url", WITH_SECRET)
def test_no_error_shows_a_password_of_a_url(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(url)
    error = caught.value
    shown = [str(error), repr(error), repr(error.details), shown_url(url)]
    shown += traceback.format_exception(error)[-1:]
    shown += [
        str(each) for each in (error.__cause__, error.__context__) if not error.__suppress_context__
    ]
    choice = choose({URL_VARIABLE: url}, docker=lambda: "", embedded=lambda: "")
    shown += [str(choice), repr(choice)]
    for options in ([], ["--json"], ["--debug"]):
        assert (
            run(["--url", url, *options, "tables", "create", f"{__name__}:Item"]) == ExitCode.USAGE
        )
    shown += capsys.readouterr()
    assert not [each for each in shown if SECRET in each]


def test_a_url_that_is_bytes_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(b"hbase://user:geheim@a")  # type: ignore[arg-type]  # what is tested
    assert SECRET not in str(caught.value)


RANGES: dict[str, tuple[float, float]] = {
    "timeout_s": (0.001, 86_400),
    "lease_s": (0.001, 30),
    "pool": (1, 10_000),
    "retries": (0, 1_000),
}


@pytest.mark.parametrize("option", RANGES)
def test_the_ends_of_an_options_range_are_taken_and_what_lies_beyond_is_refused(
    option: str,
) -> None:
    least, most = RANGES[option]
    for value in (least, most):
        assert getattr(parse_url(f"hbase://a?{option}={value:g}"), option) == value
    wrong = [
        *("1e308", "1e309", "-1", "-1e308", "nan", "inf", "-inf", "", " ", "9" * 5000, "1e-300"),
        *(f"{most + 1:g}", "0x10", "\u0663\u0663\u0663\u0663\u0663\u0663", "1_0_0_0_0_0_0"),
    ]
    for text in wrong:
        with pytest.raises(ConfigurationError) as caught:
            connect(f"hbase://a?{option}={text}")
        assert caught.value.option == option
        assert (caught.value.least, caught.value.most) == (least, most)


@pytest.mark.parametrize("port", ["9" * 5000, "\u0661", "+1", "1_0", "-1", "0", "65536", "1e3"])
def test_a_port_is_a_number_in_ascii_digits(port: str) -> None:
    for url in (f"hbase://a:{port}", f"hbase://a?thrift2=b:{port}"):
        with pytest.raises(
            ConfigurationError, match="the URL's port is not a number from 1 to 65535"
        ):
            parse_url(url)
