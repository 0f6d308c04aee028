"""The command lines of the server's JVMs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hbase_orm.server.jars import RuntimeJars
from hbase_orm.server.java import Java
from hbase_orm.server.options import GATEWAYS, GatewayName, ServerOptions
from hbase_orm.server.ports import LOOPBACK

MAIN_CLASS = "org.hbaseorm.EmbeddedHBase"
ADMIN_CLIENT_CLASS = "org.hbaseorm.AdminClient"
GATEWAY_HEAP = "192m"

_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "jdk.internal.misc",
    "jdk.internal.ref",
    "sun.nio.ch",
)

JVM_FLAGS: tuple[str, ...] = (
    "-XX:+UseSerialGC",  # one small heap on few cores: the parallel collectors only cost threads
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",  # no files in the temporary folder
    "-Djava.net.preferIPv4Stack=true",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
)
"""The options of every JVM that runs this library's classes, also in the Docker image."""


QUICK_START_FLAGS: tuple[str, ...] = ("-XX:TieredStopAtLevel=1",)
"""Further options of short-lived JVMs. With them a start takes a third less processor time.

They turn off the JVM's second compiler, which pays off only for long loads. To write 100,000 rows
took 7 s of processor time without that compiler and 10.5 s with it. To write 400,000 rows took 31 s
without it and 21.5 s with it.
"""


def hbase_command(
    java: Java,
    jars: RuntimeJars,
    options: ServerOptions,
    *,
    ports: Mapping[GatewayName, int],
    data_dir: Path,
    nonce: str,
) -> list[str]:
    """Return the command that starts HBase, with its gateways unless they are separate."""
    arguments = ["server", "--data", str(data_dir), "--nonce", nonce]
    arguments += ["--region-servers", str(options.region_servers), "--thrift", options.thrift]
    for name in GATEWAYS:
        arguments += [f"--{name}", str(ports[name])]
    if options.ephemeral and options.data_dir is None:
        arguments += ["--delete-data", "true"]
    quick = QUICK_START_FLAGS if options.ephemeral else ()
    flags = (f"-Xmx{options.heap}", *quick)
    return _command(java, jars, flags, arguments + _shared_arguments(options))


def gateway_command(
    java: Java,
    jars: RuntimeJars,
    options: ServerOptions,
    *,
    name: GatewayName,
    port: int,
    zookeeper_port: int,
) -> list[str]:
    """Return the command that starts one separate gateway."""
    arguments = ["gateway", "--quorum", f"{LOOPBACK}:{zookeeper_port}", f"--{name}", str(port)]
    flags = (f"-Xmx{GATEWAY_HEAP}", *QUICK_START_FLAGS)
    return _command(java, jars, flags, arguments + _shared_arguments(options))


def _shared_arguments(options: ServerOptions) -> list[str]:
    arguments = ["--parent", str(os.getpid())] if options.watches_parent else []
    for name, value in options.settings.items():
        arguments += ["--set", f"{name}={value}"]
    return arguments


def _command(
    java: Java, jars: RuntimeJars, flags: tuple[str, ...], arguments: list[str]
) -> list[str]:
    program = [str(java.java), *flags, *JVM_FLAGS, "-cp", jars.class_path, MAIN_CLASS]
    return program + arguments
