"""A pytest plugin: Hypothesis's profiles, the seeds of a run, and the command that repeats it.

pytest-randomly has a seed, from which the order of the tests and the module `random` follow.
Hypothesis gets the same number, unless the command line gives it another one: so one number in the
header of a run, with CI or without, is enough to draw the same values again.
"""

from __future__ import annotations

import os
import random
import shlex
import sys
from pathlib import Path

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings

PROFILE_VARIABLE = "HYPOTHESIS_PROFILE"

# Hypothesis loads a profile of fixed examples where a variable speaks of CI: this one does not build
# on it. Deadlines and the check of slowness only measure how busy the machine is.
_USUAL = settings(
    settings.get_profile("default"),
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("usual", _USUAL)
settings.register_profile("soak", _USUAL, max_examples=2_000)
settings.load_profile(os.environ.get(PROFILE_VARIABLE, "usual"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give Hypothesis its seed, once pytest-randomly knows its own one."""
    options = config.option
    if getattr(options, "hypothesis_seed", None) is None:
        own = getattr(options, "randomly_seed", None)  # no number where the plugin is off
        options.hypothesis_seed = own if isinstance(own, int) else random.Random().getrandbits(32)
    # The workers of xdist get a copy of the options.
    setattr(hypothesis.core, "global_force_seed", _as_hypothesis_reads(options.hypothesis_seed))  # noqa: B010 - typed None


def _as_hypothesis_reads(seed: object) -> object:
    try:
        return int(str(seed))
    except ValueError:
        return seed


def _seeds(config: pytest.Config) -> dict[str, object]:
    found = {"--randomly-seed": getattr(config.option, "randomly_seed", None)}
    return {
        **{name: seed for name, seed in found.items() if isinstance(seed, int)},
        "--hypothesis-seed": config.option.hypothesis_seed,
    }


def _command(config: pytest.Config) -> str:
    """Return what to type into a shell to repeat the run."""
    program, here = Path(sys.executable), config.invocation_params.dir
    if program.is_relative_to(here):
        program = program.relative_to(here)
    profile = os.environ.get(PROFILE_VARIABLE)
    words = [] if profile is None else [f"{PROFILE_VARIABLE}={profile}"]
    words += [str(program), "-m", "pytest", *map(str, config.invocation_params.args)]
    words += [f"{name}={seed}" for name, seed in _seeds(config).items()]
    return shlex.join(words)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Show the seeds, and how to repeat the run."""
    seeds = " ".join(f"{name}={seed}" for name, seed in _seeds(config).items())
    return [f"seeds: {seeds}", f"repeat this run: {_command(config)}"]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show how to repeat a run that failed, below its failures, where `-q` leaves out the header."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"repeat this run: {_command(config)}")
