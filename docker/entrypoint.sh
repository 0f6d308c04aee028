#!/bin/bash
# Turn the image's environment into the arguments of our main class, and become it.
#
# Signals reach the JVM because it replaces this shell.
set -euo pipefail

health=/tmp/hbase-answers
# A file left by a killed run must not count as health.
rm -f "$health"

common=(--bind 0.0.0.0 --thrift1 9090 --thrift2 9091 --health "$health")
# One HBase property a line, as name=value.
while IFS= read -r setting; do
    if [[ -n $setting ]]; then common+=(--set "$setting"); fi
done <<<"$HBASE_SET"

case $HBASE_ROLE in
server)
    role=(server --data /data --hostname "$HBASE_HOSTNAME" --zookeeper 2181)
    ;;
gateway)
    [[ -n $HBASE_QUORUM ]] || {
        echo "HBASE_ROLE=gateway needs HBASE_QUORUM=host:port, the ZooKeeper of its HBase" >&2
        exit 2
    }
    role=(gateway --quorum "$HBASE_QUORUM")
    ;;
*)
    echo "HBASE_ROLE is '$HBASE_ROLE': it must be 'server' or 'gateway'" >&2
    exit 2
    ;;
esac

read -ra java_options <<<"$HBASE_JAVA_OPTIONS"
exec java "-Xmx$HBASE_HEAP" "-Dhbaseorm.log.level=$HBASE_LOG_LEVEL" @/opt/hbase/jvm.options \
    "${java_options[@]}" \
    -cp '/opt/hbase/hbase-orm-server.jar:/opt/hbase/lib/*' \
    org.hbaseorm.EmbeddedHBase "${role[@]}" "${common[@]}" "$@"
