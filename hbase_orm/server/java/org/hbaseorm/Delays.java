package org.hbaseorm;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hbase.util.Bytes;

/** The calls that {@link DelayObserver} slows down at the moment; set through the admin port. */
final class Delays {
  /** Kinds of call that can be delayed. */
  static final List<String> KINDS =
      List.of("get", "scan", "put", "delete", "increment", "append", "checkAndMutate");

  private static final List<Delay> DELAYS = new CopyOnWriteArrayList<>();

  private Delays() {}

  /** One rule; {@code remaining} counts down the calls it still applies to. */
  private static final class Delay {
    final String table;
    final String kind;
    final byte[] rowPrefix;
    final boolean after;
    final int ms;
    final AtomicInteger remaining;

    Delay(String table, String kind, byte[] rowPrefix, boolean after, int ms, int times) {
      this.table = table;
      this.kind = kind;
      this.rowPrefix = rowPrefix;
      this.after = after;
      this.ms = ms;
      this.remaining = new AtomicInteger(times);
    }

    boolean matches(String aTable, String aKind, byte[] row, boolean isAfter) {
      return table.equals(aTable)
          && kind.equals(aKind)
          && after == isAfter
          && Bytes.startsWith(row, rowPrefix);
    }

    /** Take one of the remaining times. */
    boolean take() {
      return remaining.getAndUpdate(n -> n > 0 ? n - 1 : 0) > 0;
    }
  }

  static void add(String table, String kind, byte[] rowPrefix, boolean after, int ms, int times) {
    if (!KINDS.contains(kind)) {
      throw new IllegalArgumentException("kind must be one of " + KINDS);
    }
    DELAYS.add(new Delay(table, kind, rowPrefix, after, ms, times));
  }

  static void clear() {
    DELAYS.clear();
  }

  /** Sleep as long as the first rule says that fits this call; without one, return at once. */
  static void apply(String table, String kind, byte[] row, boolean after) {
    for (Delay delay : DELAYS) {
      if (delay.matches(table, kind, row, after) && delay.take()) {
        EmbeddedHBase.sleep(delay.ms);
        return;
      }
    }
  }
}
