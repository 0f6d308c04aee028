package org.hbaseorm;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** The lock on the data folder, and the file that tells the launcher how to reach this JVM. */
final class StateFile {
  private final Arguments arguments;
  private final File lockFile;
  private final Path path;
  private FileLock lock;

  StateFile(Arguments arguments, File data) {
    this.arguments = arguments;
    this.lockFile = new File(data, "lock");
    this.path = new File(arguments.get("state", new File(data, "jvm.json").getPath())).toPath();
  }

  /** Take the data folder for this process; it is given back by the operating system at the end. */
  void lock() throws IOException {
    lockFile.getParentFile().mkdirs();
    lock = new RandomAccessFile(lockFile, "rw").getChannel().tryLock();
    if (lock == null) {
      throw new IllegalArgumentException(
          "the data directory is in use by another server: " + lockFile.getParent());
    }
    delete();
  }

  /** Write the file at once and readable by its owner only: it holds the admin token. */
  void write(int zookeeperPort, int adminPort, String token) throws IOException {
    JsonObject state = new JsonObject();
    state.addProperty("pid", ProcessHandle.current().pid());
    state.addProperty("nonce", arguments.get("nonce", ""));
    state.addProperty("zookeeper", zookeeperPort);
    state.addProperty("admin", adminPort);
    state.addProperty("token", token);
    Path part = path.resolveSibling(path.getFileName() + ".part");
    Files.deleteIfExists(part);
    Files.createFile(
        part,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.write(part, state.toString().getBytes(StandardCharsets.UTF_8));
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  void delete() {
    path.toFile().delete();
  }
}
