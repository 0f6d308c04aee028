"""A real HBase on this machine: launcher, Java sources and the list of jars.

The launcher starts a standalone HBase: ZooKeeper, HMaster, RegionServers, Thrift1 and Thrift2. It
binds to loopback only, and is ready when `start` returns. It keeps every acknowledged write after a
stop or kill. This package does not depend on models or on a Thrift library.

The parts are used as follows, also by the Docker image:

- `runtime_jars(choose_java().java, print)` gives the folder of HBase's jars (`.lib`) and the jar
  with our classes (`.server_jar`), both from the user's cache. Copy them, do not link them.
- Run `java -Xmx512m *JVM_FLAGS -cp hbase-orm-server.jar:lib/* org.hbaseorm.EmbeddedHBase ROLE …`.
  `JVM_FLAGS` and `MAIN_CLASS` are in `hbase_orm.server.jvm`. Our jar goes first: it holds
  log4j.properties (`-Dhbaseorm.log.level=INFO` for more log lines).
- No hbase-site.xml is needed. If one is on the class path, it is read. Our settings override it,
  and `--set` overrides both.
- Role `server` has these options, shown with their defaults:
    - `--data DIR`: required; the folder for HBase's files, the lock and `jvm.json`
    - `--thrift1 9090`, `--thrift2 9091`: the ports of the gateways; 0 is not allowed
    - `--bind 127.0.0.1`: the address; `0.0.0.0` in an image
    - `--hostname localhost`: the name under which other containers reach HMaster and RegionServer;
      for a gateway in another container it must be the container's name
    - `--zookeeper 0`, `--admin 0`: the ports; the admin port is always on loopback
    - `--region-servers 1`, `--thrift in-process|separate`
    - `--health FILE`: touched every 5 s while all Thrift ports of the process answer
    - `--state FILE`: the file that is written instead of DIR/jvm.json
    - `--parent PID`: end when no longer a child of PID
    - `--set name=value`: a setting of HBase; may be repeated
- Role `gateway`: `--quorum HOST:PORT` (ZooKeeper), `--thrift1 PORT` and/or `--thrift2 PORT`,
  `--bind`, `--health FILE`, `--parent`, `--set`.
- SIGTERM ends both roles cleanly (exit code 0). A dead HMaster or RegionServer ends the process
  with exit code 3, wrong options with 2. Lines `HBASE-ORM <seconds> <phase>` on standard output
  report the start-up; `ready` is the last. `HBASE-ORM died <why>` gives the reason why it ended.
- Admin from inside a container: `java -cp hbase-orm-server.jar org.hbaseorm.AdminClient
  DIR/jvm.json '{"command": "regions", "table": "t"}'` prints one line of JSON. In Python use
  `ServerAdmin(send)`: `send(command)` passes `json.dumps(command)` and returns that line.
"""

from hbase_orm.server.admin import DelayedKind, Region, ServerAdmin
from hbase_orm.server.jars import RuntimeJars, runtime_jars
from hbase_orm.server.java import Java, JavaChoice, Refused, choose_java
from hbase_orm.server.launcher import EmbeddedServer
from hbase_orm.server.options import (
    DELAY_OBSERVER_SETTINGS,
    ServerOptions,
    default_cache_dir,
    default_data_dir,
)

__all__ = [
    "DELAY_OBSERVER_SETTINGS",
    "DelayedKind",
    "EmbeddedServer",
    "Java",
    "JavaChoice",
    "Refused",
    "Region",
    "RuntimeJars",
    "ServerAdmin",
    "ServerOptions",
    "choose_java",
    "default_cache_dir",
    "default_data_dir",
    "runtime_jars",
]
