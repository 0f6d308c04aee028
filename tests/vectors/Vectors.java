import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Order;
import org.apache.hadoop.hbase.util.OrderedBytes;
import org.apache.hadoop.hbase.util.SimplePositionedMutableByteRange;
import org.apache.phoenix.schema.SortOrder;
import org.apache.phoenix.schema.types.*;

/**
 * Prints one JSON line for each value of each type, as the real classes encode it. The first values
 * of a type are its edges; random ones follow, from a seed of the type's own, so that a shorter run
 * prints the beginning of what a longer one prints.
 *
 * <p>Values are exact: numbers and milliseconds as decimal text, floats in hexadecimal, bytes in
 * hex, a timestamp as nanoseconds since the epoch.
 */
public final class Vectors {
  private static final int CHAR_WIDTH = 10;
  private static final int BINARY_WIDTH = 8;
  private static final long FIRST_MS = -62135596800000L; // year 1
  private static final long LAST_MS = 253402300799999L; // the end of year 9999
  private static final int MAX_BYTES = 1000;

  private static int count;

  public static void main(String[] arguments) {
    count = Integer.parseInt(arguments[0]);
    bytes();
    ordered();
    phoenixNumbers();
    phoenixOthers();
    phoenixTimes();
  }

  // --- families ----------------------------------------------------------------------------------

  private static void bytes() {
    flat("int16", integers(16), String::valueOf, v -> Bytes.toBytes(v.shortValue()));
    flat("int32", integers(32), String::valueOf, v -> Bytes.toBytes(v.intValue()));
    flat("int64", integers(64), String::valueOf, v -> Bytes.toBytes(v.longValue()));
    flat("float32", floats(false), Vectors::exact, Bytes::toBytes);
    flat("float64", doubles(false), Vectors::exact, Bytes::toBytes);
    flat("bool", booleans(), String::valueOf, Bytes::toBytes);
    flat("decimal", decimals(60, 400), Vectors::unscaled, Bytes::toBytes);
    flat("utf8", texts(true), v -> v, Bytes::toBytes);
  }

  private static <T> void flat(
      String type, Source<T> values, Function<T, String> shown, Function<T, byte[]> encoded) {
    for (T value : values.take("bytes." + type)) {
      print("bytes", type, false, "{}", shown.apply(value), encoded.apply(value));
      if (!type.equals("int64")) {
        byte[] inverted = encoded.apply(value);
        Order.DESCENDING.apply(inverted);
        print("bytes", type, true, "{}", shown.apply(value), inverted);
      }
    }
  }

  private static void ordered() {
    ranged("int8", integers(8), String::valueOf,
        (r, v, o) -> OrderedBytes.encodeInt8(r, v.byteValue(), o));
    ranged("int16", integers(16), String::valueOf,
        (r, v, o) -> OrderedBytes.encodeInt16(r, v.shortValue(), o));
    ranged("int32", integers(32), String::valueOf,
        (r, v, o) -> OrderedBytes.encodeInt32(r, v.intValue(), o));
    ranged("int64", integers(64), String::valueOf,
        (r, v, o) -> OrderedBytes.encodeInt64(r, v.longValue(), o));
    ranged("float32", floats(false), Vectors::exact, OrderedBytes::encodeFloat32);
    ranged("float64", doubles(false), Vectors::exact, OrderedBytes::encodeFloat64);
    ranged("numeric", decimals(31, 3000), BigDecimal::toString, OrderedBytes::encodeNumeric);
    for (double value : new double[] {Double.NaN, 1 / 0.0, -1 / 0.0}) {
      for (Order order : Order.values()) {
        SimplePositionedMutableByteRange range = new SimplePositionedMutableByteRange(MAX_BYTES);
        int length = OrderedBytes.encodeNumeric(range, value, order);
        print("ordered", "numeric", order == Order.DESCENDING, "{}", String.valueOf(value),
            Arrays.copyOf(range.getBytes(), length));
      }
    }
    ranged("utf8", texts(false), v -> v, OrderedBytes::encodeString);
    ranged("blob", blobs(40, true), Bytes::toHex, OrderedBytes::encodeBlobVar);
    ranged("blobcopy", blobs(40, false), Bytes::toHex, OrderedBytes::encodeBlobCopy);
  }

  private interface Ranged<T> {
    int encode(SimplePositionedMutableByteRange range, T value, Order order);
  }

  private static <T> void ranged(
      String type, Source<T> values, Function<T, String> shown, Ranged<T> encoder) {
    for (T value : values.take("ordered." + type)) {
      for (Order order : Order.values()) {
        SimplePositionedMutableByteRange range = new SimplePositionedMutableByteRange(MAX_BYTES);
        int length = encoder.encode(range, value, order);
        print("ordered", type, order == Order.DESCENDING, "{}", shown.apply(value),
            Arrays.copyOf(range.getBytes(), length));
      }
    }
  }

  private static void phoenixNumbers() {
    phoenix("tinyint", integers(8), String::valueOf, BigInteger::byteValue, PTinyint.INSTANCE);
    phoenix("smallint", integers(16), String::valueOf, BigInteger::shortValue, PSmallint.INSTANCE);
    phoenix("integer", integers(32), String::valueOf, BigInteger::intValue, PInteger.INSTANCE);
    phoenix("bigint", integers(64), String::valueOf, BigInteger::longValue, PLong.INSTANCE);
    phoenix("unsigned_tinyint", naturals(7), String::valueOf, BigInteger::byteValue,
        PUnsignedTinyint.INSTANCE);
    phoenix("unsigned_smallint", naturals(15), String::valueOf, BigInteger::shortValue,
        PUnsignedSmallint.INSTANCE);
    phoenix("unsigned_int", naturals(31), String::valueOf, BigInteger::intValue,
        PUnsignedInt.INSTANCE);
    phoenix("unsigned_long", naturals(63), String::valueOf, BigInteger::longValue,
        PUnsignedLong.INSTANCE);
    phoenix("float", floats(false), Vectors::exact, v -> v, PFloat.INSTANCE);
    phoenix("double", doubles(false), Vectors::exact, v -> v, PDouble.INSTANCE);
    phoenix("unsigned_float", floats(true), Vectors::exact, v -> v, PUnsignedFloat.INSTANCE);
    phoenix("unsigned_double", doubles(true), Vectors::exact, v -> v, PUnsignedDouble.INSTANCE);
    phoenix("decimal", decimals(38, 80), BigDecimal::toString, v -> v, PDecimal.INSTANCE);
  }

  private static void phoenixOthers() {
    phoenix("boolean", booleans(), String::valueOf, v -> v, PBoolean.INSTANCE);
    phoenix("varchar", texts(false), v -> v, v -> v, PVarchar.INSTANCE);
    phoenix("varbinary", blobs(40, true), Bytes::toHex, v -> v, PVarbinary.INSTANCE);
    for (String value : chars().take("phoenix.char")) {
      for (SortOrder order : SortOrder.values()) {
        byte[] bare = PChar.INSTANCE.toBytes(value, order);
        print("phoenix", "char", order == SortOrder.DESC, "{\"width_bytes\":" + CHAR_WIDTH + "}",
            value, PChar.INSTANCE.pad(bare, CHAR_WIDTH, order));
      }
    }
    for (byte[] value : blobs(BINARY_WIDTH, true).take("phoenix.binary")) {
      for (SortOrder order : SortOrder.values()) {
        byte[] bare = PBinary.INSTANCE.toBytes(value, order);
        print("phoenix", "binary", order == SortOrder.DESC,
            "{\"width_bytes\":" + BINARY_WIDTH + "}", Bytes.toHex(value),
            PBinary.INSTANCE.pad(bare, BINARY_WIDTH, order));
      }
    }
  }

  private static void phoenixTimes() {
    phoenix("date", times(FIRST_MS), String::valueOf, Date::new, PDate.INSTANCE);
    phoenix("time", times(FIRST_MS), String::valueOf, Time::new, PTime.INSTANCE);
    phoenix("timestamp", instants(FIRST_MS), String::valueOf, Vectors::timestamp,
        PTimestamp.INSTANCE);
    phoenix("unsigned_date", times(0), String::valueOf, Date::new, PUnsignedDate.INSTANCE);
    phoenix("unsigned_time", times(0), String::valueOf, Time::new, PUnsignedTime.INSTANCE);
    phoenix("unsigned_timestamp", instants(0), String::valueOf, Vectors::timestamp,
        PUnsignedTimestamp.INSTANCE);
  }

  private static <T> void phoenix(String type, Source<T> values, Function<T, String> shown,
      Function<T, Object> converted, PDataType<?> encoder) {
    for (T value : values.take("phoenix." + type)) {
      for (SortOrder order : SortOrder.values()) {
        print("phoenix", type, order == SortOrder.DESC, "{}", shown.apply(value),
            encoder.toBytes(converted.apply(value), order));
      }
    }
  }

  private static Timestamp timestamp(BigInteger nanos) {
    BigInteger[] parts = nanos.divideAndRemainder(BigInteger.valueOf(1_000_000_000));
    long seconds = parts[0].longValue() - (parts[1].signum() < 0 ? 1 : 0);
    Timestamp result = new Timestamp(seconds * 1000);
    result.setNanos(parts[1].intValue() + (parts[1].signum() < 0 ? 1_000_000_000 : 0));
    return result;
  }

  // --- values ------------------------------------------------------------------------------------

  /** The edges of a type, then random values. */
  private record Source<T>(T[] edges, Function<Random, T> random) {
    Iterable<T> take(String seed) {
      Random generator = new Random(seed.hashCode());
      Set<Object> seen = new LinkedHashSet<>();
      java.util.List<T> taken = new java.util.ArrayList<>();
      int tries = 0;
      while (taken.size() < count && tries < 20 * count) {
        T value = tries < edges.length ? edges[tries] : random.apply(generator);
        tries++;
        if (seen.add(value instanceof byte[] data ? Bytes.toHex(data) : value)) {
          taken.add(value);
        }
      }
      return taken;
    }
  }

  private static Source<BigInteger> integers(int bits) {
    BigInteger half = BigInteger.ONE.shiftLeft(bits - 1);
    BigInteger[] edges = Arrays.stream(new long[] {0, 1, -1, 2, -2, 42, 100, -100, 127, -128})
        .mapToObj(BigInteger::valueOf).toArray(BigInteger[]::new);
    edges = Arrays.copyOf(edges, edges.length + 4);
    edges[edges.length - 4] = half.subtract(BigInteger.ONE);
    edges[edges.length - 3] = half.negate();
    edges[edges.length - 2] = half.subtract(BigInteger.TWO);
    edges[edges.length - 1] = half.negate().add(BigInteger.ONE);
    return new Source<>(edges, r -> {
      BigInteger size = new BigInteger(r.nextInt(bits), r);
      return r.nextBoolean() ? size : size.negate();
    });
  }

  private static Source<BigInteger> naturals(int bits) {
    BigInteger end = BigInteger.ONE.shiftLeft(bits);
    BigInteger[] edges = {BigInteger.ZERO, BigInteger.ONE, end.subtract(BigInteger.ONE),
      end.subtract(BigInteger.TWO), end.shiftRight(1), BigInteger.valueOf(100)};
    return new Source<>(edges, r -> new BigInteger(r.nextInt(bits + 1), r));
  }

  private static Source<Float> floats(boolean unsigned) {
    Float[] edges = {0f, -0f, 1f, 1.5f, Float.MIN_VALUE, Float.MIN_NORMAL, Float.MAX_VALUE, 0.1f,
      Float.POSITIVE_INFINITY, Float.NaN, Math.nextDown(Float.MIN_NORMAL), 3 * Float.MIN_VALUE,
      -1f, -1.5f, -Float.MIN_VALUE, -Float.MIN_NORMAL, -Float.MAX_VALUE, -0.1f,
      Float.NEGATIVE_INFINITY};
    return new Source<>(unsigned ? Arrays.copyOf(edges, 12) : edges, r -> {
      float value = Float.intBitsToFloat(unsigned ? r.nextInt() & Integer.MAX_VALUE : r.nextInt());
      return Float.isNaN(value) ? Float.NaN : value;
    });
  }

  private static Source<Double> doubles(boolean unsigned) {
    Double[] edges = {0d, -0d, 1d, 1.5, Double.MIN_VALUE, Double.MIN_NORMAL, Double.MAX_VALUE, 0.1,
      Double.POSITIVE_INFINITY, Double.NaN, Math.nextDown(Double.MIN_NORMAL), 3 * Double.MIN_VALUE,
      -1d, -1.5, -Double.MIN_VALUE, -Double.MIN_NORMAL, -Double.MAX_VALUE, -0.1,
      Double.NEGATIVE_INFINITY};
    return new Source<>(unsigned ? Arrays.copyOf(edges, 12) : edges, r -> {
      long bits = unsigned ? r.nextLong() & Long.MAX_VALUE : r.nextLong();
      double value = Double.longBitsToDouble(bits);
      return Double.isNaN(value) ? Double.NaN : value;
    });
  }

  private static Source<Boolean> booleans() {
    return new Source<>(new Boolean[] {false, true}, Random::nextBoolean);
  }

  /** Numbers of at most `precision` digits whose exponent stays within what all types store. */
  private static Source<BigDecimal> decimals(int precision, int exponent) {
    String nines = "9".repeat(precision);
    BigDecimal[] edges = Arrays.stream(new String[] {"0", "1", "-1", "10", "-10", "100", "99",
      "-99", "0.1", "-0.1", "0.01", "-0.01", "0.001", "123.456", "-10.5", "1.0", "1.10", "0.00",
      "1E20", "1E21", "1E22", "-1E20", "-1E21", "1E-20", "-1E-21", "1E40", "1E-40", nines,
      "-" + nines, nines.substring(1) + ".9", "-" + nines.substring(1) + ".9", "0." + nines,
      "-0." + nines, "0.0" + nines, nines + "E40", "-" + nines + "E40", "1E79", "1E-79", "-1E79",
      "-1E-79"})
        .map(BigDecimal::new).toArray(BigDecimal[]::new);
    return new Source<>(edges, r -> {
      int digits = 1 + r.nextInt(precision);
      BigInteger unscaled = new BigInteger(digits * 4, r).mod(BigInteger.TEN.pow(digits));
      int scale = r.nextInt(3) == 0 ? r.nextInt(2 * exponent) - exponent : r.nextInt(digits + 3);
      return new BigDecimal(r.nextBoolean() ? unscaled : unscaled.negate(), scale);
    });
  }

  private static Source<String> texts(boolean withNul) {
    String[] edges = {"", "a", "ab", "b", "aa", "a b", " ", "a ", "~", "\u0001", "\u007f",
      "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\ud800\udc00", "\udbff\udfff",
      "\ud83d\ude00", "Z\u00fcrich", "\u6771\u4eac", "e\u0301", "\"\\", "x".repeat(200),
      withNul ? "\u0000" : "\n", withNul ? "a\u0000b" : "a\tb"};
    return new Source<>(edges, r -> {
      StringBuilder text = new StringBuilder();
      for (int left = r.nextInt(24); left > 0; left--) {
        int[] ends = {0x7f, 0xff, 0xffff, Character.MAX_CODE_POINT};
        int point = 1 + r.nextInt(ends[r.nextInt(ends.length)]);
        text.appendCodePoint(point >= 0xd800 && point < 0xe000 ? 'x' : point);
      }
      return text.toString();
    });
  }

  private static Source<String> chars() {
    String[] edges = {"", "a", "ab", " a", "a b", "~", "!", "0123456789", "ABCDEFGHIJ", "\u007f"};
    return new Source<>(edges, r -> {
      StringBuilder text = new StringBuilder();
      for (int left = r.nextInt(CHAR_WIDTH + 1); left > 0; left--) {
        text.append((char) (' ' + r.nextInt(0x7f - ' ' + 1)));
      }
      return text.toString().replaceAll(" +$", "");
    });
  }

  private static Source<byte[]> blobs(int longest, boolean withNul) {
    byte low = (byte) (withNul ? 0 : 1);
    byte[][] edges = {{}, {1}, {-1}, {low}, {-1, -1}, {low, low}, {127, -128}, {1, low},
      {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, 8}, {-1, -1, -1, -1, -1, -1, -1},
      {low, low, low, low, low, low, low, low}};
    return new Source<>(edges, r -> {
      byte[] data = new byte[r.nextInt(longest + 1)];
      r.nextBytes(data);
      for (int at = 0; at < data.length; at++) {
        data[at] = r.nextInt(8) == 0 ? low : data[at] == 0 ? low : data[at];
      }
      return data;
    });
  }

  private static Source<Long> times(long first) {
    Long[] edges = {0L, 1L, 999L, 1000L, 1700000000000L, 951782400000L, LAST_MS, LAST_MS - 1,
      first, first + 1, first == 0 ? 2L : -1L, first == 0 ? 3L : -1000L};
    return new Source<>(edges, r -> r.nextLong(first, LAST_MS + 1));
  }

  private static Source<BigInteger> instants(long first) {
    BigInteger million = BigInteger.valueOf(1_000_000);
    long[] edges = {0, 1000, 999_000, 1_000_000, 1_001_000, 999_999_000, 1_000_000_000,
      1700000000123456000L, first == 0 ? 5000 : -1000, first == 0 ? 6000 : -1_000_000,
      first == 0 ? 7000 : -1_001_000, first == 0 ? 123 : 1, 999, 1_999_999};
    BigInteger[] all = new BigInteger[edges.length + 2];
    for (int at = 0; at < edges.length; at++) {
      all[at] = BigInteger.valueOf(edges[at]);
    }
    all[edges.length] = BigInteger.valueOf(first).multiply(million);
    all[edges.length + 1] = BigInteger.valueOf(LAST_MS).multiply(million)
        .add(BigInteger.valueOf(999_000));
    return new Source<>(all, r -> BigInteger.valueOf(r.nextLong(first, LAST_MS + 1))
        .multiply(million).add(BigInteger.valueOf(r.nextInt(1000) * 1000L)));
  }

  // --- output ------------------------------------------------------------------------------------

  private static String exact(Number value) {
    return Double.toHexString(value.doubleValue());
  }

  /** `Bytes` keeps the scale: 1.0 and 1.00 are two values. */
  private static String unscaled(BigDecimal value) {
    return value.unscaledValue() + "E" + -value.scale();
  }

  private static void print(
      String family, String type, boolean desc, String params, String value, byte[] data) {
    StringBuilder text = new StringBuilder();
    for (char unit : value.toCharArray()) {
      boolean plain = unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\';
      text.append(plain ? String.valueOf(unit) : String.format("\\u%04x", (int) unit));
    }
    System.out.println(String.format(
        "{\"family\":\"%s\",\"type\":\"%s\",\"desc\":%s,\"params\":%s,\"value\":\"%s\",\"hex\":\"%s\"}",
        family, type, desc, params, text, Bytes.toHex(data)));
  }
}
