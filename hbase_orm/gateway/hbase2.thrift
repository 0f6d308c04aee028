// The part of HBase's Thrift2 interface that this library calls.
//
// Written for this library: only the calls, structs and fields it uses, named in its own words.
// Method names, field numbers and types are those of the server (HBase 2.2 and later); struct and
// field names do not travel on the wire. A field the server sends and this file lacks is skipped.

struct TimeRange {
  1: i64 from_ms
  2: i64 until_ms
}

struct ColumnRef {
  1: binary family
  2: binary qualifier
  3: i64 timestamp
}

struct ColumnValue {
  1: binary family
  2: binary qualifier
  3: binary value
  4: i64 timestamp
  6: byte type
}

struct ColumnAmount {
  1: binary family
  2: binary qualifier
  3: i64 amount
}

struct Result {
  1: binary row
  2: list<ColumnValue> values
  3: bool is_stale
}

enum Consistency {
  STRONG = 1
  TIMELINE = 2
}

enum DeleteType {
  COLUMNS = 1
  FAMILY = 2
}

struct GetRequest {
  1: binary row
  2: list<ColumnRef> columns
  4: TimeRange time_range
  5: i32 max_versions
  7: map<binary, binary> attributes
  9: Consistency consistency
}

struct PutRequest {
  1: binary row
  2: list<ColumnValue> values
  5: map<binary, binary> attributes
}

struct DeleteRequest {
  1: binary row
  2: list<ColumnRef> columns
  4: DeleteType kind
}

struct IncrementRequest {
  1: binary row
  2: list<ColumnAmount> columns
}

struct AppendRequest {
  1: binary row
  2: list<ColumnValue> values
}

struct ScanRequest {
  1: binary start_row
  2: binary stop_row
  3: list<ColumnRef> columns
  4: i32 caching
  6: TimeRange time_range
  7: binary filter
  8: i32 batch_cells
  11: bool reversed
  16: Consistency consistency
}

// A union: exactly one field is set.
struct RowChange {
  1: PutRequest put
  2: DeleteRequest remove
}

struct RowChanges {
  1: binary row
  2: list<RowChange> changes
}

enum CompareOperator {
  LESS = 0
  LESS_OR_EQUAL = 1
  EQUAL = 2
  NOT_EQUAL = 3
  GREATER_OR_EQUAL = 4
  GREATER = 5
}

struct RegionInfo {
  1: i64 id
  2: binary table
  3: binary start_key
  4: binary stop_key
}

struct ServerName {
  1: string host
  2: i32 port
}

struct RegionLocation {
  1: ServerName server
  2: RegionInfo region
}

struct TableName {
  1: binary namespace_name
  2: binary qualifier
}

struct Family {
  1: binary name
  2: map<binary, binary> attributes
  3: map<string, string> configuration
  4: i32 block_size
  5: i32 bloom
  6: i32 compression
  7: i16 dfs_replication
  8: i32 block_encoding
  9: i32 keep_deleted_cells
  10: i32 versions
  11: i32 min_versions
  12: i32 scope
  13: i32 ttl_s
  14: bool block_cache
  15: bool cache_blooms_on_write
  16: bool cache_data_on_write
  17: bool cache_indexes_on_write
  18: bool compress_tags
  19: bool evict_on_close
  20: bool in_memory
}

struct Table {
  1: TableName name
  2: list<Family> families
  3: map<binary, binary> attributes
  4: i32 durability
}

struct Namespace {
  1: string name
}

exception ServerFault {
  1: string message
  2: bool can_retry
}

exception IllegalArgumentFault {
  1: string message
}

service HBase2 {
  Result get(1: binary table, 2: GetRequest request) throws (1: ServerFault fault)
  list<Result> getMultiple(1: binary table, 2: list<GetRequest> requests)
    throws (1: ServerFault fault)
  void put(1: binary table, 2: PutRequest request) throws (1: ServerFault fault)
  void putMultiple(1: binary table, 2: list<PutRequest> requests) throws (1: ServerFault fault)
  void deleteSingle(1: binary table, 2: DeleteRequest request) throws (1: ServerFault fault)
  list<DeleteRequest> deleteMultiple(1: binary table, 2: list<DeleteRequest> requests)
    throws (1: ServerFault fault)
  void mutateRow(1: binary table, 2: RowChanges changes) throws (1: ServerFault fault)
  bool checkAndMutate(
    1: binary table, 2: binary row, 3: binary family, 4: binary qualifier,
    5: CompareOperator operator, 6: binary expected, 7: RowChanges changes
  ) throws (1: ServerFault fault)
  Result increment(1: binary table, 2: IncrementRequest request) throws (1: ServerFault fault)
  Result append(1: binary table, 2: AppendRequest request) throws (1: ServerFault fault)

  i32 openScanner(1: binary table, 2: ScanRequest request) throws (1: ServerFault fault)
  list<Result> getScannerRows(1: i32 scanner, 2: i32 count)
    throws (1: ServerFault fault, 2: IllegalArgumentFault argument)
  void closeScanner(1: i32 scanner)
    throws (1: ServerFault fault, 2: IllegalArgumentFault argument)
  list<Result> getScannerResults(1: binary table, 2: ScanRequest request, 3: i32 count)
    throws (1: ServerFault fault)

  list<TableName> getTableNamesByPattern(1: string regex, 2: bool with_system_tables)
    throws (1: ServerFault fault)
  bool tableExists(1: TableName table) throws (1: ServerFault fault)
  Table getTableDescriptor(1: TableName table) throws (1: ServerFault fault)
  list<RegionLocation> getAllRegionLocations(1: binary table) throws (1: ServerFault fault)
  void createTable(1: Table table, 2: list<binary> split_keys) throws (1: ServerFault fault)
  void deleteTable(1: TableName table) throws (1: ServerFault fault)
  void truncateTable(1: TableName table, 2: bool keeps_splits) throws (1: ServerFault fault)
  void enableTable(1: TableName table) throws (1: ServerFault fault)
  void disableTable(1: TableName table) throws (1: ServerFault fault)
  void addColumnFamily(1: TableName table, 2: Family family) throws (1: ServerFault fault)
  void deleteColumnFamily(1: TableName table, 2: binary family) throws (1: ServerFault fault)
  void modifyColumnFamily(1: TableName table, 2: Family family) throws (1: ServerFault fault)
  void modifyTable(1: Table table) throws (1: ServerFault fault)
  void createNamespace(1: Namespace descriptor) throws (1: ServerFault fault)
  void deleteNamespace(1: string name) throws (1: ServerFault fault)
  list<string> listNamespaces() throws (1: ServerFault fault)

  // Answered by Thrift1 (1) and Thrift2 (2) alike.
  i32 getThriftServerType()
}

// The call of Thrift1 that distinguishes an old Thrift1 gateway from an old Thrift2 gateway.
service HBase1Names {
  list<binary> getTableNames() throws (1: ServerFault fault)
}
