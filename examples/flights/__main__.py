"""The demo's command line: `python -m examples.flights [--url URL] [--sample N] [--reset]`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

from examples.flights.data import FlightData, find_data
from hbase_orm.errors import HBaseORMError

_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130


def main() -> int:
    """Run the demo; return the exit code. An error is one line on standard error."""
    arguments = _arguments()
    folder = find_data()
    if folder is None or find_spec("rich") is None:
        return _fail("the demo's packages are not installed: pip install 'hbase-orm[demo]'", _USAGE)
    # Only now: these modules need the packages.
    from examples.flights.demo import run  # noqa: PLC0415 - only needed here, and slow
    from examples.flights.show import WrongAnswerError  # noqa: PLC0415 - only needed here, and slow

    try:
        run(FlightData(folder, arguments.sample), arguments.url, reset=arguments.reset)
    except KeyboardInterrupt:
        return _fail("interrupted; another run goes on from here", _INTERRUPTED)
    except WrongAnswerError as error:
        return _fail(f"WRONG ANSWER: {error}", _FAILED)
    except HBaseORMError as error:
        return _fail(f"error: {error}", _FAILED)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.flights",
        description="Load 336,776 real flights into a real HBase, query them, check every answer.",
    )
    parser.add_argument(
        "--url",
        default=os.environ.get("HBASE_ORM_URL") or None,
        help="the HBase; else HBASE_ORM_URL, else an embedded server is started",
    )
    parser.add_argument(
        "--sample", type=_positive, metavar="N", help="load only the first N flights"
    )
    parser.add_argument("--reset", action="store_true", help="drop the demo's tables first")
    return parser.parse_args()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of flights")
    return int(text)


def _fail(text: str, code: int) -> int:
    print(" ".join(text.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
