import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.types.DataType;
import org.apache.hadoop.hbase.types.FixedLengthWrapper;
import org.apache.hadoop.hbase.types.OrderedBlob;
import org.apache.hadoop.hbase.types.OrderedBlobVar;
import org.apache.hadoop.hbase.types.OrderedFloat32;
import org.apache.hadoop.hbase.types.OrderedFloat64;
import org.apache.hadoop.hbase.types.OrderedInt16;
import org.apache.hadoop.hbase.types.OrderedInt32;
import org.apache.hadoop.hbase.types.OrderedInt64;
import org.apache.hadoop.hbase.types.OrderedInt8;
import org.apache.hadoop.hbase.types.OrderedNumeric;
import org.apache.hadoop.hbase.types.OrderedString;
import org.apache.hadoop.hbase.types.RawInteger;
import org.apache.hadoop.hbase.types.RawLong;
import org.apache.hadoop.hbase.types.RawString;
import org.apache.hadoop.hbase.types.RawStringTerminated;
import org.apache.hadoop.hbase.types.Struct;
import org.apache.hadoop.hbase.types.StructBuilder;
import org.apache.hadoop.hbase.types.TerminatedWrapper;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hadoop.hbase.util.SimplePositionedMutableByteRange;
import org.apache.phoenix.util.PhoenixRuntime;

/**
 * Prints one JSON line for each row key of several parts: those of HBase's Struct, and those
 * that Phoenix makes for the rows of tables with such primary keys (of a connection without a
 * server). Values are exact, as {@code Vectors} prints them.
 */
public final class Keys {
  private static final int MAX_BYTES = 1000;
  private static final int STRUCTS = 400;
  private static final int TABLES = 200;
  private static final int ROWS = 4;
  private static final int[] BUCKETS = {0, 0, 0, 2, 3, 16, 256};
  private static final Random RANDOM = new Random(20240229);

  private static final String[] INTEGERS = {"0", "1", "-1", "42", "100", "-128", "127"};
  private static final String[] NATURALS = {"0", "1", "42", "100", "127"};
  private static final String[] REALS = {"0x0.0p0", "-0x0.0p0", "0x1.8p0", "-0x1.8p0", "0x1.0p100",
    "-0x1.0p-100", "Infinity", "-Infinity", "0x1.0p0"};
  private static final String[] FINITE = {"0x0.0p0", "-0x0.0p0", "0x1.8p0", "-0x1.8p0",
    "0x1.0p100", "-0x1.0p-100", "0x1.0p0"};
  private static final String[] POSITIVE = {"0x0.0p0", "0x1.8p0", "0x1.0p100"};
  private static final String[] DECIMALS = {"0", "1", "-1", "10", "-10.5", "123.456", "99", "-99",
    "0.01", "-0.001", "1E+20", "-1E+20", "123456789012345678", "-9876543210.123456789"};
  private static final String[] TEXTS = {"a", "ab", "abc", "b", "host1", "host12", "a b",
    "Z\u00fcrich", "\ud83d\ude00", "\u0001", "\uffff"};
  private static final String[] CHARS = {"a", "ab", "abc", "host1", "host12", "~", "0123456789"};
  private static final String[] BLOBS = {"00", "01", "ff", "0001", "00ff", "ffff", "61", "6162",
    "01020304050607", "0102030405060708"};
  private static final String[] TIMES = {"0", "1", "-1", "1700000000000", "951782400000"};
  private static final String[] INSTANTS = {"0", "1000", "1700000000123456000", "999999000"};

  /** A type: the codec's name, its parameters, and some values. */
  private record Type(String codec, String params, boolean last, String[] values) {}

  private record Member(Type type, boolean desc) {
    String shown() {
      return String.format("{\"codec\":\"%s\",\"desc\":%s,\"params\":%s}", type.codec, desc,
          type.params);
    }
  }

  // --- HBase's Struct ----------------------------------------------------------------------------

  private static final Map<Type, DataType<?>[]> HBASE = new LinkedHashMap<>();
  private static final Map<Type, Function<String, Object>> READ = new LinkedHashMap<>();

  private static void hbase(String codec, String params, boolean last, String[] values,
      DataType<?> ascending, DataType<?> descending, Function<String, Object> read) {
    Type type = new Type(codec, params, last, values);
    HBASE.put(type, new DataType<?>[] {ascending, descending});
    READ.put(type, read);
  }

  private static void ordered(String type, String[] values, DataType<?> ascending,
      DataType<?> descending, Function<String, Object> read) {
    hbase("ordered." + type, "{}", false, values, ascending, descending, read);
  }

  private static void hbaseTypes() {
    ordered("int8", INTEGERS, OrderedInt8.ASCENDING, OrderedInt8.DESCENDING, Byte::valueOf);
    ordered("int16", INTEGERS, OrderedInt16.ASCENDING, OrderedInt16.DESCENDING, Short::valueOf);
    ordered("int32", INTEGERS, OrderedInt32.ASCENDING, OrderedInt32.DESCENDING, Integer::valueOf);
    ordered("int64", INTEGERS, OrderedInt64.ASCENDING, OrderedInt64.DESCENDING, Long::valueOf);
    ordered("float32", REALS, OrderedFloat32.ASCENDING, OrderedFloat32.DESCENDING, Float::valueOf);
    ordered("float64", REALS, OrderedFloat64.ASCENDING, OrderedFloat64.DESCENDING, Double::valueOf);
    ordered("numeric", DECIMALS, OrderedNumeric.ASCENDING, OrderedNumeric.DESCENDING,
        BigDecimal::new);
    ordered("utf8", TEXTS, OrderedString.ASCENDING, OrderedString.DESCENDING, v -> v);
    ordered("blob", BLOBS, OrderedBlobVar.ASCENDING, OrderedBlobVar.DESCENDING, Bytes::fromHex);
    hbase("ordered.blobcopy", "{}", true, new String[] {"01", "ff", "61", "6162", ""},
        OrderedBlob.ASCENDING, OrderedBlob.DESCENDING, Bytes::fromHex);
    hbase("bytes.int32", "{}", false, INTEGERS, new RawInteger(), null, Integer::valueOf);
    hbase("bytes.int64", "{}", false, INTEGERS, new RawLong(), null, Long::valueOf);
    hbase("text", "{\"separator\":\"00\"}", false, TEXTS,
        new RawStringTerminated(new byte[] {0}), null, v -> v);
    hbase("text", "{\"separator\":\"3a3a\"}", false, TEXTS,
        new TerminatedWrapper<>(RawString.ASCENDING, "::"), null, v -> v);
    hbase("text", "{\"width_bytes\":12}", false, TEXTS,
        new FixedLengthWrapper<>(RawString.ASCENDING, 12), null, v -> v);
  }

  private static void structs() {
    for (int number = 0; number < STRUCTS; number++) {
      List<Member> members = members(new ArrayList<>(HBASE.keySet()));
      // Only OrderedBytes has a descending form; a terminated last member is terminated there too.
      members.replaceAll(m -> new Member(m.type, m.desc && HBASE.get(m.type)[1] != null));
      Member last = members.get(members.size() - 1);
      if (last.type.params.contains("separator")) {
        members.add(new Member(new ArrayList<>(HBASE.keySet()).get(2), false));
      }
      StructBuilder builder = new StructBuilder();
      String[] values = new String[members.size()];
      Object[] objects = new Object[members.size()];
      for (int at = 0; at < values.length; at++) {
        Type type = members.get(at).type;
        builder.add(HBASE.get(type)[members.get(at).desc ? 1 : 0]);
        values[at] = type.values[RANDOM.nextInt(type.values.length)];
        objects[at] = READ.get(type).apply(values[at]);
      }
      SimplePositionedMutableByteRange range = new SimplePositionedMutableByteRange(MAX_BYTES);
      Struct struct = builder.toStruct();
      int length = struct.encode(range, objects);
      print("struct", 0, members, values, Arrays.copyOf(range.getBytes(), length));
    }
  }

  private static List<Member> members(List<Type> types) {
    int size = 1 + RANDOM.nextInt(4);
    List<Member> members = new ArrayList<>();
    while (members.size() < size) {
      Type type = types.get(RANDOM.nextInt(types.size()));
      boolean desc = RANDOM.nextBoolean();
      if (!type.last || (members.size() == size - 1 && !desc) || type.codec.startsWith("ordered")
          && members.size() == size - 1) {
        members.add(new Member(type, desc));
      }
    }
    return members;
  }

  // --- Phoenix -----------------------------------------------------------------------------------

  private static final Map<Type, String> SQL = new LinkedHashMap<>();

  private static void sql(String codec, String params, boolean last, String[] values, String name) {
    SQL.put(new Type("phoenix." + codec, params, last, values), name);
  }

  private static void phoenixTypes() {
    sql("tinyint", "{}", false, INTEGERS, "TINYINT");
    sql("smallint", "{}", false, INTEGERS, "SMALLINT");
    sql("integer", "{}", false, INTEGERS, "INTEGER");
    sql("bigint", "{}", false, INTEGERS, "BIGINT");
    sql("unsigned_tinyint", "{}", false, NATURALS, "UNSIGNED_TINYINT");
    sql("unsigned_smallint", "{}", false, NATURALS, "UNSIGNED_SMALLINT");
    sql("unsigned_int", "{}", false, NATURALS, "UNSIGNED_INT");
    sql("unsigned_long", "{}", false, NATURALS, "UNSIGNED_LONG");
    sql("float", "{}", false, FINITE, "FLOAT");
    sql("double", "{}", false, FINITE, "DOUBLE");
    sql("unsigned_float", "{}", false, POSITIVE, "UNSIGNED_FLOAT");
    sql("unsigned_double", "{}", false, POSITIVE, "UNSIGNED_DOUBLE");
    sql("decimal", "{}", false, DECIMALS, "DECIMAL");
    sql("boolean", "{}", false, new String[] {"true", "false"}, "BOOLEAN");
    sql("varchar", "{}", false, TEXTS, "VARCHAR");
    sql("varchar", "{}", false, TEXTS, "VARCHAR");
    sql("char", "{\"width_bytes\":10}", false, CHARS, "CHAR(10)");
    sql("binary", "{\"width_bytes\":8}", false, BLOBS, "BINARY(8)");
    sql("varbinary", "{}", true, BLOBS, "VARBINARY");
    sql("date", "{}", false, TIMES, "DATE");
    sql("time", "{}", false, TIMES, "TIME");
    sql("timestamp", "{}", false, INSTANTS, "TIMESTAMP");
  }

  private static Object value(String codec, String text) {
    String kind = codec.substring(codec.indexOf('.') + 1).replace("unsigned_", "");
    return switch (kind) {
      case "tinyint" -> Byte.valueOf(text);
      case "smallint" -> Short.valueOf(text);
      case "integer", "int" -> Integer.valueOf(text);
      case "bigint", "long" -> Long.valueOf(text);
      case "float" -> Float.valueOf(text);
      case "double" -> Double.valueOf(text);
      case "decimal" -> new BigDecimal(text);
      case "boolean" -> Boolean.valueOf(text);
      case "binary", "varbinary" -> Bytes.fromHex(text);
      case "date" -> new Date(Long.parseLong(text));
      case "time" -> new Time(Long.parseLong(text));
      case "timestamp" -> timestamp(Long.parseLong(text));
      default -> text;
    };
  }

  private static Timestamp timestamp(long nanos) {
    Timestamp result = new Timestamp(nanos / 1_000_000);
    result.setNanos((int) (nanos % 1_000_000_000));
    return result;
  }

  private static void tables() throws Exception {
    try (Connection connection = DriverManager.getConnection("jdbc:phoenix:none")) {
      for (int number = 0; number < TABLES; number++) {
        List<Member> members = members(new ArrayList<>(SQL.keySet()));
        int buckets = BUCKETS[RANDOM.nextInt(BUCKETS.length)];
        create(connection, number, buckets, members);
        for (int row = 0; row < ROWS; row++) {
          upsert(connection, number, buckets, members);
        }
      }
    }
  }

  private static void create(Connection connection, int number, int buckets, List<Member> members)
      throws Exception {
    List<String> columns = new ArrayList<>();
    List<String> key = new ArrayList<>();
    for (int at = 0; at < members.size(); at++) {
      columns.add("k" + at + " " + SQL.get(members.get(at).type) + " NOT NULL");
      key.add("k" + at + (members.get(at).desc ? " DESC" : ""));
    }
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE t" + number + " (" + String.join(", ", columns)
          + ", v INTEGER CONSTRAINT pk PRIMARY KEY (" + String.join(", ", key) + "))"
          + (buckets == 0 ? "" : " SALT_BUCKETS=" + buckets));
    }
  }

  private static void upsert(Connection connection, int number, int buckets, List<Member> members)
      throws Exception {
    String marks = members.stream().map(m -> "?").collect(Collectors.joining(", "));
    String[] values = new String[members.size()];
    try (PreparedStatement statement =
        connection.prepareStatement("UPSERT INTO t" + number + " VALUES (" + marks + ", 1)")) {
      for (int at = 0; at < values.length; at++) {
        Type type = members.get(at).type;
        values[at] = type.values[RANDOM.nextInt(type.values.length)];
        statement.setObject(at + 1, value(type.codec, values[at]));
      }
      statement.executeUpdate();
    }
    Iterator<Pair<byte[], List<Cell>>> rows = PhoenixRuntime.getUncommittedDataIterator(connection);
    byte[] key = CellUtil.cloneRow(rows.next().getSecond().get(0));
    connection.rollback();
    print("phoenix", buckets, members, values, key);
  }

  // --- output ------------------------------------------------------------------------------------

  private static void print(
      String maker, int buckets, List<Member> members, String[] values, byte[] key) {
    String shown = members.stream().map(Member::shown).collect(Collectors.joining(","));
    String texts = Arrays.stream(values).map(Keys::quoted).collect(Collectors.joining(","));
    System.out.println(String.format(
        "{\"maker\":\"%s\",\"buckets\":%d,\"members\":[%s],\"values\":[%s],\"hex\":\"%s\"}", maker,
        buckets, shown, texts, Bytes.toHex(key)));
  }

  private static String quoted(String value) {
    StringBuilder text = new StringBuilder("\"");
    for (char unit : value.toCharArray()) {
      boolean plain = unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\';
      text.append(plain ? String.valueOf(unit) : String.format("\\u%04x", (int) unit));
    }
    return text.append('"').toString();
  }

  public static void main(String[] arguments) throws Exception {
    hbaseTypes();
    phoenixTypes();
    structs();
    tables();
  }
}
