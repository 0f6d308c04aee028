package org.hbaseorm;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;

/** The few file operations of the server: delete a tree, touch a file. */
final class Folders {
  private Folders() {}

  /** Delete a file, or a folder with all in it; symbolic links are removed, never followed. */
  static void delete(File file) {
    if (!Files.isSymbolicLink(file.toPath())) {
      File[] children = file.listFiles();
      if (children != null) {
        for (File child : children) {
          delete(child);
        }
      }
    }
    file.delete();
  }

  /** Make the file or set its time to now. */
  static void touch(File file) {
    try {
      new FileOutputStream(file, true).close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    file.setLastModified(System.currentTimeMillis());
  }
}
