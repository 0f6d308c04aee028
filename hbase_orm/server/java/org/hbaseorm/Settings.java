package org.hbaseorm;

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;

/** HBase's configuration for one small server, shared by the launcher and the Docker image. */
final class Settings {
  /** Longer than any pause of a debugger or a suspended laptop. */
  private static final int ZOOKEEPER_SESSION_MS = 600_000;

  /** LocalHBaseCluster gives up after 30 s by default: too little on a loaded machine. */
  private static final int START_TIMEOUT_MS = 300_000;

  private Settings() {}

  /** Return the settings of a whole server whose files live under {@code --data}. */
  static Configuration server(Arguments arguments) {
    Configuration conf = common(arguments);
    File data = new File(arguments.get("data")).getAbsoluteFile();
    String regionServers = arguments.get("region-servers", "1");
    String host = arguments.get("hostname", "localhost");
    String bind = arguments.get("bind", "127.0.0.1");

    conf.set("hbase.rootdir", new File(data, "hbase").toURI().toString());
    conf.set("hbase.tmp.dir", new File(data, "tmp").getPath());
    // The checksumming LocalFileSystem has no hflush: HBase could not promise that a write is safe.
    conf.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    // Nobody but the user reads the rows; Hadoop sets the modes of its files itself.
    conf.set("fs.permissions.umask-mode", "077");
    conf.set("hbase.unsafe.stream.capability.enforce", "true");
    conf.set("hbase.wal.provider", "filesystem");
    conf.set("hbase.cluster.distributed", "false");
    conf.set("hbase.localcluster.assign.random.ports", "true");
    conf.set("hbase.master.hostname", host);
    conf.set("hbase.regionserver.hostname", host);
    conf.set("hbase.master.ipc.address", bind);
    conf.set("hbase.regionserver.ipc.address", bind);
    conf.set("hbase.master.info.port", "-1");
    conf.set("hbase.regionserver.info.port", "-1");
    conf.set("hbase.regionserver.msginterval", "200");
    conf.set("hbase.master.wait.on.regionservers.mintostart", regionServers);
    conf.set("hbase.master.wait.on.regionservers.maxtostart", regionServers);
    conf.set("hbase.master.wait.on.regionservers.interval", "50");
    // By default each order to open or close a region waits 150 ms for company.
    conf.set("hbase.procedure.remote.dispatcher.delay.msec", "5");
    // How often the master looks whether such an order is done; by default once a second.
    conf.set("hbase.master.event.waiting.time", "20");
    conf.setInt("hbase.master.start.timeout.localHBaseCluster", START_TIMEOUT_MS);
    conf.setInt("hbase.master.init.timeout.localHBaseCluster", START_TIMEOUT_MS);
    // Our own hook stops everything in one order; HBase's would race it.
    conf.setBoolean("hbase.shutdown.hook", false);
    apply(arguments, conf);
    return conf;
  }

  /** Return the settings of one Thrift gateway that finds HBase through {@code --quorum}. */
  static Configuration gateway(Arguments arguments) {
    Configuration conf = common(arguments);
    String quorum = arguments.get("quorum");
    int colon = quorum.lastIndexOf(':');
    conf.set("hbase.zookeeper.quorum", quorum.substring(0, colon));
    conf.set("hbase.zookeeper.property.clientPort", quorum.substring(colon + 1));
    apply(arguments, conf);
    return conf;
  }

  private static Configuration common(Arguments arguments) {
    Configuration conf = HBaseConfiguration.create();
    conf.set("hbase.regionserver.thrift.ipaddress", arguments.get("bind", "127.0.0.1"));
    conf.set("hbase.thrift.info.port", "-1");
    conf.set("hbase.client.pause", "50");
    conf.setInt("zookeeper.session.timeout", ZOOKEEPER_SESSION_MS);
    conf.setInt("hbase.zookeeper.property.maxSessionTimeout", ZOOKEEPER_SESSION_MS);
    return conf;
  }

  private static void apply(Arguments arguments, Configuration conf) {
    for (String setting : arguments.settings) {
      int equals = setting.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException("not of the form name=value: " + setting);
      }
      conf.set(setting.substring(0, equals), setting.substring(equals + 1));
    }
  }
}
