package org.hbaseorm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hadoop.hbase.util.JVMClusterUtil;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** The HMaster and its RegionServers in this JVM. */
final class Cluster {
  private static final int POLL_MS = 20;
  private static final int REGIONS_TIMEOUT_MS = 120_000;

  private final LocalHBaseCluster cluster;

  Cluster(Configuration conf, int regionServers) throws IOException {
    // Lets several servers of one JVM register the same metrics names.
    DefaultMetricsSystem.setMiniClusterMode(true);
    cluster = new LocalHBaseCluster(conf, 1, regionServers, HMaster.class, HRegionServer.class);
  }

  void start() throws IOException {
    cluster.startup();
  }

  HMaster master() {
    return cluster.getActiveMaster();
  }

  void awaitInitialized() throws InterruptedException {
    while (master() == null || !master().isInitialized()) {
      if (master() != null) {
        dieIfDead();
      }
      Thread.sleep(POLL_MS);
    }
  }

  /**
   * Wait until the regions that a crashed server held are open again.
   *
   * <p>Gives up waiting after two minutes: a region that cannot open (a coprocessor class that is
   * missing, a broken file) must not keep every other table from being used.
   */
  void awaitRegions() throws InterruptedException {
    long end = System.nanoTime() + REGIONS_TIMEOUT_MS * 1_000_000L;
    while (recovering() && System.nanoTime() - end < 0) {
      dieIfDead();
      Thread.sleep(POLL_MS);
    }
  }

  private boolean recovering() {
    return master().getServerManager().areDeadServersInProgress()
        || master().getAssignmentManager().hasRegionsInTransition();
  }

  void dieIfDead() {
    HMaster master = master();
    if (master == null || master.isAborted() || master.isStopped()) {
      EmbeddedHBase.die("the master has stopped by itself");
    }
    for (JVMClusterUtil.RegionServerThread thread : cluster.getRegionServers()) {
      if (thread.getRegionServer().isAborted()) {
        EmbeddedHBase.die("a region server has stopped by itself");
      }
    }
  }

  /** Return the open regions of a table on all RegionServers. */
  List<HRegion> regions(TableName table) {
    List<HRegion> found = new ArrayList<>();
    for (JVMClusterUtil.RegionServerThread thread : cluster.getLiveRegionServers()) {
      found.addAll(thread.getRegionServer().getRegions(table));
    }
    return found;
  }

  void stop() {
    cluster.shutdown();
    cluster.join();
  }
}
