package org.hbaseorm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;

/**
 * Answers admin commands: one line of JSON in, one line of JSON out, always on loopback only.
 *
 * <p>Served inside the server's JVM because a JVM for each command would take seconds, and because
 * compaction can then be waited for. Whoever may read the state file knows the token.
 */
final class AdminServer {
  private static final int TOKEN_BYTES = 24;
  private static final int BACKLOG = 16;

  private final ServerSocket socket;
  private final String token;
  private final Connection connection;
  private final AdminCommands commands;

  private AdminServer(ServerSocket socket, String token, Cluster cluster, Connection connection) {
    this.socket = socket;
    this.token = token;
    this.connection = connection;
    this.commands = new AdminCommands(cluster, connection);
  }

  static AdminServer start(int port, Cluster cluster, Configuration conf) throws IOException {
    byte[] random = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(random);
    Connection connection = ConnectionFactory.createConnection(conf);
    ServerSocket socket = new ServerSocket(port, BACKLOG, InetAddress.getByName("127.0.0.1"));
    AdminServer server = new AdminServer(socket, Bytes.toHex(random), cluster, connection);
    daemon("admin", server::accept);
    return server;
  }

  private static void daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Close the connection to HBase; later commands fail. */
  void stop() {
    try {
      connection.close();
    } catch (IOException e) {
      System.out.println("closing the admin connection: " + e);
    }
  }

  int port() {
    return socket.getLocalPort();
  }

  String token() {
    return token;
  }

  private void accept() {
    while (true) {
      try {
        Socket client = socket.accept();
        daemon("admin-call", () -> answer(client));
      } catch (IOException e) {
        EmbeddedHBase.die("the admin port failed: " + e, e);
        return;
      }
    }
  }

  private void answer(Socket client) {
    try (client) {
      BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
      String line = lines.readLine();
      if (line != null) {
        String reply = reply(line) + "\n";
        client.getOutputStream().write(reply.getBytes(StandardCharsets.UTF_8));
        client.getOutputStream().flush();
      }
    } catch (IOException e) {
      System.out.println("admin client went away: " + e);
    }
  }

  private String reply(String line) {
    JsonObject reply = new JsonObject();
    try {
      JsonObject request = JsonParser.parseString(line).getAsJsonObject();
      JsonElement given = request.get("token");
      if (given == null || !same(given.getAsString(), token)) {
        throw new SecurityException("wrong token");
      }
      reply.add("result", commands.run(request));
    } catch (Exception e) {
      reply.addProperty("error", e.getClass().getName());
      reply.addProperty("message", String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }
    return reply.toString();
  }

  private static boolean same(String a, String b) {
    return MessageDigest.isEqual(
        a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
  }
}
