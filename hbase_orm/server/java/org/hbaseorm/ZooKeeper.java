package org.hbaseorm;

import java.io.File;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * The one ZooKeeper of the server, started empty each time.
 *
 * <p>After a SIGKILL the old master's ephemeral node would live as long as its session, and the new
 * master would wait for it. HBase keeps nothing in ZooKeeper that it cannot rebuild from its files,
 * so an empty one is both quicker and safe. That in turn allows very long sessions.
 */
final class ZooKeeper {
  private static final int TICK_MS = 2_000;
  private static final int MAX_CONNECTIONS = 1_000;

  private final ZooKeeperServer server;
  private final NIOServerCnxnFactory factory;

  private ZooKeeper(ZooKeeperServer server, NIOServerCnxnFactory factory) {
    this.server = server;
    this.factory = factory;
  }

  /** Start on {@code --zookeeper PORT} (0, the default: a free port) and enter it into conf. */
  static ZooKeeper start(Arguments arguments, Configuration conf, File folder) throws Exception {
    Folders.delete(folder);
    folder.mkdirs();
    System.setProperty("zookeeper.admin.enableServer", "false");
    String bind = arguments.get("bind", "127.0.0.1");
    ZooKeeperServer server = new ZooKeeperServer(folder, folder, TICK_MS);
    server.setMaxSessionTimeout(conf.getInt("hbase.zookeeper.property.maxSessionTimeout", -1));
    NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
    factory.configure(
        new InetSocketAddress(bind, arguments.number("zookeeper", 0)), MAX_CONNECTIONS);
    factory.startup(server);
    conf.set("hbase.zookeeper.quorum", "127.0.0.1");
    conf.setInt("hbase.zookeeper.property.clientPort", factory.getLocalPort());
    return new ZooKeeper(server, factory);
  }

  int port() {
    return factory.getLocalPort();
  }

  void stop() {
    factory.shutdown();
    server.shutdown();
  }
}
