import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.RegionSplitter;

/**
 * Prints one JSON line for each call of HBase's split algorithms and of its notation of row keys:
 * what was called, its arguments, and the result in hex, or null if it throws.
 */
public final class Splits {
  private static final int[] REGIONS = {-1, 0, 1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 17, 31, 100, 257};
  private static final String[][] HEX = {
    {"00000000", "FFFFFFFF"}, {"0000000000000000", "ffffffffffffffff"}, {"0", "f"}, {"0", "F"},
    {"5", "A"}, {"00", "ff"}, {"0000", "ff"}, {"0", "ffff"}, {"ff", "00"}, {"ff", "ff"},
    {"10", "1f"}, {"0a", "0b"}, {"00000000000000000000000000000000",
      "ffffffffffffffffffffffffffffffff"}, {"000", "0ff"}, {"xyz", "ff"}, {"", "ff"}
  };
  private static final String[][] DECIMAL = {
    {"00000000", "99999999"}, {"0", "9"}, {"1", "12"}, {"01", "12"}, {"0000", "0011"},
    {"000", "999"}, {"20200101", "20291231"}, {"9", "10"}, {"5", "5"}, {"6", "5"}, {"a", "b"},
    {"0000000000000000000", "9223372036854775807"}
  };
  private static final String[][] BYTES = {
    {"", "ffffffffffffffff"}, {"", "ff"}, {"00", "ff"}, {"01", "02"}, {"01", "0100"},
    {"0100", "01"}, {"", ""}, {"", "00"}, {"", "01"}, {"00", "0001"}, {"61", "65"},
    {"fe", "ff"}, {"ff", "fe"}, {"ff", "ffff"}, {"80", "8080"}, {"7f", "80"}, {"00ff", "0100"},
    {"30303030303030303030303030303030", "66666666666666666666666666666666"},
    {"00000000", "00000003"}, {"fffffffe", "ffffffff"}
  };

  public static void main(String[] arguments) {
    for (int regions : REGIONS) {
      for (String[] ends : HEX) {
        print("hex_string_split", text(ends), regions,
            () -> numbers(new RegionSplitter.HexStringSplit(), regions, ends));
        print("guide_hex_split", text(ends), regions, () -> guide(regions, ends));
      }
      for (String[] ends : DECIMAL) {
        print("decimal_string_split", text(ends), regions,
            () -> numbers(new RegionSplitter.DecimalStringSplit(), regions, ends));
      }
      for (String[] ends : BYTES) {
        bytes(regions, ends);
      }
    }
    random(new Random(5));
    notation(new Random(6));
  }

  private static void bytes(int regions, String[] ends) {
    byte[] first = Bytes.fromHex(ends[0]);
    byte[] last = Bytes.fromHex(ends[1]);
    print("uniform_split", text(ends), regions, () -> uniform(regions, first, last));
    print("bytes_split", text(ends), regions, () -> Bytes.split(first, last, false, regions));
    print("bytes_split_inclusive", text(ends), regions,
        () -> Bytes.split(first, last, true, regions));
  }

  private static void random(Random generator) {
    for (int count = 0; count < 400; count++) {
      byte[][] ends = {new byte[generator.nextInt(9)], new byte[generator.nextInt(9)]};
      Arrays.stream(ends).forEach(generator::nextBytes);
      if (ends[0].length > 0 && generator.nextBoolean()) {
        ends[1] = Arrays.copyOf(ends[0], ends[1].length); // often a common beginning
      }
      int regions = 1 + generator.nextInt(40);
      bytes(regions, new String[] {Bytes.toHex(ends[0]), Bytes.toHex(ends[1])});
      String[] digits = {Bytes.toHex(ends[0]), Bytes.toHex(ends[1])};
      print("hex_string_split", text(digits), regions,
          () -> numbers(new RegionSplitter.HexStringSplit(), regions, digits));
    }
  }

  private static byte[][] numbers(
      RegionSplitter.NumberStringSplit algorithm, int regions, String[] ends) {
    algorithm.setFirstRow(ends[0]);
    algorithm.setLastRow(ends[1]);
    return algorithm.split(regions);
  }

  private static byte[][] uniform(int regions, byte[] first, byte[] last) {
    RegionSplitter.UniformSplit algorithm = new RegionSplitter.UniformSplit();
    algorithm.setFirstRow(first);
    algorithm.setLastRow(last);
    return algorithm.split(regions);
  }

  /** The arithmetic that HBase's reference guide gives as `getHexSplits`. */
  private static byte[][] guide(int regions, String[] ends) {
    java.math.BigInteger low = new java.math.BigInteger(ends[0], 16);
    java.math.BigInteger step = new java.math.BigInteger(ends[1], 16).subtract(low)
        .divide(java.math.BigInteger.valueOf(regions));
    byte[][] keys = new byte[regions - 1][];
    for (int number = 1; number < regions; number++) {
      keys[number - 1] = Bytes.toBytes(String.format(
          "%016x", low.add(step.multiply(java.math.BigInteger.valueOf(number)))));
    }
    return keys;
  }

  private static void notation(Random generator) {
    for (int value = 0; value < 256; value++) {
      shown(new byte[] {(byte) value});
    }
    String letters = "\\\\\\xxX00fFaA9g \u00fc\u20ac";
    for (int count = 0; count < 2000; count++) {
      byte[] data = new byte[generator.nextInt(12)];
      generator.nextBytes(data);
      shown(data);
      String text = generator.ints(generator.nextInt(9), 0, letters.length())
          .mapToObj(at -> letters.substring(at, at + 1)).collect(Collectors.joining());
      print("from_string_binary", "\"" + hexOf(text) + "\"", 0,
          () -> new byte[][] {Bytes.toBytesBinary(text)});
    }
  }

  private static void shown(byte[] data) {
    print("to_string_binary", "\"" + Bytes.toHex(data) + "\"", 0,
        () -> new byte[][] {Bytes.toBytes(Bytes.toStringBinary(data))});
  }

  // --- output ------------------------------------------------------------------------------------

  private static String hexOf(String text) {
    return Bytes.toHex(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String text(String[] ends) {
    return "\"" + ends[0] + "\",\"" + ends[1] + "\"";
  }

  private static void print(String call, String ends, int number, Supplier<byte[][]> result) {
    String keys;
    try {
      keys = Arrays.stream(result.get()).map(key -> "\"" + Bytes.toHex(key) + "\"")
          .collect(Collectors.joining(",", "[", "]"));
    } catch (RuntimeException refused) {
      keys = "null";
    }
    System.out.println(String.format(
        "{\"call\":\"%s\",\"number\":%d,\"texts\":[%s],\"keys\":%s}", call, number, ends, keys));
  }
}
