"""The command lines of the server's JVMs."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.server.jars import RuntimeJars
from hbase_orm.server.java import Java

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
"""Options of every JVM that runs our classes, the Docker image's too."""

QUICK_START_FLAGS: tuple[str, ...] = ("-XX:TieredStopAtLevel=1",)
"""For short-lived servers: the second compiler would only pay off after minutes."""


def jvm_command(
    java: Java,
    jars: RuntimeJars,
    arguments: Sequence[str],
    *,
    heap: str,
    is_short_lived: bool,
) -> list[str]:
    """Return the command that runs our main class with these arguments."""
    quick = QUICK_START_FLAGS if is_short_lived else ()
    return [
        str(java.java),
        f"-Xmx{heap}",
        *quick,
        *JVM_FLAGS,
        "-cp",
        jars.class_path,
        MAIN_CLASS,
        *arguments,
    ]
