package org.hbaseorm;

import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.master.RegionState;
import org.apache.hadoop.hbase.master.assignment.RegionStates;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HStore;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** What Thrift cannot do to a table; each command returns when its effect is there. */
final class AdminCommands {
  private static final int TIMEOUT_S = 60;
  private static final int POLL_MS = 50;
  private static final int MAX_DELAY_MS = 60_000;

  private final Cluster cluster;
  private final Connection connection;

  AdminCommands(Cluster cluster, Connection connection) {
    this.cluster = cluster;
    this.connection = connection;
  }

  JsonElement run(JsonObject request) throws Exception {
    String command = request.get("command").getAsString();
    try (Admin admin = connection.getAdmin()) {
      switch (command) {
        case "servers":
          return servers(admin);
        case "clear_delays":
          Delays.clear();
          return new JsonObject();
        default:
          return onTable(command, TableName.valueOf(text(request, "table")), request, admin);
      }
    }
  }

  private JsonElement onTable(String command, TableName table, JsonObject request, Admin admin)
      throws Exception {
    if (!admin.tableExists(table)) {
      throw new org.apache.hadoop.hbase.TableNotFoundException(table.getNameAsString());
    }
    switch (command) {
      case "regions":
        break;
      case "flush":
        flush(table, admin);
        break;
      case "major_compact":
        majorCompact(table);
        break;
      case "split":
        split(table, key(request, "key"), admin);
        break;
      case "merge":
        merge(table, key(request, "key"), key(request, "other_key"), admin);
        break;
      case "move":
        move(table, key(request, "key"), text(request, "server"), admin);
        break;
      case "assign":
        assign(region(table, key(request, "key")), admin);
        break;
      case "unassign":
        unassign(region(table, key(request, "key")), admin);
        break;
      case "delay":
        delay(table, request);
        break;
      default:
        throw new IllegalArgumentException("unknown command " + command);
    }
    return regions(table);
  }

  private static JsonElement servers(Admin admin) throws IOException {
    JsonArray found = new JsonArray();
    admin.getRegionServers().stream().map(ServerName::getServerName).sorted().forEach(found::add);
    return found;
  }

  /** List all regions that the table has now, open or not, in key order. */
  private JsonElement regions(TableName table) {
    RegionStates states = cluster.master().getAssignmentManager().getRegionStates();
    JsonArray found = new JsonArray();
    for (RegionInfo region : current(table)) {
      RegionState state = states.getRegionState(region);
      ServerName server = state.getServerName();
      JsonObject row = new JsonObject();
      row.addProperty("name", region.getEncodedName());
      row.addProperty("start", Bytes.toHex(region.getStartKey()));
      row.addProperty("stop", Bytes.toHex(region.getEndKey()));
      row.addProperty("state", state.getState().name());
      row.addProperty("server", server == null ? "" : server.getServerName());
      row.addProperty("store_files", storeFiles(table, region));
      found.add(row);
    }
    return found;
  }

  private int storeFiles(TableName table, RegionInfo region) {
    return cluster.regions(table).stream()
        .filter(open -> open.getRegionInfo().equals(region))
        .flatMap(open -> open.getStores().stream())
        .mapToInt(HStore::getStorefilesCount)
        .sum();
  }

  private List<RegionInfo> current(TableName table) {
    return cluster
        .master()
        .getAssignmentManager()
        .getRegionStates()
        .getRegionsOfTable(table)
        .stream()
        .sorted(Comparator.comparing(RegionInfo::getStartKey, Bytes.BYTES_COMPARATOR))
        .collect(Collectors.toList());
  }

  private RegionInfo region(TableName table, byte[] key) {
    return current(table).stream()
        .filter(region -> region.containsRow(key))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no region holds this key"));
  }

  private void flush(TableName table, Admin admin) throws IOException {
    admin.flush(table);
  }

  private void majorCompact(TableName table) throws Exception {
    for (HRegion region : cluster.regions(table)) {
      await("compaction", () -> region.getCompactionState() == CompactionState.NONE);
      region.compact(true);
      await("compaction", () -> region.getCompactionState() == CompactionState.NONE);
      for (HStore store : region.getStores()) {
        // Else the old files stay for two minutes, and block a split or merge.
        store.closeAndArchiveCompactedFiles();
      }
    }
  }

  private void split(TableName table, byte[] key, Admin admin) throws Exception {
    makeWhole(table, admin);
    RegionInfo parent = region(table, key);
    admin.splitRegionAsync(parent.getRegionName(), key).get(TIMEOUT_S, TimeUnit.SECONDS);
    await(
        "split",
        () -> {
          RegionInfo upper = region(table, key);
          return !upper.equals(parent) && Arrays.equals(upper.getStartKey(), key);
        });
  }

  private void merge(TableName table, byte[] key, byte[] otherKey, Admin admin) throws Exception {
    RegionInfo a = region(table, key);
    RegionInfo b = region(table, otherKey);
    if (a.equals(b)) {
      throw new IllegalArgumentException("both keys are in one region");
    }
    makeWhole(table, admin);
    admin
        .mergeRegionsAsync(new byte[][] {a.getEncodedNameAsBytes(), b.getEncodedNameAsBytes()}, false)
        .get(TIMEOUT_S, TimeUnit.SECONDS);
    await("merge", () -> region(table, key).equals(region(table, otherKey)));
  }

  /** Resolve what an earlier split or merge left behind: HBase refuses another one before. */
  private void makeWhole(TableName table, Admin admin) throws Exception {
    if (cluster.regions(table).stream().anyMatch(HRegion::hasReferences)) {
      majorCompact(table);
    }
    admin.runCatalogJanitor();
  }

  /** With one RegionServer there is nowhere to go: the region is closed and opened again. */
  private void move(TableName table, byte[] key, String server, Admin admin) throws Exception {
    RegionInfo region = region(table, key);
    ServerName now = server(region);
    List<ServerName> others =
        admin.getRegionServers().stream()
            .filter(name -> server.isEmpty() ? !name.equals(now) : name.getServerName().equals(server))
            .collect(Collectors.toList());
    if (others.isEmpty() && !server.isEmpty()) {
      throw new IllegalArgumentException("no such region server");
    }
    if (others.isEmpty()) {
      unassign(region, admin);
      assign(region, admin);
      return;
    }
    admin.move(region.getEncodedNameAsBytes(), others.get(0));
    await("move", () -> isOpen(region) && others.get(0).equals(server(region)));
  }

  private void assign(RegionInfo region, Admin admin) throws Exception {
    admin.assign(region.getRegionName());
    await("assign", () -> isOpen(region));
  }

  private void unassign(RegionInfo region, Admin admin) throws Exception {
    admin.unassign(region.getRegionName());
    await("unassign", () -> state(region).isClosed());
  }

  private RegionState state(RegionInfo region) {
    return cluster.master().getAssignmentManager().getRegionStates().getRegionState(region);
  }

  private boolean isOpen(RegionInfo region) {
    return state(region).isOpened();
  }

  private ServerName server(RegionInfo region) {
    return state(region).getServerName();
  }

  private static void delay(TableName table, JsonObject request) {
    int ms = request.get("ms").getAsInt();
    if (ms < 0 || ms > MAX_DELAY_MS) {
      throw new IllegalArgumentException("a delay is 0 to " + MAX_DELAY_MS + " ms");
    }
    Delays.add(
        table.getNameWithNamespaceInclAsString(),
        text(request, "kind"),
        key(request, "row_prefix"),
        request.get("after").getAsBoolean(),
        ms,
        request.get("times").getAsInt());
  }

  private static String text(JsonObject request, String name) {
    JsonElement value = request.get(name);
    return value == null || value.isJsonNull() ? "" : value.getAsString();
  }

  /** Row keys travel as hexadecimal digits: they are bytes, not text. */
  private static byte[] key(JsonObject request, String name) {
    return Bytes.fromHex(text(request, name));
  }

  private static void await(String what, Callable<Boolean> done) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_S);
    while (!done.call()) {
      if (System.nanoTime() - end > 0) {
        throw new IOException("the " + what + " was not done within " + TIMEOUT_S + " s");
      }
      Thread.sleep(POLL_MS);
    }
  }
}
