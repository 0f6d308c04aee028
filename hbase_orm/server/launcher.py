"""The embedded HBase: starts, stops, kills and locates a server by its data directory.

The steps of `start`: JDK → jars → data folder and ports → HBase's JVM → ready. The server is ready
when each gateway answers, on a port on which a process of this server listens.
"""

from __future__ import annotations

import secrets
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

from hbase_orm.errors import PortInUseError, ServerError, ServerNotRunningError
from hbase_orm.server.admin import ServerAdmin, admin_of
from hbase_orm.server.disk import require_space, writing_to
from hbase_orm.server.jars import RuntimeJars, runtime_jars
from hbase_orm.server.java import Java, chosen_java
from hbase_orm.server.jvm import gateway_command, hbase_command
from hbase_orm.server.options import GATEWAYS, GatewayName, ServerOptions, default_data_dir
from hbase_orm.server.ports import LOOPBACK, free_ports, listens, require_free
from hbase_orm.server.probe import WireFormat, answers
from hbase_orm.server.processes import ProcessId, spawn
from hbase_orm.server.startup import StartUp, death_of
from hbase_orm.server.state import DataFolder, JvmState, ServerState

Progress = Callable[[str], None]

_HBASE = "hbase"
_START_TIMEOUT_S = 300.0
_STOP_TIMEOUT_S = 90.0  # flushes every memstore
_GATEWAY_STOP_TIMEOUT_S = 15.0
_NEEDED_BYTES = 200_000_000  # logs of a small session; less means trouble soon
_PORT_ATTEMPTS = 3
_PORT_OPTIONS: dict[GatewayName, str] = {"thrift1": "--port", "thrift2": "--thrift2-port"}


def _silent(_line: str) -> None:
    """Do nothing: the default progress function."""


class EmbeddedServer:
    """One HBase on this machine, with Thrift1 and Thrift2, reachable on loopback only.

    Use it as a context manager, or call `start` and `stop`. Ports chosen at the first start are
    kept after `kill` and `start`.
    """

    def __init__(self, options: ServerOptions | None = None) -> None:
        """Prepare a server, without starting or writing anything."""
        self._options = options or ServerOptions()
        self._ports: dict[GatewayName, int] = {}
        self._state: ServerState | None = None
        self._jvm: JvmState | None = None
        self._runtime: tuple[Java, RuntimeJars] | None = None
        self._folder = self._choose_folder()

    def _choose_folder(self) -> DataFolder | None:
        if self._options.data_dir is not None:
            return DataFolder(self._options.data_dir.expanduser().absolute())
        return None if self._options.ephemeral else DataFolder(default_data_dir())

    @classmethod
    def running(cls, data_dir: Path) -> EmbeddedServer | None:
        """Return the running server of a data directory, whoever started it; None if none runs."""
        server = cls.recorded(data_dir)
        return server if server is not None and server.is_running() else None

    @classmethod
    def recorded(cls, data_dir: Path) -> EmbeddedServer | None:
        """Return the server that was started with this data directory and not stopped, or None.

        The server may have died. `processes` then has its remaining processes; `stop` ends them.
        """
        folder = DataFolder(data_dir.expanduser().absolute())
        state = folder.read()
        if state is None:
            return None
        server = cls(ServerOptions.read_back(state.options, folder.path))
        server._state, server._jvm = state, folder.read_jvm(state.nonce)
        server._ports = {name: state.ports[name] for name in GATEWAYS}
        return server

    # --- what it is ---------------------------------------------------------------------------

    @property
    def data_dir(self) -> Path:
        """The folder that holds everything the server writes.

        Raises:
            ServerNotRunningError: The server is ephemeral and was not started yet.
        """
        if self._folder is None:
            raise ServerNotRunningError("the server was not started yet", fix="call start()")
        return self._folder.path

    @property
    def options(self) -> ServerOptions:
        """The options of the server."""
        return self._options

    @property
    def log(self) -> Path:
        """The log of HBase's JVM."""
        return DataFolder(self.data_dir).log

    @property
    def ports(self) -> dict[GatewayName, int]:
        """The ports of the gateways by name; empty before the first start."""
        return dict(self._ports)

    @property
    def url(self) -> str:
        """The URL for `hbase_orm.connect`.

        Raises:
            ServerNotRunningError: The server was never started, so its ports are not chosen.
        """
        if not self._ports:
            raise ServerNotRunningError("the server was not started yet", fix="call start()")
        wire = "&transport=framed" if self._options.is_framed else ""
        wire += "&protocol=compact" if self._options.is_compact else ""
        first, second = (f"{LOOPBACK}:{self._ports[name]}" for name in GATEWAYS)
        return f"hbase://{first}?thrift2={second}{wire}"

    @property
    def admin(self) -> ServerAdmin:
        """The admin of the server, for operations that Thrift does not support.

        Raises:
            ServerNotRunningError: The server is not running or not ready.
        """
        self._require_running()
        if self._jvm is None:
            raise ServerNotRunningError("the server is not ready yet", fix="wait for start()")
        return admin_of(self._jvm)

    def is_running(self) -> bool:
        """Return whether HBase's process is alive."""
        return self._state is not None and self._state.processes[_HBASE].is_alive()

    def death(self) -> ServerError | None:
        """Return an error with the reason why the server died; None if it runs or was stopped."""
        has_died = self._state is not None and not self.is_running()
        return death_of(self.log, self._options.heap) if has_died else None

    def answering(self) -> dict[GatewayName, bool]:
        """Return whether each gateway answers a call now, by the gateway's name."""
        wire = WireFormat(self._options.is_framed, self._options.is_compact)
        return {name: answers(name, port, wire) for name, port in self._ports.items()}

    def processes(self) -> dict[str, int]:
        """Return the ids of the server's running processes, by name."""
        running = self._state.processes if self._state else {}
        return {name: one.pid for name, one in running.items() if one.is_alive()}

    # --- start --------------------------------------------------------------------------------

    def start(self, progress: Progress = _silent) -> Self:
        """Start the server and wait until both gateways answer calls.

        Data of an earlier run is kept, unless the server is ephemeral and was stopped.

        Args:
            progress: A function that is called with a line for each step.

        Raises:
            JavaNotFoundError: No Java was found.
            JavaUnsuitableError: No Java is suitable.
            MavenNotFoundError: Maven is missing or could not resolve the jars.
            PortInUseError: Another process uses a port.
            DiskFullError: There is not enough disk space.
            ServerDiedError: The process ended during the start.
            ServerError: A server runs with this data directory, the directory holds files of
                another program, or the server was not ready in time.
        """
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            try:
                return self._start(progress)
            except PortInUseError:
                # Another process took a free port before the JVM did: choose again.
                if attempt == _PORT_ATTEMPTS or self._options.port or self._options.thrift2_port:
                    raise
                self._ports = {}
        raise AssertionError("the loop returns or raises")

    def _start(self, progress: Progress) -> Self:
        self._replace_dead(progress)
        java, jars = self._find_runtime(progress)
        folder = self._claim_folder()
        self._choose_ports()
        progress(f"largest heap: {self._options.heap}")
        nonce = secrets.token_hex(16)
        command = hbase_command(
            java, jars, self._options, ports=self._ports, data_dir=folder.path, nonce=nonce
        )
        try:
            hbase = self._spawn(command, folder, folder.log)
            self._remember(
                ServerState({_HBASE: hbase}, dict(self._ports), nonce, self._options.recorded())
            )
            StartUp(hbase, folder.log, progress).wait(self._is_ready, _START_TIMEOUT_S)
            if self._options.thrift == "separate":
                for name in GATEWAYS:
                    self.start_gateway(name, progress)
        except BaseException:  # also Ctrl-C: a half-started server must not stay behind
            self.kill()
            raise
        progress(f"ready: {self.url}")
        return self

    def _replace_dead(self, progress: Progress) -> None:
        last = EmbeddedServer.recorded(self._folder.path) if self._folder else None
        if last is None:
            return
        if last.is_running():
            raise ServerError(
                "a server runs with this data directory",
                data_dir=str(last.data_dir),
                url=last.url,
                fix="use it, stop it, or choose another --data-dir",
            )
        progress(f"of the run before: {last.death()}")
        for name, pid in last.processes().items():
            progress(f"ending {name} (process {pid}), left by a server that died")
        last.kill()

    def _claim_folder(self) -> DataFolder:
        if self._folder is None:
            self._folder = DataFolder(Path(tempfile.mkdtemp(prefix="hbase-orm-")))
        with writing_to(self._folder.path):
            self._folder.prepare()
        require_space(self._folder.path, _NEEDED_BYTES)
        return self._folder

    @staticmethod
    def _spawn(command: list[str], folder: DataFolder, log: Path) -> ProcessId:
        with writing_to(folder.path):
            folder.begin_log(log)
            return spawn(command, log)

    def _find_runtime(self, progress: Progress) -> tuple[Java, RuntimeJars]:
        if self._runtime is None:
            java = chosen_java(progress)
            self._runtime = java, runtime_jars(java, progress)
        return self._runtime

    def _choose_ports(self) -> None:
        wanted = {"thrift1": self._options.port, "thrift2": self._options.thrift2_port}
        spare = free_ports(len(GATEWAYS))
        for name in GATEWAYS:
            port = self._ports.get(name) or wanted[name] or spare.pop()
            require_free(port, _PORT_OPTIONS[name])
            self._ports[name] = port

    def _is_ready(self) -> bool:
        state, folder = self._require_state(), DataFolder(self.data_dir)
        self._jvm = folder.read_jvm(state.nonce)
        if self._jvm is None:
            return False
        if self._options.thrift == "separate":
            return True
        return all(self._serves(name, state.processes[_HBASE]) for name in GATEWAYS)

    def _serves(self, name: GatewayName, process: ProcessId) -> bool:
        """Return whether `process` listens on the gateway's port and answers a call there."""
        wire = WireFormat(self._options.is_framed, self._options.is_compact)
        port = self._ports[name]
        return listens(process.pid, port) and answers(name, port, wire)

    # --- separate gateways --------------------------------------------------------------------

    def start_gateway(self, name: GatewayName, progress: Progress = _silent) -> None:
        """Start a separate gateway on its port, and wait until it answers.

        Raises:
            PortInUseError: The gateway runs already, or another process uses its port.
            ServerError: The server has no separate gateways, or the gateway did not start.
        """
        self._require_separate()
        state, jvm, folder = self._require_state(), self._jvm, DataFolder(self.data_dir)
        if jvm is None:
            raise ServerNotRunningError("the server is not ready yet", fix="wait for start()")
        require_free(self._ports[name], _PORT_OPTIONS[name])
        java, jars = self._find_runtime(progress)
        command = gateway_command(
            java,
            jars,
            self._options,
            name=name,
            port=self._ports[name],
            zookeeper_port=jvm.zookeeper,
        )
        log = folder.gateway_log(name)
        gateway = self._spawn(command, folder, log)
        processes = {**state.processes, name: gateway}
        self._remember(ServerState(processes, state.ports, state.nonce, state.options))
        StartUp(gateway, log, progress).wait(lambda: self._serves(name, gateway), _START_TIMEOUT_S)

    def kill_gateway(self, name: GatewayName) -> None:
        """Kill a separate gateway (SIGKILL); HBase keeps running."""
        self._gateway(name).send(signal.SIGKILL)
        self._gateway(name).wait_gone(_GATEWAY_STOP_TIMEOUT_S)

    def pause_gateway(self, name: GatewayName) -> None:
        """Suspend a separate gateway (SIGSTOP): it accepts connections, but never answers."""
        self._gateway(name).pause()

    def resume_gateway(self, name: GatewayName) -> None:
        """Let a paused gateway continue (SIGCONT); it then answers the waiting calls."""
        self._gateway(name).send(signal.SIGCONT)

    def _gateway(self, name: GatewayName) -> ProcessId:
        self._require_separate()
        return self._require_state().processes[name]

    def _require_separate(self) -> None:
        if self._options.thrift != "separate":
            raise ServerError(
                "the gateways run in HBase's own process", fix="start it with thrift='separate'"
            )

    # --- end ----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the server cleanly: gateways first, then HBase, which flushes its memory.

        The data of an ephemeral server is deleted; a dead server's remaining processes are ended.

        Raises:
            ServerError: HBase has not stopped after 90 s; it continues to stop.
        """
        if self._state is not None:
            for name, process in self._state.processes.items():
                if name != _HBASE:
                    process.terminate(_GATEWAY_STOP_TIMEOUT_S)
            self._stop_hbase(self._state.processes[_HBASE])
        self._forget()
        if self._options.ephemeral and self._folder is not None:
            self._folder.remove()

    def _stop_hbase(self, process: ProcessId) -> None:
        process.send(signal.SIGTERM)
        if not process.wait_gone(_STOP_TIMEOUT_S):
            raise ServerError(
                "the server has not stopped yet",
                pid=process.pid,
                timeout_s=_STOP_TIMEOUT_S,
                log=str(self.log),
                fix="wait and try again; after a kill the next start recovers acknowledged writes",
            )

    def kill(self) -> None:
        """Kill all processes of the server immediately (SIGKILL); the data is kept."""
        if self._state is not None:
            for process in self._state.processes.values():
                process.send(signal.SIGKILL)
            for process in self._state.processes.values():
                process.wait_gone(_GATEWAY_STOP_TIMEOUT_S)
        self._forget()

    def _forget(self) -> None:
        self._state = self._jvm = None
        if self._folder is not None:
            self._folder.forget()

    def _remember(self, state: ServerState) -> None:
        self._state = state
        with writing_to(self.data_dir):
            DataFolder(self.data_dir).write(state)

    def _require_state(self) -> ServerState:
        self._require_running()
        assert self._state is not None
        return self._state

    def _require_running(self) -> None:
        if not self.is_running():
            raise ServerNotRunningError(
                "no server runs with this data directory",
                data_dir=str(self._folder.path) if self._folder else "",
                fix="start it with 'hbase-orm server start' or EmbeddedServer.start()",
            )

    def __enter__(self) -> Self:
        """Start the server."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def __repr__(self) -> str:
        """Return the URL, the state and the folder."""
        where = self._folder.path if self._folder else "a temporary folder"
        url = self.url if self._ports else "ports not chosen yet"
        state = "running" if self.is_running() else "not running"
        return f"<EmbeddedServer {url} {state} in {where}>"
