"""The Docker image of HBase: its name and its build.

The tag has a hash of everything in the image, so that tests never run on an outdated image. The
jars and this library's classes are made on this machine by `hbase_orm.server`. They are copied into
the image. The build itself downloads only Debian packages. It uses Docker's classic builder, which
every engine has.

    python -m hbase_orm.testing.image build     build the image, unless the engine has it
    python -m hbase_orm.testing.image tag       print the image's name and tag
    python -m hbase_orm.testing.image jars      only put the jars into the cache
"""

from __future__ import annotations

import hashlib
import io
import socket
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import urlsplit

from hbase_orm.errors import HBaseORMError, ServerError
from hbase_orm.server.jars import RuntimeJars, runtime_jars
from hbase_orm.server.java import choose_java
from hbase_orm.server.jvm import JVM_FLAGS

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY: Final = "hbase-orm/hbase"
"""The image's name. Each build tags the image with a hash of its inputs, and with `latest`."""

FIX: Final = "build it: `make image`, or `python -m hbase_orm.testing.image build`"
"""The advice if the image is missing."""

_SERVER_DIR = Path(__file__).parents[1] / "server"
_TAG_CHARACTERS = 12
_FILES = ("Dockerfile", "entrypoint.sh", "healthcheck.sh")
_DEFAULT_ENGINE = "unix:///var/run/docker.sock"
_ENGINE_FIX = "start one; in the work tree, as root: docker/engine.sh start"
_LOOPBACK_NAMES = ("127.0.0.1", "localhost")


def docker_dir() -> Path:
    """Return the folder of the Dockerfile: in the installed package, or in the source tree."""
    installed = Path(__file__).parent / "docker"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "docker"


def tag() -> str:
    """Return the image's name and tag; the tag is a hash of the image's inputs."""
    digest = hashlib.sha256(_jvm_options())
    for path in _inputs():
        # The name and a length keep the borders between files in the hash.
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return f"{REPOSITORY}:{digest.hexdigest()[:_TAG_CHARACTERS]}"


def _jvm_options() -> bytes:
    return "\n".join((*JVM_FLAGS, "")).encode()


def _inputs() -> Iterator[Path]:
    for name in _FILES:
        yield docker_dir() / name
    # HBase's jars follow from the pom, and ours from the sources.
    yield _SERVER_DIR / "pom.xml"
    yield from sorted(path for path in (_SERVER_DIR / "java").rglob("*") if path.is_file())


def engine() -> DockerClient:
    """Return a client of the engine that testcontainers uses; the caller must close it.

    Raises:
        ServerError: The engine does not answer.
    """
    # Both are optional, and slow to load.
    from docker.errors import DockerException  # noqa: PLC0415 - only needed here, and slow
    from testcontainers.core import docker_client  # noqa: PLC0415 - only needed here, and slow

    _require_socket(docker_client.get_docker_host() or _DEFAULT_ENGINE)
    try:
        client: DockerClient = docker_client.DockerClient().client
    except DockerException as error:
        raise ServerError(
            "the Docker engine does not answer", reason=str(error), fix=_ENGINE_FIX
        ) from error
    return client


def _require_socket(address: str) -> None:
    """Raise an error if the engine's Unix socket does not accept a connection.

    Docker's library would leak its own socket in this case.

    Raises:
        ServerError: The socket does not accept a connection.
    """
    place = urlsplit(address)
    if place.scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(place.path)
        except OSError as error:
            raise ServerError(
                "the Docker engine does not answer",
                socket=place.path,
                reason=error.strerror,
                fix=_ENGINE_FIX,
            ) from error


def is_local(client: DockerClient) -> bool:
    """Return whether the Docker engine runs on this machine.

    Only then can this process reach the ports that containers publish on 127.0.0.1.
    """
    address = urlsplit(client.api.base_url)
    return address.scheme.startswith(("http+", "unix")) or address.hostname in _LOOPBACK_NAMES


def is_built(client: DockerClient) -> bool:
    """Return whether the Docker engine has the image of this version."""
    from docker.errors import ImageNotFound  # noqa: PLC0415  # Docker's library is optional

    try:
        client.images.get(tag())
    except ImageNotFound:
        return False
    return True


def build(client: DockerClient, progress: Callable[[str], None]) -> str:
    """Build the image and return its name.

    Args:
        client: The engine.
        progress: A function that gets lines of progress.

    Raises:
        ServerError: The build failed, or Maven or a suitable JDK is missing.
    """
    from docker.errors import DockerException  # noqa: PLC0415  # optional, and slow to load

    name = tag()
    jars = runtime_jars(choose_java().java, lambda line: progress(f"{line}\n"))
    try:
        _send_build(client, name, jars, progress)
    except DockerException as error:
        raise ServerError("the image could not be built", reason=str(error)) from error
    client.images.get(name).tag(REPOSITORY, "latest")
    return name


def _send_build(
    client: DockerClient, name: str, jars: RuntimeJars, progress: Callable[[str], None]
) -> None:
    with tempfile.TemporaryFile() as context:
        _write_context(context, jars)
        context.seek(0)
        lines = client.api.build(
            fileobj=context, custom_context=True, tag=name, rm=True, forcerm=True, decode=True
        )
        for line in lines:
            if "error" in line:
                raise ServerError("the image could not be built", reason=line["error"].strip())
            progress(line.get("stream", ""))


def _write_context(file: IO[bytes], jars: RuntimeJars) -> None:
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in _FILES:
            tar.add(docker_dir() / name, name, filter=_same_for_all)
        options = tarfile.TarInfo("jvm.options")
        options.size = len(_jvm_options())
        tar.addfile(_same_for_all(options), io.BytesIO(_jvm_options()))
        tar.add(jars.server_jar, jars.server_jar.name, filter=_same_for_all)
        for jar in sorted(jars.lib.glob("*.jar")):
            tar.add(jar, f"lib/{jar.name}", filter=_same_for_all)


def _same_for_all(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Normalize a file of the build context, so that every machine builds the same image."""
    member.mode = 0o755 if member.name.endswith(".sh") else 0o644
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def main(arguments: list[str]) -> int:
    """Run one of the commands in the module's docstring; return the exit code."""
    command = _COMMANDS.get(" ".join(arguments))
    if command is None:
        _show(f"usage: python -m hbase_orm.testing.image {'|'.join(_COMMANDS)}\n", sys.stderr)
        return 2
    try:
        command()
    except HBaseORMError as error:
        _show(f"image: {error}\n", sys.stderr)
        return 1
    return 0


def _build_command() -> None:
    with closing(engine()) as client:
        if is_built(client):
            _show(f"image: {tag()} is here\n")
            return
        _show(f"image: building {tag()}\n")
        build(client, _show)


def _tag_command() -> None:
    _show(f"{tag()}\n")


def _jars_command() -> None:
    runtime_jars(choose_java().java, lambda line: _show(f"image: {line}\n"))


def _show(text: str, stream: IO[str] | None = None) -> None:
    print(text, end="", flush=True, file=stream)


_COMMANDS: Final[Mapping[str, Callable[[], None]]] = {
    "build": _build_command,
    "tag": _tag_command,
    "jars": _jars_command,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
