package org.hbaseorm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line of {@link EmbeddedHBase}: a role, then {@code --name value} pairs.
 *
 * <p>{@code --set name=value} may be repeated and goes to HBase's own configuration. Names that are
 * not known are refused, so that a misspelt option never starts a server with other properties than
 * the caller believes.
 */
final class Arguments {
  private static final List<String> NAMES =
      List.of(
          "data",
          "bind",
          "hostname",
          "thrift1",
          "thrift2",
          "zookeeper",
          "admin",
          "quorum",
          "region-servers",
          "thrift",
          "health",
          "state",
          "nonce",
          "parent",
          "delete-data");

  final String role;
  final List<String> settings = new ArrayList<>();
  private final Map<String, String> values = new HashMap<>();

  Arguments(String[] arguments) {
    if (arguments.length == 0) {
      throw new IllegalArgumentException("the first argument must be 'server' or 'gateway'");
    }
    role = arguments[0];
    for (int i = 1; i < arguments.length; i += 2) {
      String name = arguments[i].startsWith("--") ? arguments[i].substring(2) : "";
      if (!NAMES.contains(name) && !name.equals("set")) {
        throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
      if (i + 1 == arguments.length) {
        throw new IllegalArgumentException("option without a value: " + arguments[i]);
      }
      if (name.equals("set")) {
        settings.add(arguments[i + 1]);
      } else {
        values.put(name, arguments[i + 1]);
      }
    }
  }

  boolean has(String name) {
    return values.containsKey(name);
  }

  String get(String name, String otherwise) {
    return values.getOrDefault(name, otherwise);
  }

  String get(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("missing option --" + name);
    }
    return value;
  }

  int number(String name, int otherwise) {
    return Integer.parseInt(get(name, Integer.toString(otherwise)));
  }
}
