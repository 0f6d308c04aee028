#!/usr/bin/env bash
# Make a Docker engine answer on this machine, or stop the one that this script started.
#
#   docker/engine.sh start    install what is missing (apt, root only), start dockerd when none answers
#   docker/engine.sh stop     stop the engine if, and only if, `start` was what started it
#   docker/engine.sh status   say whether an engine answers, and who started it
#
# The engine keeps everything below HBASE_ORM_ENGINE_HOME (images stay between runs).
# An engine that already answers is used as it is and never stopped.
set -euo pipefail

here=$(dirname "$0")
home=${HBASE_ORM_ENGINE_HOME:-/var/lib/hbase-orm/engine}
run=${HBASE_ORM_ENGINE_RUN:-/run/hbase-orm-engine}
pidfile=$run/dockerd.pid
log=$home/dockerd.log
start_timeout_s=60
stop_timeout_s=20

say() { printf 'engine: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

answers() { command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1; }

# The pid of a dockerd that this script started and that still runs, else nothing.
own_pid() {
    local pid
    pid=$(cat "$pidfile" 2>/dev/null) || return 0
    if [[ $(cat "/proc/$pid/comm" 2>/dev/null) == dockerd ]]; then echo "$pid"; fi
}

# The end of dockerd's log: what it said before it failed.
show_log() {
    if [[ -s $log ]]; then
        say "the end of $log:"
        tail -n 15 "$log" | sed 's/^/    /' >&2
    else
        say "$log is empty"
    fi
}

start() {
    if answers; then
        say "an engine answers already"
        return
    fi
    [[ $(id -u) == 0 ]] || die "no Docker engine answers, and only root can start one"
    "$here/packages.sh" engine
    # The package's own service may have come up with the installation.
    if answers; then
        say "an engine answers"
        return
    fi
    mkdir -p "$home" "$run"
    local pid
    pid=$(own_pid)
    if [[ -z $pid ]]; then
        rm -f "$pidfile"
        setsid dockerd --data-root "$home/data" --exec-root "$run/exec" --pidfile "$pidfile" \
            >"$log" 2>&1 </dev/null &
        pid=$! # setsid becomes dockerd; the pid file comes seconds later on a slow machine
    fi
    # Counted from here: an installation may have taken minutes.
    local deadline=$((SECONDS + start_timeout_s))
    until answers; do
        if ! kill -0 "$pid" 2>/dev/null; then
            show_log
            die "dockerd ended before it answered"
        fi
        if ((SECONDS >= deadline)); then
            show_log
            die "dockerd, pid $pid, did not answer within $start_timeout_s s"
        fi
        sleep 0.2
    done
    say "started dockerd, pid $pid, log $log"
}

stop() {
    local pid
    pid=$(own_pid)
    if [[ -z $pid ]]; then
        say "nothing to stop: no engine of ours runs"
        return
    fi
    kill -TERM "$pid"
    local deadline=$((SECONDS + stop_timeout_s))
    while [[ -n $(own_pid) ]]; do
        ((SECONDS < deadline)) || die "dockerd, pid $pid, is still there after ${stop_timeout_s} s"
        sleep 0.2
    done
    say "stopped dockerd, pid $pid"
}

status() {
    local pid
    pid=$(own_pid)
    if ! answers; then
        die "no engine answers"
    elif [[ -n $pid ]]; then
        say "dockerd, pid $pid, started by this script; log $log"
    else
        say "an engine answers that this script did not start"
    fi
}

case ${1:-start} in
start | stop | status) "${1:-start}" ;;
*) die "unknown command '$1': start, stop or status" ;;
esac
