package org.hbaseorm;

import java.util.List;
import java.util.Optional;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.coprocessor.ObserverContext;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessor;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessorEnvironment;
import org.apache.hadoop.hbase.coprocessor.RegionObserver;
import org.apache.hadoop.hbase.regionserver.RegionScanner;
import org.apache.hadoop.hbase.wal.WALEdit;

/**
 * For tests: delays chosen calls inside the region, before they are done or before they are
 * answered.
 *
 * <p>Never loaded unless asked for with {@code
 * hbase.coprocessor.region.classes=org.hbaseorm.DelayObserver}. What it delays is set at run time
 * ({@link Delays}). A delay "before" sleeps without the row's lock, so that other writers overtake;
 * a delay "after" sleeps when the change can already be read, which is a late answer.
 */
public final class DelayObserver implements RegionCoprocessor, RegionObserver {
  @Override
  public Optional<RegionObserver> getRegionObserver() {
    return Optional.of(this);
  }

  private static void delay(
      ObserverContext<RegionCoprocessorEnvironment> context,
      String kind,
      byte[] row,
      boolean after) {
    String table =
        context.getEnvironment().getRegionInfo().getTable().getNameWithNamespaceInclAsString();
    Delays.apply(table, kind, row, after);
  }

  @Override
  public void preGetOp(
      ObserverContext<RegionCoprocessorEnvironment> context, Get get, List<Cell> result) {
    delay(context, "get", get.getRow(), false);
  }

  @Override
  public void postGetOp(
      ObserverContext<RegionCoprocessorEnvironment> context, Get get, List<Cell> result) {
    delay(context, "get", get.getRow(), true);
  }

  @Override
  public void preScannerOpen(ObserverContext<RegionCoprocessorEnvironment> context, Scan scan) {
    delay(context, "scan", scan.getStartRow(), false);
  }

  @Override
  public RegionScanner postScannerOpen(
      ObserverContext<RegionCoprocessorEnvironment> context, Scan scan, RegionScanner scanner) {
    delay(context, "scan", scan.getStartRow(), true);
    return scanner;
  }

  @Override
  public void prePut(
      ObserverContext<RegionCoprocessorEnvironment> context, Put put, WALEdit edit) {
    delay(context, "put", put.getRow(), false);
  }

  @Override
  public void postPut(
      ObserverContext<RegionCoprocessorEnvironment> context, Put put, WALEdit edit) {
    delay(context, "put", put.getRow(), true);
  }

  @Override
  public void preDelete(
      ObserverContext<RegionCoprocessorEnvironment> context, Delete delete, WALEdit edit) {
    delay(context, "delete", delete.getRow(), false);
  }

  @Override
  public void postDelete(
      ObserverContext<RegionCoprocessorEnvironment> context, Delete delete, WALEdit edit) {
    delay(context, "delete", delete.getRow(), true);
  }

  @Override
  public Result preIncrement(
      ObserverContext<RegionCoprocessorEnvironment> context, Increment increment, WALEdit edit) {
    delay(context, "increment", increment.getRow(), false);
    return null;
  }

  @Override
  public Result postIncrement(
      ObserverContext<RegionCoprocessorEnvironment> context,
      Increment increment,
      Result result,
      WALEdit edit) {
    delay(context, "increment", increment.getRow(), true);
    return result;
  }

  @Override
  public Result preAppend(
      ObserverContext<RegionCoprocessorEnvironment> context, Append append, WALEdit edit) {
    delay(context, "append", append.getRow(), false);
    return null;
  }

  @Override
  public Result postAppend(
      ObserverContext<RegionCoprocessorEnvironment> context,
      Append append,
      Result result,
      WALEdit edit) {
    delay(context, "append", append.getRow(), true);
    return result;
  }

  @Override
  public CheckAndMutateResult preCheckAndMutate(
      ObserverContext<RegionCoprocessorEnvironment> context,
      CheckAndMutate checkAndMutate,
      CheckAndMutateResult result) {
    delay(context, "checkAndMutate", checkAndMutate.getRow(), false);
    return result;
  }

  @Override
  public CheckAndMutateResult postCheckAndMutate(
      ObserverContext<RegionCoprocessorEnvironment> context,
      CheckAndMutate checkAndMutate,
      CheckAndMutateResult result) {
    delay(context, "checkAndMutate", checkAndMutate.getRow(), true);
    return result;
  }
}
