package org.hbaseorm;

import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Sends one admin command to the server on this machine: {@code AdminClient STATE-FILE
 * '{"command": …}'}.
 *
 * <p>For use inside a container, where the caller cannot reach the loopback port. It needs no other
 * class, so that it starts in a fraction of a second.
 */
public final class AdminClient {
  private AdminClient() {}

  /** Print the reply, a line of JSON; the exit code is 0 whenever there was a reply. */
  public static void main(String[] arguments) throws Exception {
    String state = Files.readString(Path.of(arguments[0]));
    String token = find(state, "\"token\":\"([0-9a-f]+)\"");
    int port = Integer.parseInt(find(state, "\"admin\":([0-9]+)"));
    String line = "{\"token\":\"" + token + "\"," + arguments[1].strip().substring(1) + "\n";
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
      socket.getOutputStream().flush();
      InputStream reply = socket.getInputStream();
      reply.transferTo(System.out);
    }
  }

  private static String find(String state, String pattern) {
    Matcher matcher = Pattern.compile(pattern).matcher(state);
    if (!matcher.find()) {
      throw new IllegalStateException("not a state file of the server");
    }
    return matcher.group(1);
  }
}
