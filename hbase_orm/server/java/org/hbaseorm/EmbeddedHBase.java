package org.hbaseorm;

import java.io.File;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;

/**
 * The one main class of the embedded server and of the Docker image.
 *
 * <p>Role {@code server}: ZooKeeper, HMaster, RegionServers and (unless {@code --thrift separate})
 * both Thrift gateways in this JVM. Role {@code gateway}: only the Thrift gateways that {@code
 * --thrift1} and {@code --thrift2} name, in front of the HBase behind {@code --quorum host:port}.
 *
 * <p>Lines that begin with {@code HBASE-ORM} on standard output are read by the launcher.
 */
public final class EmbeddedHBase {
  private static final long STARTED = System.nanoTime();
  private static final int HEALTH_INTERVAL_MS = 5_000;
  private static final int PARENT_INTERVAL_MS = 500;
  private static final int DEAD = 3;
  private static final int USAGE = 2;
  private static volatile boolean stopping;

  private EmbeddedHBase() {}

  /** Run until SIGTERM, or until a part of the server has died. */
  public static void main(String[] raw) throws Exception {
    Arguments arguments;
    try {
      arguments = new Arguments(raw);
      watchParent(arguments);
      if (arguments.role.equals("server")) {
        server(arguments);
      } else if (arguments.role.equals("gateway")) {
        gateway(arguments);
      } else {
        throw new IllegalArgumentException("unknown role " + arguments.role);
      }
    } catch (IllegalArgumentException e) {
      System.out.println("HBASE-ORM died " + e.getMessage());
      e.printStackTrace();
      Runtime.getRuntime().halt(USAGE);
    } catch (Exception | LinkageError e) {
      die("start failed: " + e, e);
    }
  }

  private static void server(Arguments arguments) throws Exception {
    File data = new File(arguments.get("data")).getAbsoluteFile();
    StateFile state = new StateFile(arguments, data);
    state.lock();
    Configuration conf = Settings.server(arguments);
    ZooKeeper zookeeper = ZooKeeper.start(arguments, conf, new File(data, "zk"));
    say("zookeeper on port " + zookeeper.port());
    Cluster cluster = new Cluster(conf, arguments.number("region-servers", 1));
    boolean separate = arguments.get("thrift", "in-process").equals("separate");
    List<Gateway> gateways = separate ? List.of() : Gateway.from(arguments, conf, true);
    AtomicReference<AdminServer> admin = new AtomicReference<>();
    onStop(
        () -> {
          gateways.forEach(Gateway::stop);
          Optional.ofNullable(admin.get()).ifPresent(AdminServer::stop);
          cluster.stop();
          zookeeper.stop();
          state.delete();
          if (arguments.has("delete-data")) {
            Folders.delete(data);
          }
        });
    cluster.start();
    say("master active");
    cluster.awaitInitialized();
    say("master initialized");
    cluster.awaitRegions();
    say("regions online");
    admin.set(AdminServer.start(arguments.number("admin", 0), cluster, conf));
    gateways.forEach(Gateway::start);
    await(gateways);
    state.write(zookeeper.port(), admin.get().port(), admin.get().token());
    say("ready");
    watch(gateways, cluster, arguments);
  }

  private static void gateway(Arguments arguments) throws Exception {
    List<Gateway> gateways = Gateway.from(arguments, Settings.gateway(arguments), false);
    if (gateways.isEmpty()) {
      throw new IllegalArgumentException("a gateway needs --thrift1 PORT, --thrift2 PORT or both");
    }
    onStop(() -> gateways.forEach(Gateway::stop));
    gateways.forEach(Gateway::start);
    await(gateways);
    say("ready");
    watch(gateways, null, arguments);
  }

  private static void await(List<Gateway> gateways) throws InterruptedException {
    for (Gateway gateway : gateways) {
      while (!gateway.answers()) {
        Thread.sleep(50);
      }
      say(gateway.name + " answers on port " + gateway.port);
    }
  }

  /** Touch the health file while the gateways answer; end the process when HBase has died. */
  private static void watch(List<Gateway> gateways, Cluster cluster, Arguments arguments)
      throws Exception {
    File health = arguments.has("health") ? new File(arguments.get("health")) : null;
    long next = System.nanoTime();
    while (true) {
      if (!stopping && cluster != null) {
        cluster.dieIfDead();
      }
      if (!stopping && System.nanoTime() - next >= 0) {
        next = System.nanoTime() + HEALTH_INTERVAL_MS * 1_000_000L;
        if (health != null && gateways.stream().allMatch(Gateway::answers)) {
          Folders.touch(health);
        }
      }
      Thread.sleep(500);
    }
  }

  /** With {@code --parent PID}, stop as soon as this process is no longer a child of PID. */
  private static void watchParent(Arguments arguments) {
    if (!arguments.has("parent")) {
      return;
    }
    long parent = Long.parseLong(arguments.get("parent"));
    Thread thread =
        new Thread(
            () -> {
              while (ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(1L) == parent) {
                sleep(PARENT_INTERVAL_MS);
              }
              say("parent " + parent + " is gone");
              System.exit(0);
            },
            "parent-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static void onStop(Runnable steps) {
    Thread hook =
        new Thread(
            () -> {
              stopping = true;
              say("stopping");
              try {
                steps.run();
                say("stopped");
              } catch (RuntimeException e) {
                e.printStackTrace();
              }
              Runtime.getRuntime().halt(0);
            },
            "ordered-stop");
    Runtime.getRuntime().addShutdownHook(hook);
  }

  static void sleep(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static void say(String phase) {
    System.out.printf("HBASE-ORM %.1f %s%n", (System.nanoTime() - STARTED) / 1e9, phase);
    System.out.flush();
  }

  static void die(String why) {
    die(why, null);
  }

  /** End the process at once, unless it is being stopped anyway. */
  static void die(String why, Throwable cause) {
    if (stopping) {
      return;
    }
    if (cause != null) {
      cause.printStackTrace();
    }
    System.out.println("HBASE-ORM died " + why.lines().findFirst().orElse(""));
    System.out.flush();
    Runtime.getRuntime().halt(DEAD);
  }
}
