package org.hbaseorm;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.thrift.ThriftServer;
import org.apache.hadoop.hbase.thrift.generated.Hbase;
import org.apache.hadoop.hbase.thrift2.generated.THBaseService;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/** One Thrift gateway (Thrift1 or Thrift2) running in this JVM. */
final class Gateway {
  private static final int CALL_TIMEOUT_MS = 4_000;

  final String name;
  final int port;
  private final Configuration conf;
  private final String host;
  private final ThriftServer server;

  Gateway(String name, int port, Configuration shared) {
    this.name = name;
    this.port = port;
    this.conf = HBaseConfiguration.create(shared);
    String bind = conf.get("hbase.regionserver.thrift.ipaddress");
    this.host = bind.equals("0.0.0.0") ? "127.0.0.1" : bind;
    this.server =
        name.equals("thrift1")
            ? new ThriftServer(conf)
            : new org.apache.hadoop.hbase.thrift2.ThriftServer(conf);
  }

  /** Return the gateways that the arguments ask for, Thrift1 first. */
  static List<Gateway> from(Arguments arguments, Configuration conf, boolean both) {
    List<Gateway> found = new java.util.ArrayList<>();
    if (both || arguments.has("thrift1")) {
      found.add(new Gateway("thrift1", arguments.number("thrift1", 9090), conf));
    }
    if (both || arguments.has("thrift2")) {
      found.add(new Gateway("thrift2", arguments.number("thrift2", 9091), conf));
    }
    return found;
  }

  /** Begin to serve on a thread of its own; a gateway that fails ends the process. */
  void start() {
    Thread thread = new Thread(this::serve, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void serve() {
    try {
      int code = server.run(new String[] {"-p", Integer.toString(port), "start"});
      EmbeddedHBase.die(name + " ended with code " + code);
    } catch (Exception | LinkageError e) {
      EmbeddedHBase.die(name + " on port " + port + " failed: " + e, e);
    }
  }

  void stop() {
    if (server.getTserver() != null) {
      server.stop();
    }
  }

  /** Make one real call through this gateway's own port; throws when it does not answer. */
  void call() throws Exception {
    try (TTransport transport = transport(new TSocket(new TConfiguration(), host, port, CALL_TIMEOUT_MS))) {
      transport.open();
      TProtocol protocol =
          conf.getBoolean("hbase.regionserver.thrift.compact", false)
              ? new TCompactProtocol(transport)
              : new TBinaryProtocol(transport);
      if (name.equals("thrift1")) {
        new Hbase.Client(protocol).getTableNames();
      } else {
        new THBaseService.Client(protocol).listNamespaceDescriptors();
      }
    }
  }

  private TTransport transport(TSocket socket) throws Exception {
    return conf.getBoolean("hbase.regionserver.thrift.framed", false)
        ? new TFramedTransport(socket)
        : socket;
  }

  boolean answers() {
    try {
      call();
      return true;
    } catch (Exception e) {
      return false;
    }
  }
}
