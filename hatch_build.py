"""Builds the compiled reader of rows (`hbase_orm/compiled/_cells.pyx`) where a compiler is.

It also makes the description of the package from README.md.

Without a compiler, or with `HBASE_ORM_PURE=1`, the package is built without it, and reads rows with
Python: `hbase-orm doctor` says which reader is in use.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from zlib import crc32

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

MODULE = "hbase_orm.compiled._cells"
SOURCE = Path("hbase_orm", "compiled", "_cells.pyx")
PURE = "HBASE_ORM_PURE"
"""If this environment variable is 1, nothing is compiled."""

REQUIRED = "HBASE_ORM_REQUIRE_COMPILED"
"""If this environment variable is 1, a build without the compiled reader fails: for wheels."""


class CompiledReader(BuildHookInterface):  # type: ignore[type-arg]  # of any builder
    """Adds the compiled module to a wheel, or to the source tree of an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; without success nothing is added."""
        if self.target_name != "wheel":
            return
        if os.environ.get(PURE) == "1":
            if os.environ.get(REQUIRED) == "1":
                message = f"{PURE} and {REQUIRED} contradict each other: unset one of them"
                raise ValueError(message)
            return
        try:
            built = compiled(Path(self.root))
        except (Exception, SystemExit) as error:
            if os.environ.get(REQUIRED) == "1":
                raise
            self.app.display_warning(f"the reader of rows is not compiled: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":  # there it is imported from the source tree
            build_data["force_include"][str(built)] = str(built.relative_to(self.root))

    def clean(self, versions: list[str]) -> None:  # noqa: ARG002  # the signature of hatchling
        """Delete the compiled module."""
        for built in (Path(self.root) / SOURCE).parent.glob("_cells.*.so"):
            built.unlink()


class InstalledReadme(MetadataHookInterface):
    """Makes the description of the package: README.md, whose pages are not installed."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = without_links((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def without_links(text: str) -> str:
    """Return a text whose links to files of the repository are their paths.

    Such a link leads nowhere in an index of packages. Links to addresses and headings stay.
    """
    path = r"(?!#)(?![a-z]+:)([^)\s]+)"
    return re.sub(rf"\[([^]]+)\]\({path}\)", r"\1 (`\2`)", text)


def compiled(root: Path, *flags: str) -> Path:
    """Compile the module into the source tree; return its path.

    Args:
        root: The root of the source tree.
        flags: Further flags of the compiler and the linker.
    """
    from Cython.Build import cythonize  # noqa: PLC0415 -- only needed here, and slow
    from setuptools import Distribution, Extension  # noqa: PLC0415 -- as above
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415 -- as above

    with tempfile.TemporaryDirectory() as folder:
        # The package uses the module only with the source that it was built from.
        checksum = f"{crc32((root / SOURCE).read_bytes())}UL"
        extension = Extension(
            MODULE,
            [str(root / SOURCE)],
            define_macros=[("HBASE_ORM_SOURCE", checksum)],
            extra_compile_args=["-O2", "-g0", *flags],
            extra_link_args=[*flags],
        )
        extensions = cythonize([extension], build_dir=folder, quiet=True, force=True)
        command = build_ext(Distribution({"name": "hbase_orm", "ext_modules": extensions}))
        command.build_lib, command.build_temp = f"{folder}/lib", f"{folder}/temp"
        command.ensure_finalized()
        command.run()
        made = Path(command.get_ext_fullpath(MODULE))
        # An old module may be in use: it is replaced, and not written over.
        target = root / SOURCE.with_name(made.name)
        shutil.copyfile(made, target.with_suffix(".new"))
        target.with_suffix(".new").replace(target)
    return target
