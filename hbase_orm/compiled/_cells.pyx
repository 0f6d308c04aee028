# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, auto_pickle=False
"""Reads rows as Thrift1 encodes them: finds them in an answer, and makes objects of them.

Rows of Thrift2 are found too, and encoded as Thrift1 does it.

A row's cells stay encoded until something needs them. An encoded cell is (Thrift's binary protocol,
https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md):

    4 bytes   length of the column's name, then the name
    0b 00 01  field 1, text: 4 bytes length of the value, then the value
    0a 00 02  field 2, a number: 8 bytes timestamp in milliseconds
    00        end of the cell

Every length is compared with the bytes that are there before anything is read. What is not exactly
of this form is left to the readers in Python, which also raise the errors.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.datetime cimport datetime_new, import_datetime
from cpython.dict cimport PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memchr, memcmp, memcpy

cdef extern from "Python.h":
    object PyObject_GenericGetDict(object, void*)
    object PyType_GenericAlloc(type, Py_ssize_t)
    object PyLong_FromLongLong(long long)
    object PyLong_FromUnsignedLongLong(unsigned long long)

cdef extern from *:
    """
    #ifndef HBASE_ORM_SOURCE
    #define HBASE_ORM_SOURCE 0
    #endif
    """
    const unsigned long HBASE_ORM_SOURCE

from datetime import timezone

import_datetime()

# The checksum of the source that this module was built of.
SOURCE = HBASE_ORM_SOURCE

cdef object UTC = timezone.utc

cdef enum Form:
    CALL = 0
    INTEGER = 1
    FLOAT64 = 2
    IEEE = 3
    EITHER = 4
    TEXT = 5
    RAW = 6
    INSTANT = 7
    LATE_INSTANT = 8
    SIGNED = 9

FORMS = {
    "call": CALL,
    "integer": INTEGER,
    "float64": FLOAT64,
    "ieee": IEEE,
    "either": EITHER,
    "text": TEXT,
    "raw": RAW,
    "instant": INSTANT,
    "late instant": LATE_INSTANT,
    "signed": SIGNED,
}

cdef enum Absent:
    LEFT_OUT = 0
    NONE = 1
    REFUSED = 2
    ZERO = 3

ABSENT = {"left out": LEFT_OUT, "none": NONE, "refused": REFUSED, "zero": ZERO}

cdef enum:
    MOST_COLUMNS = 128

MOST = MOST_COLUMNS

cdef int64_t MICROS_PER_DAY = 86_400_000_000
cdef uint64_t SIGN = <uint64_t>1 << 63
# Microseconds from 1970 to the first of the year 1, and to the end of the year 9999.
cdef int64_t FIRST_MICRO = -62_135_596_800_000_000
cdef int64_t AFTER_LAST_MICRO = 253_402_300_800_000_000


cdef inline uint32_t _length(const uint8_t* at) noexcept nogil:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef struct Cell:
    const uint8_t* name
    const uint8_t* value
    const uint8_t* stamp
    uint32_t name_bytes
    uint32_t value_bytes


cdef inline const uint8_t* _cell(const uint8_t* at, const uint8_t* end, Cell* cell) noexcept nogil:
    """Read a cell; return where it ends, or NULL if it is not complete or of another form."""
    cdef uint32_t size
    if end - at < 4:
        return NULL
    size = _length(at)
    at += 4
    if end - at < 7 or size > <uint64_t>(end - at - 7):
        return NULL
    cell.name, cell.name_bytes = at, size
    at += size
    if at[0] != 0x0B or at[1] != 0 or at[2] != 1:
        return NULL
    size = _length(at + 3)
    at += 7
    if end - at < 12 or size > <uint64_t>(end - at - 12):
        return NULL
    cell.value, cell.value_bytes = at, size
    at += size
    if at[0] != 0x0A or at[1] != 0 or at[2] != 2 or at[11] != 0:
        return NULL
    cell.stamp = at + 3
    return at + 12


def take_rows(bytes data not None, Py_ssize_t position, Py_ssize_t most, list rows not None,
              type row_type not None):
    """Append to `rows` up to `most` rows, which begin at `position` in `data`.

    Args:
        data: The bytes of an answer.
        position: Where the next row begins; 0 to the length of `data`.
        most: The largest number of rows.
        rows: The list.
        row_type: The class of the rows, with the attributes `key` and `encoded`.

    Returns:
        The position of the first row that was not taken: it is not complete, or of another form.
    """
    cdef const uint8_t* begin = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    if position < 0 or position > size:
        raise ValueError("the position is not in the data")
    cdef const uint8_t* end = begin + size
    cdef const uint8_t* at = begin + position
    cdef const uint8_t* key
    cdef const uint8_t* cells
    cdef const uint8_t* stop
    cdef uint32_t key_bytes, count, left
    cdef Cell cell
    cdef object row
    while most > 0:
        if end - at < 7 or at[0] != 0x0B or at[1] != 0 or at[2] != 1:
            break
        key_bytes = _length(at + 3)
        key = at + 7
        if not key_bytes or end - key < 9 or key_bytes > <uint64_t>(end - key - 9):
            break
        stop = key + key_bytes
        if stop[0] != 0x0D or stop[1] != 0 or stop[2] != 2 or stop[3] != 0x0B or stop[4] != 0x0C:
            break
        count = _length(stop + 5)
        if not count:
            break
        stop += 9
        cells = stop
        left = count
        while left:
            stop = _cell(stop, end, &cell)
            if stop == NULL:
                break
            left -= 1
        if stop == NULL or stop >= end or stop[0] != 0:
            break
        row = PyType_GenericAlloc(row_type, 0)
        row.key = PyBytes_FromStringAndSize(<const char*>key, key_bytes)
        row.encoded = PyBytes_FromStringAndSize(<const char*>cells, stop - cells)
        rows.append(row)
        at = stop + 1
        most -= 1
    return at - begin


cdef struct Value:
    # A cell as Thrift2 encodes it.
    const uint8_t* family
    const uint8_t* qualifier
    const uint8_t* value
    const uint8_t* stamp
    uint32_t family_bytes
    uint32_t qualifier_bytes
    uint32_t value_bytes
    bint has_kind


cdef inline const uint8_t* _text(const uint8_t* at, const uint8_t* end, uint8_t field,
                                 uint32_t* size) noexcept nogil:
    """Read the head of a text field; return where the text begins, or NULL if it does not fit.

    A field's head of at least one byte follows each text, so it must be there too.
    """
    if end - at < 7 or at[0] != 0x0B or at[1] != 0 or at[2] != field:
        return NULL
    size[0] = _length(at + 3)
    if size[0] > <uint64_t>(end - at - 7):
        return NULL
    return at + 7


cdef inline const uint8_t* _value2(const uint8_t* at, const uint8_t* end, Value* value) noexcept nogil:
    """Read a cell of Thrift2; return where it ends, or NULL if it is incomplete or has more fields."""
    value.family = _text(at, end, 1, &value.family_bytes)
    if value.family == NULL:
        return NULL
    value.qualifier = _text(value.family + value.family_bytes, end, 2, &value.qualifier_bytes)
    if value.qualifier == NULL:
        return NULL
    value.value = _text(value.qualifier + value.qualifier_bytes, end, 3, &value.value_bytes)
    if value.value == NULL:
        return NULL
    at = value.value + value.value_bytes
    if end - at < 12 or at[0] != 0x0A or at[1] != 0 or at[2] != 4:
        return NULL
    value.stamp = at + 3
    at += 11
    # The kind of the cell, which servers send: a put. Only a raw read shows others.
    value.has_kind = at[0] == 0x03
    if value.has_kind:
        if end - at < 5 or at[1] != 0 or at[2] != 6 or at[3] != 4:
            return NULL
        at += 4
    return at + 1 if at[0] == 0 else NULL


cdef inline uint8_t* _put_length(uint8_t* at, uint32_t size) noexcept nogil:
    at[0], at[1], at[2], at[3] = size >> 24, size >> 16, size >> 8, size
    return at + 4


cdef uint8_t* _put_cell(uint8_t* at, Value* value) noexcept nogil:
    """Write a cell as Thrift1 encodes it; return where it ends."""
    at = _put_length(at, value.family_bytes + 1 + value.qualifier_bytes)
    memcpy(at, value.family, value.family_bytes)
    at += value.family_bytes
    at[0] = c":"
    memcpy(at + 1, value.qualifier, value.qualifier_bytes)
    at += 1 + value.qualifier_bytes
    at[0], at[1], at[2] = 0x0B, 0, 1
    at = _put_length(at + 3, value.value_bytes)
    memcpy(at, value.value, value.value_bytes)
    at += value.value_bytes
    at[0], at[1], at[2] = 0x0A, 0, 2
    memcpy(at + 3, value.stamp, 8)
    at[11] = 0
    return at + 12


def take_results(bytes data not None, Py_ssize_t position, Py_ssize_t most, list rows not None,
                 type row_type not None):
    """Append to `rows` up to `most` rows of Thrift2, which begin at `position` in `data`.

    The cells are encoded again as Thrift1 does it, with nine bytes less each, so that the readers
    of rows are the same for both. An encoded row of Thrift2 is:

        0b 00 01  field 1, text: 4 bytes length of the row key, then the key
        0f 00 02  field 2, a list: 0c, 4 bytes number of cells, then the cells:
                  fields 1, 2, 3, texts: family, qualifier and value; 0a 00 04: 8 bytes timestamp;
                  03 00 06: the kind of the cell, 04, which is a put (may be missing); 00
        02 00 03  whether a replica returned the row, 1 byte
        02 00 04  whether the row is a piece, 1 byte; this and the field before may be missing
        00        end of the row

    The arguments and the result are those of `take_rows`. A row that a replica returned, that has
    no cells or that has other fields is not taken.
    """
    cdef const uint8_t* begin = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    if position < 0 or position > size:
        raise ValueError("the position is not in the data")
    cdef const uint8_t* end = begin + size
    cdef const uint8_t* at = begin + position
    cdef const uint8_t* key
    cdef const uint8_t* cells
    cdef const uint8_t* stop
    cdef uint8_t* to
    cdef uint32_t key_bytes, count, left
    cdef Py_ssize_t encoded_bytes, kinds
    cdef Value value
    cdef bytes encoded
    cdef object row
    while most > 0:
        key = _text(at, end, 1, &key_bytes)
        if key == NULL or not key_bytes:
            break
        stop = key + key_bytes
        if end - stop < 8 or stop[0] != 0x0F or stop[1] != 0 or stop[2] != 2 or stop[3] != 0x0C:
            break
        count = _length(stop + 4)
        if not count:
            break
        stop += 8
        cells = stop
        left = count
        kinds = 0
        while left:
            stop = _value2(stop, end, &value)
            if stop == NULL:
                break
            kinds += value.has_kind
            left -= 1
        if stop == NULL:
            break
        # A cell of Thrift2 has nine bytes more than one of Thrift1, and four for its kind.
        encoded_bytes = (stop - cells) - 9 * <Py_ssize_t>count - 4 * kinds
        stop = _after_flags(stop, end)
        if stop == NULL:
            break
        encoded = PyBytes_FromStringAndSize(NULL, encoded_bytes)
        to = <uint8_t*>PyBytes_AS_STRING(encoded)
        for left in range(count):
            cells = _value2(cells, end, &value)
            to = _put_cell(to, &value)
        row = PyType_GenericAlloc(row_type, 0)
        row.key = PyBytes_FromStringAndSize(<const char*>key, key_bytes)
        row.encoded = encoded
        rows.append(row)
        at = stop
        most -= 1
    return at - begin


cdef const uint8_t* _after_flags(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return where a row of Thrift2 ends; NULL if it is stale, or has other fields behind its cells."""
    if end - at >= 4 and at[0] == 0x02 and at[1] == 0 and at[2] == 3 and at[3] == 0:
        at += 4
    if end - at >= 4 and at[0] == 0x02 and at[1] == 0 and at[2] == 4 and at[3] <= 1:
        at += 4
    if at >= end or at[0] != 0:
        return NULL
    return at + 1


def cells_of(bytes encoded not None, type cell_type not None):
    """Return the cells of an encoded row: values of `cell_type`, a tuple of two, by column.

    Raises:
        ValueError: The bytes are not encoded cells.
    """
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(encoded)
    cdef const uint8_t* end = at + PyBytes_GET_SIZE(encoded)
    cdef Cell cell
    cdef dict cells = {}
    new = tuple.__new__
    while at < end:
        at = _cell(at, end, &cell)
        if at == NULL:
            raise ValueError("the bytes are no encoded cells")
        cells[PyBytes_FromStringAndSize(<const char*>cell.name, cell.name_bytes)] = new(
            cell_type,
            (
                PyBytes_FromStringAndSize(<const char*>cell.value, cell.value_bytes),
                <int64_t>_number(cell.stamp, 8),
            ),
        )
    return cells


def columns_of(bytes encoded not None):
    """Return the columns of an encoded row, each once.

    Raises:
        ValueError: The bytes are not encoded cells.
    """
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(encoded)
    cdef const uint8_t* end = at + PyBytes_GET_SIZE(encoded)
    cdef Cell cell
    cdef dict names = {}
    while at < end:
        at = _cell(at, end, &cell)
        if at == NULL:
            raise ValueError("the bytes are no encoded cells")
        names[PyBytes_FromStringAndSize(<const char*>cell.name, cell.name_bytes)] = None
    return names.keys()


def parts_of(bytes encoded not None, tuple names not None):
    """Return the columns, the values and the timestamps of an encoded row, in the order of its cells.

    Args:
        encoded: The cells.
        names: The columns of the row before. If the row has the same ones, they are returned.

    Returns:
        Three tuples with an item for each cell.

    Raises:
        ValueError: The bytes are not encoded cells.
    """
    cdef const uint8_t* begin = <const uint8_t*>PyBytes_AS_STRING(encoded)
    cdef const uint8_t* at = begin
    cdef const uint8_t* end = at + PyBytes_GET_SIZE(encoded)
    cdef Cell cell
    cdef Py_ssize_t count = 0
    cdef bint is_same = True
    cdef object name
    cdef list values = []
    cdef list stamps = []
    while at < end:
        at = _cell(at, end, &cell)
        if at == NULL:
            raise ValueError("the bytes are no encoded cells")
        if is_same:
            is_same = count < len(names)
            if is_same:
                name = names[count]
                is_same = (
                    isinstance(name, bytes)
                    and PyBytes_GET_SIZE(name) == cell.name_bytes
                    and memcmp(PyBytes_AS_STRING(name), cell.name, cell.name_bytes) == 0
                )
        values.append(PyBytes_FromStringAndSize(<const char*>cell.value, cell.value_bytes))
        stamps.append(<int64_t>_number(cell.stamp, 8))
        count += 1
    if not is_same or count != len(names):
        found = []
        at = begin
        while at < end:
            at = _cell(at, end, &cell)
            if at == NULL:
                raise ValueError("the bytes are no encoded cells")
            found.append(PyBytes_FromStringAndSize(<const char*>cell.name, cell.name_bytes))
        names = tuple(found)
    return names, tuple(values), tuple(stamps)


cdef inline uint64_t _number(const uint8_t* at, uint32_t size) noexcept nogil:
    cdef uint64_t number = 0
    cdef uint32_t n
    for n in range(size):
        number = (number << 8) | at[n]
    return number


cdef inline uint64_t _number_of(const uint8_t* at, uint32_t size, bint desc) noexcept nogil:
    """Return a number of `size` bytes, each bit of which is inverted if `desc`."""
    cdef uint64_t bits = _number(at, size)
    if not desc:
        return bits
    return ~bits if size >= 8 else ~bits & ((<uint64_t>1 << (8 * size)) - 1)


cdef object _instant(int64_t micros):
    """Return a time in UTC of microseconds since 1970, which are in the years 1 to 9999.

    The days become a date by the algorithm `civil_from_days` of
    https://howardhinnant.github.io/date_algorithms.html.
    """
    cdef int64_t days = micros // MICROS_PER_DAY
    cdef int64_t rest = micros - days * MICROS_PER_DAY
    if rest < 0:  # C divides towards zero
        days -= 1
        rest += MICROS_PER_DAY
    days += 719468
    cdef int64_t era = days // 146097 if days >= 0 else (days - 146096) // 146097
    cdef int64_t day_of_era = days - era * 146097
    cdef int64_t year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    cdef int64_t day_of_year = day_of_era - (
        365 * year_of_era + year_of_era // 4 - year_of_era // 100
    )
    cdef int64_t shifted = (5 * day_of_year + 2) // 153
    cdef int64_t day = day_of_year - (153 * shifted + 2) // 5 + 1
    cdef int64_t month = shifted + 3 if shifted < 10 else shifted - 9
    cdef int64_t year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    cdef int64_t seconds = rest // 1_000_000
    return datetime_new(
        year, month, day, seconds // 3600, seconds % 3600 // 60, seconds % 60,
        rest % 1_000_000, UTC,
    )


cdef struct Column:
    const uint8_t* name
    Py_ssize_t name_bytes
    int form
    int absent
    bint desc
    bint flipped
    uint32_t size
    int64_t unit_micros


cdef class CellReader:
    """Reads the values of certain columns from encoded rows.

    The forms of values are `FORMS`, and what is done without a cell is `ABSENT`. A value that does
    not fit its form, and a column that is refused without a cell, are left to Python.
    """

    cdef Py_ssize_t _count
    cdef Column* _columns
    cdef tuple _names
    cdef tuple _helpers
    cdef tuple _fields
    cdef tuple _misfits

    def __cinit__(self, tuple columns not None, tuple misfits not None):
        """Prepare.

        Args:
            columns: For each column its name, the name of its field, what is done without a cell,
                and the form of its values: the name of the form, the number of bytes (0 for any),
                whether every bit is inverted, whether the sign bit is flipped, the microseconds of
                a unit, and a helper: the function to call, or the bytes of False and of True.
            misfits: The exceptions of a function for bytes that do not fit.
        """
        cdef Py_ssize_t n
        self._count = len(columns)
        if self._count > MOST_COLUMNS:
            raise ValueError("too many columns")
        self._columns = <Column*>PyMem_Malloc(max(1, self._count) * sizeof(Column))
        if self._columns == NULL:
            raise MemoryError
        self._misfits = misfits
        self._names = tuple(bytes(each[0]) for each in columns)
        self._fields = tuple(each[1] for each in columns)
        self._helpers = tuple(each[8] for each in columns)
        for n in range(self._count):
            name, _, absent, form, size, desc, flipped, unit_micros, helper = columns[n]
            self._columns[n].name = <const uint8_t*>PyBytes_AS_STRING(self._names[n])
            self._columns[n].name_bytes = PyBytes_GET_SIZE(self._names[n])
            self._columns[n].absent = ABSENT[absent]
            self._columns[n].form = FORMS[form]
            self._columns[n].size = size
            self._columns[n].desc = desc
            self._columns[n].flipped = flipped
            self._columns[n].unit_micros = unit_micros

    def __dealloc__(self):
        PyMem_Free(self._columns)

    cdef bint _find(self, bytes encoded, Cell* found) noexcept:
        """Find the last cell of each column.

        `found` is the caller's own: another thread may use this reader while a function runs.

        Returns:
            Whether the bytes are encoded cells, and no column is refused.
        """
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(encoded)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(encoded)
        cdef Py_ssize_t n, tried, expected = 0, count = self._count
        cdef Cell cell
        for n in range(count):
            found[n].name = NULL
        while at < end:
            at = _cell(at, end, &cell)
            if at == NULL:
                return False
            # The columns mostly come in the order of their names, and so do those of the reader.
            for tried in range(count):
                n = expected + tried
                if n >= count:
                    n -= count
                if (
                    self._columns[n].name_bytes == cell.name_bytes
                    and memcmp(self._columns[n].name, cell.name, cell.name_bytes) == 0
                ):
                    found[n] = cell
                    expected = n + 1 if n + 1 < count else 0
                    break
        for n in range(count):
            if found[n].name == NULL and self._columns[n].absent == REFUSED:
                return False
        return True

    cdef object _value(self, Py_ssize_t n, const uint8_t* at, uint32_t size, bint* fits):
        """Return the value of a column from its bytes; if they do not fit, unset `fits`."""
        cdef Column* column = &self._columns[n]
        cdef uint64_t bits
        cdef uint32_t half
        cdef double real
        cdef float short_real
        cdef int form = column.form
        cdef object helper
        if column.size and size != column.size:
            fits[0] = False
            return None
        if form == TEXT:
            try:
                return PyUnicode_DecodeUTF8(<const char*>at, size, NULL)
            except UnicodeDecodeError:
                fits[0] = False
                return None
        if form == RAW:
            return PyBytes_FromStringAndSize(<const char*>at, size)
        if form == EITHER:
            helper = self._helpers[n]
            if memcmp(at, PyBytes_AS_STRING(<bytes>helper[0]), size) == 0:
                return False
            if memcmp(at, PyBytes_AS_STRING(<bytes>helper[1]), size) == 0:
                return True
            fits[0] = False
            return None
        if form == CALL:
            try:
                return self._helpers[n](PyBytes_FromStringAndSize(<const char*>at, size))
            except self._misfits:
                fits[0] = False
                return None
        bits = _number_of(at, size, column.desc)
        if form == INTEGER:
            if not column.flipped:
                return PyLong_FromUnsignedLongLong(bits)
            # Of fewer than 8 bytes, the number is as small as it is stored.
            if size < 8:
                return PyLong_FromLongLong(
                    <int64_t>bits - (<int64_t>1 << (8 * size - 1))
                )
            return PyLong_FromLongLong(<int64_t>(bits ^ SIGN))
        if form == SIGNED:
            if size < 8 and bits >> (8 * size - 1):
                return PyLong_FromLongLong(<int64_t>bits - (<int64_t>1 << (8 * size)))
            return PyLong_FromLongLong(<int64_t>bits)
        if form == FLOAT64:
            bits = bits ^ SIGN if bits & SIGN else ~bits
            memcpy(&real, &bits, 8)
            return real
        if form == IEEE:
            if size == 8:
                memcpy(&real, &bits, 8)
                return real
            half = <uint32_t>bits
            memcpy(&short_real, &half, 4)
            return <double>short_real
        return self._time(column, bits, fits)

    cdef object _time(self, Column* column, uint64_t bits, bint* fits):
        cdef int64_t number, unit = column.unit_micros
        if column.form == LATE_INSTANT:
            bits ^= SIGN
        if column.flipped:
            number = <int64_t>(bits ^ SIGN)
        elif bits & SIGN:
            fits[0] = False
            return None
        else:
            number = <int64_t>bits
        # C divides towards zero: both bounds are multiples of every unit.
        if number < FIRST_MICRO // unit or number >= AFTER_LAST_MICRO // unit:
            fits[0] = False
            return None
        return _instant(number * unit)

    def read_into(self, dict values not None, bytes encoded not None):
        """Read the fields into `values`, in the order of the columns of this reader.

        Returns:
            Whether all values fit. If not, some fields may have been read.
        """
        cdef Cell[MOST_COLUMNS] found
        cdef bint fits = self._find(encoded, found) and self._read_found(values, found)
        return fits

    cdef bint _read_found(self, dict values, Cell* found) except -1:
        cdef Py_ssize_t n
        cdef bint fits = True
        cdef object value
        for n in range(self._count):
            if found[n].name == NULL:
                if self._columns[n].absent == NONE:
                    PyDict_SetItem(values, self._fields[n], None)
                elif self._columns[n].absent == ZERO:
                    PyDict_SetItem(values, self._fields[n], 0)
                continue
            value = self._value(n, found[n].value, found[n].value_bytes, &fits)
            if not fits:
                return False
            PyDict_SetItem(values, self._fields[n], value)
        return True


cdef enum Framing:
    FIXED = 0
    ENDED = 1
    REST = 2

FRAMINGS = {"fixed": FIXED, "ended": ENDED, "rest": REST}

cdef enum:
    MOST_PARTS = 16

MOST_KEY_PARTS = MOST_PARTS


cdef class KeyReader:
    """Reads the fields of row keys; a row key that does not fit is given to a function of Python.

    A part has a fixed number of bytes, or is ended by one byte, or is the rest of the row key.
    """

    cdef CellReader _values
    cdef int _count
    cdef int[MOST_PARTS] _framings
    cdef uint32_t[MOST_PARTS] _sizes
    cdef int[MOST_PARTS] _ends
    cdef int[MOST_PARTS] _places
    cdef tuple _allowed
    cdef int _fields
    cdef object _plainly

    def __cinit__(self, tuple parts not None, CellReader values not None, int fields, plainly):
        """Prepare.

        Args:
            parts: For each part its framing, its number of bytes (0 for any), the byte behind it
                (-1 for none), the place of its value among the results (-1 for none), and the
                allowed values of its bytes (None for all). An ended part, and the rest, has at
                least one byte.
            values: Reads the parts: its columns are the parts.
            fields: The number of results.
            plainly: A function from a row key and a context to the results.
        """
        cdef int n
        if len(parts) > MOST_PARTS or len(parts) != values._count or fields > MOST_PARTS:
            raise ValueError("too many parts, or not one column for each")
        self._count = len(parts)
        self._values = values
        self._fields = fields
        self._plainly = plainly
        self._allowed = tuple(each[4] for each in parts)
        for n in range(self._count):
            self._framings[n] = FRAMINGS[parts[n][0]]
            self._sizes[n] = parts[n][1]
            self._ends[n] = parts[n][2]
            self._places[n] = parts[n][3]
            if self._places[n] >= fields or (self._framings[n] == ENDED and self._ends[n] < 0):
                raise ValueError("a part without its end, or a value without a place")

    def __call__(self, key, context=None):
        """Return the values of the fields of a row key."""
        return self.read(key, context)

    cdef tuple read(self, object key, object context):
        """Return the values of the fields of a row key."""
        cdef tuple values
        if type(key) is bytes:
            values = self._read(<bytes>key)
            if values is not None:
                return values
        return self._plainly(key, context)

    cdef tuple _read(self, bytes key):
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(key)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(key)
        cdef const uint8_t* stop
        cdef int n
        cdef bint fits = True
        cdef object value
        cdef list values = [None] * self._fields
        for n in range(self._count):
            stop = self._end_of(n, at, end)
            if stop == NULL:
                return None
            if self._places[n] >= 0:
                value = self._values._value(n, at, <uint32_t>(stop - at), &fits)
                if not fits:
                    return None
                values[self._places[n]] = value
            at = stop + 1 if self._framings[n] == ENDED else stop
        return tuple(values) if at == end else None

    cdef bint _split(self, bytes key, Cell* parts) except -1:
        """Find the bytes of each field of a row key; return whether the row key fits.

        `parts` has room for `MOST_PARTS`; a field without bytes in the row key has no name there.
        """
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(key)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(key)
        cdef const uint8_t* stop
        cdef int n
        for n in range(self._fields):
            parts[n].name = NULL
        for n in range(self._count):
            stop = self._end_of(n, at, end)
            if stop == NULL:
                return False
            if self._places[n] >= 0:
                parts[self._places[n]].name = at
                parts[self._places[n]].value = at
                parts[self._places[n]].value_bytes = <uint32_t>(stop - at)
            at = stop + 1 if self._framings[n] == ENDED else stop
        return at == end

    cdef const uint8_t* _end_of(self, int n, const uint8_t* at, const uint8_t* end) except? NULL:
        """Return where a part ends, or NULL if it does not fit or has a value that is not allowed."""
        cdef const uint8_t* stop = end
        if self._framings[n] == FIXED:
            if end - at < <Py_ssize_t>self._sizes[n]:
                return NULL
            stop = at + self._sizes[n]
        else:
            if self._framings[n] == ENDED:
                stop = <const uint8_t*>memchr(at, self._ends[n], end - at)
            if stop == NULL or stop == at:
                return NULL
        if self._allowed[n] is not None:
            if PyBytes_FromStringAndSize(<const char*>at, stop - at) not in self._allowed[n]:
                return NULL
        return stop


cdef int _by_name(const void* left, const void* right) noexcept nogil:
    """Compare the names of two cells; equal names are in the order of the cells."""
    cdef const Cell* one = <const Cell*>left
    cdef const Cell* other = <const Cell*>right
    cdef uint32_t size = min(one.name_bytes, other.name_bytes)
    cdef int order = memcmp(one.name, other.name, size)
    if order:
        return order
    if one.name_bytes != other.name_bytes:
        return -1 if one.name_bytes < other.name_bytes else 1
    return -1 if one.name < other.name else 1


cdef class EntryReader:
    """Reads dynamic columns: a dict for each field, in the order of the columns' names."""

    cdef CellReader _parts
    cdef tuple _prefixes
    cdef tuple _taken

    def __cinit__(self, tuple fields not None, CellReader parts not None):
        """Prepare.

        Args:
            fields: For each field the prefix of its columns, and the columns with this prefix that
                do not belong to it.
            parts: Reads the parts of these columns: its columns are, for each field, the rest of a
                name, and a value.
        """
        if 2 * len(fields) != parts._count:
            raise ValueError("not two columns for each field")
        self._parts = parts
        self._prefixes = tuple(bytes(each[0]) for each in fields)
        self._taken = tuple(frozenset(each[1]) for each in fields)

    cdef list read(self, bytes encoded):
        """Return the dict of each field; None if a name or a value does not fit."""
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(encoded)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(encoded)
        cdef Py_ssize_t n, count = 0
        cdef bint is_sorted = True
        cdef list entries = [{} for _ in self._prefixes]
        # A cell has at least 23 bytes.
        cdef Cell* cells = <Cell*>PyMem_Malloc((1 + (end - at) // 23) * sizeof(Cell))
        if cells == NULL:
            raise MemoryError
        try:
            while at < end:
                at = _cell(at, end, &cells[count])
                if at == NULL:
                    return None
                if count and _by_name(&cells[count - 1], &cells[count]) > 0:
                    is_sorted = False
                count += 1
            # Thrift1 returns the cells of a row in no order; sorting restores the order in HBase.
            if not is_sorted:
                qsort(cells, count, sizeof(Cell), _by_name)
            for n in range(count):
                if not self._read(entries, &cells[n]):
                    return None
        finally:
            PyMem_Free(cells)
        return entries

    cdef bint _read(self, list entries, Cell* cell) except -1:
        """Read a cell into the dict of its field, if there is one; return whether it fits."""
        cdef Py_ssize_t field, size
        cdef bint fits = True
        cdef bytes prefix
        cdef object name, value
        for field in range(len(self._prefixes)):
            prefix = self._prefixes[field]
            size = PyBytes_GET_SIZE(prefix)
            if size > cell.name_bytes or memcmp(PyBytes_AS_STRING(prefix), cell.name, size):
                continue
            if self._taken[field]:
                name = PyBytes_FromStringAndSize(<const char*>cell.name, cell.name_bytes)
                if name in self._taken[field]:
                    continue
            name = self._parts._value(2 * field, cell.name + size, cell.name_bytes - size, &fits)
            value = self._parts._value(2 * field + 1, cell.value, cell.value_bytes, &fits)
            if fits:
                (<dict>entries[field])[name] = value
            return fits
        return True


cdef class ObjectMaker:
    """Makes objects of encoded rows; a row that does not fit is given to a function of Python."""

    cdef object _model  # a class whose own type may be any
    cdef object _new
    cdef type _state
    cdef object _set_state
    cdef object _decode_key
    cdef KeyReader _keys
    cdef tuple _key_fields
    cdef CellReader _cells
    cdef EntryReader _entries
    cdef tuple _entry_fields
    cdef object _rare
    cdef object _plainly
    cdef type _row_type

    def __cinit__(self, object model not None, type state not None, set_state, rare, decode_key,
                 tuple key_fields not None, CellReader cells not None, EntryReader entries,
                 tuple entry_fields not None, plainly, type row_type not None):
        """Prepare.

        Args:
            model: The class of the objects.
            state: The class of `__state__`.
            set_state: A function that sets the `__state__` of an object.
            rare: The attribute `rare` of each state.
            decode_key: A function from a row key and a context to the values of its fields.
            key_fields: The names of these fields.
            cells: Reads the fields of columns.
            entries: Reads the fields of dynamic columns; None if there are none.
            entry_fields: The names of these fields.
            plainly: A function from a row and a context to an object, for any row.
            row_type: The class of the rows that are not given to `plainly`.
        """
        self._model = model
        self._new = model.__new__
        self._state = state
        self._set_state = set_state
        self._rare = rare
        self._decode_key = decode_key
        self._keys = decode_key if isinstance(decode_key, KeyReader) else None
        self._key_fields = key_fields
        self._cells = cells
        self._entries = entries
        self._entry_fields = entry_fields
        self._plainly = plainly
        self._row_type = row_type

    def made(self, origin, context, row):
        """Return the object of a row.

        Args:
            origin: The origin in the object's state.
            context: The second argument of `decode_key`.
            row: The row.

        Raises:
            CorruptRowError: The row does not decode.
        """
        cdef object obj, state
        cdef dict values
        cdef tuple key_values
        cdef list entries = None
        cdef bytes encoded
        cdef bint is_found
        cdef Py_ssize_t n
        cdef Cell[MOST_COLUMNS] found
        encoded = row.encoded if type(row) is self._row_type else None
        is_found = encoded is not None and self._cells._find(encoded, found)
        if is_found and self._entries is not None:
            entries = self._entries.read(encoded)
            is_found = entries is not None
        # No object is begun before the cells are there: a class may count its objects.
        if is_found:
            if self._keys is not None:
                key_values = self._keys.read(row.key, context)
            else:
                key_values = self._decode_key(row.key, context)
            obj = self._new(self._model)
            values = PyObject_GenericGetDict(obj, NULL)
            for n in range(len(self._key_fields)):
                PyDict_SetItem(values, self._key_fields[n], key_values[n])
            if self._cells._read_found(values, found):
                for n in range(len(self._entry_fields)):
                    PyDict_SetItem(values, self._entry_fields[n], entries[n])
                state = PyType_GenericAlloc(self._state, 0)
                state.row = row
                state.origin = origin
                state.on_change = None
                state.rare = self._rare
                self._set_state(obj, state)
                return obj
        obj = self._plainly(row, context)
        obj.__state__.origin = origin
        return obj


cdef class ValueReader:
    """Reads a few fields of encoded rows as tuples."""

    cdef CellReader _cells
    cdef object _plainly
    cdef object _decode_key
    cdef type _row_type
    cdef tuple _places

    def __cinit__(self, CellReader cells not None, decode_key, tuple places not None, plainly,
                 type row_type not None):
        """Prepare.

        Args:
            cells: Reads the fields that are in cells. Columns without a cell are None or refused.
            decode_key: A function from a row key and a context to the values of its fields; None
                if no field is in the row key.
            places: For each field its place among the row key's values, or -1 - its place among
                the columns of `cells`.
            plainly: A function from a row and a context to the values, for any row.
            row_type: The class of the rows that are not given to `plainly`.
        """
        self._cells = cells
        self._decode_key = decode_key
        self._places = places
        self._plainly = plainly
        self._row_type = row_type

    def __call__(self, row, context=None):
        """Return the values of a row."""
        cdef tuple key_values = ()
        cdef Py_ssize_t n, place, count = len(self._places)
        cdef bint fits = True
        cdef object value
        cdef tuple values
        cdef CellReader cells = self._cells
        cdef bytes encoded
        cdef Cell[MOST_COLUMNS] found
        if type(row) is not self._row_type:
            return self._plainly(row, context)
        encoded = row.encoded
        if not cells._find(encoded, found):
            return self._plainly(row, context)
        if self._decode_key is not None:
            key_values = self._decode_key(row.key, context)
        values = PyTuple_New(count)
        for n in range(count):
            place = self._places[n]
            if place >= 0:
                value = key_values[place]
            else:
                place = -1 - place
                if found[place].name == NULL:
                    value = 0 if cells._columns[place].absent == ZERO else None
                else:
                    value = cells._value(
                        place, found[place].value, found[place].value_bytes, &fits
                    )
                    if not fits:  # the first such value decides which error is raised
                        return self._plainly(row, context)
            Py_INCREF(value)
            PyTuple_SET_ITEM(values, n, value)
        return values


cdef enum Kind:
    NUMBER = 0
    SORTED_DOUBLE = 1
    PLAIN_FLOAT = 2
    BIT = 3
    CHARACTERS = 4
    BYTES = 5
    CHOICE = 6
    VALUE = 7

KINDS = {
    "number": NUMBER,
    "float64": SORTED_DOUBLE,
    "ieee": PLAIN_FLOAT,
    "either": BIT,
    "text": CHARACTERS,
    "raw": BYTES,
    "choice": CHOICE,
    "value": VALUE,
}

cdef enum Sign:
    UNSIGNED = 0
    FLIPPED = 1
    TWOS_COMPLEMENT = 2

SIGNS = {"unsigned": UNSIGNED, "flipped": FLIPPED, "two's complement": TWOS_COMPLEMENT}

cdef enum Source:
    IN_CELL = 0
    IN_KEY = 1
    DECODED = 2

SOURCES = {"cell": IN_CELL, "key": IN_KEY, "decoded key": DECODED}

cdef enum:
    # Offsets have 32 bits, and the bytes of a column stay below them by one row at least.
    MOST_DATA = 0x3FFFFFFF

MOST_ROWS = MOST_DATA // 8


cdef bint _is_utf8(const uint8_t* at, Py_ssize_t size) noexcept nogil:
    """Return whether bytes are UTF-8: the Unicode Standard, table 3-7."""
    cdef const uint8_t* end = at + size
    cdef uint64_t word
    cdef uint8_t lead, low, high
    cdef int more
    while at < end:
        if end - at >= 8:
            memcpy(&word, at, 8)
            if not word & <uint64_t>0x8080808080808080:
                at += 8
                continue
        lead = at[0]
        at += 1
        if lead < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            if lead == 0xE0:
                low = 0xA0
            elif lead == 0xED:
                high = 0x9F
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            if lead == 0xF0:
                low = 0x90
            elif lead == 0xF4:
                high = 0x8F
        else:
            return False
        if end - at < more or at[0] < low or at[0] > high:
            return False
        at += 1
        more -= 1
        while more:
            if at[0] & 0xC0 != 0x80:
                return False
            at += 1
            more -= 1
    return True


cdef struct Gathered:
    int kind
    int source
    Py_ssize_t place
    uint32_t size
    bint desc
    int sign
    bint is_bounded
    int64_t least
    int64_t last
    uint32_t width
    Py_ssize_t nulls
    uint8_t* values
    uint8_t* valid
    int32_t* ends
    Py_ssize_t capacity


cdef class ColumnGatherer:
    """Gathers the values of encoded rows into the buffers of Arrow arrays.

    A row whose values do not fit is left to Python, as are rows that are not encoded. The kinds of
    columns are `KINDS`: numbers, which are stored in any of the ways `SIGNS`; both forms of floats;
    bits; text and bytes; the places of values among a few known ones; and values of Python.

    The buffers are those of https://arrow.apache.org/docs/format/Columnar.html.
    """

    cdef Py_ssize_t _count
    cdef Gathered* _columns
    cdef CellReader _cells
    cdef KeyReader _keys
    cdef object _decode_key
    cdef tuple _helpers
    cdef tuple _misfits
    cdef type _row_type
    cdef Py_ssize_t _most
    cdef Py_ssize_t _rows
    cdef Py_ssize_t _size
    cdef list _buffers

    def __cinit__(self, tuple columns not None, CellReader cells not None, KeyReader keys,
                  decode_key, tuple misfits not None, type row_type not None, Py_ssize_t most):
        """Prepare.

        Args:
            columns: For each column its source and its place there, its kind, the number of bytes
                of a stored value (0 for any), whether every bit is inverted, its sign, the smallest
                and the largest number (both None for any), the bytes of a value in the array, and a
                helper: the function to call, the bytes of False and of True, or the places of
                values by their bytes.
            cells: Finds the cells; a place in cells is one among its columns. Columns without a
                cell are None, 0 or refused.
            keys: Splits row keys for columns in the key; None if there are none.
            decode_key: A function from a row key to its values, for columns in the decoded key;
                None if there are none.
            misfits: The exceptions of a function for bytes that do not fit.
            row_type: The class of the rows that are gathered.
            most: The most rows of an array.
        """
        cdef Py_ssize_t n
        self._count = len(columns)
        if most < 1 or most > MOST_ROWS:
            raise ValueError("the number of rows")
        self._columns = <Gathered*>PyMem_Malloc(max(1, self._count) * sizeof(Gathered))
        if self._columns == NULL:
            raise MemoryError
        self._cells, self._keys, self._decode_key = cells, keys, decode_key
        self._misfits, self._row_type, self._most = misfits, row_type, most
        self._helpers = tuple(each[9] for each in columns)
        for n in range(self._count):
            source, place, kind, size, desc, sign, least, last, width, helper = columns[n]
            self._columns[n].source = SOURCES[source]
            self._columns[n].place = place
            self._columns[n].kind = KINDS[kind]
            self._columns[n].size = size
            self._columns[n].desc = desc
            self._columns[n].sign = SIGNS[sign]
            self._columns[n].is_bounded = least is not None
            self._columns[n].least = 0 if least is None else least
            self._columns[n].last = 0 if last is None else last
            self._columns[n].width = width
            self._check(n)
        self._start()

    cdef _check(self, Py_ssize_t n):
        """Raise an error for a column that would be read or written beyond its bytes."""
        cdef Gathered* column = &self._columns[n]
        cdef Py_ssize_t places
        if column.source == IN_CELL:
            places = self._cells._count
        elif column.source == IN_KEY:
            if self._keys is None:
                raise ValueError("a column in a key that is not split")
            places = self._keys._fields
        else:
            places = 1 << 30  # it is looked up in a tuple
            if self._decode_key is None or column.kind != VALUE:
                raise ValueError("a column in a key that is not decoded")
        if column.place < 0 or column.place >= places:
            raise ValueError("a column without a place")
        if column.kind == NUMBER and not (
            1 <= column.size <= 8 and column.width in (1, 2, 4, 8)
        ):
            raise ValueError("a number of another size")
        if column.kind == SORTED_DOUBLE and column.size != 8:
            raise ValueError("a double of another size")
        if column.kind == PLAIN_FLOAT and column.size not in (4, 8):
            raise ValueError("a float of another size")
        if column.kind == CHOICE and column.width not in (1, 2, 4):
            raise ValueError("places of another size")
        if column.kind == BIT:
            false, true = self._helpers[n]
            if len(<bytes>false) != column.size or len(<bytes>true) != column.size:
                raise ValueError("bits of another size")

    def __dealloc__(self):
        PyMem_Free(self._columns)

    cdef _start(self):
        """Allocate the buffers of arrays without rows."""
        cdef Py_ssize_t n, bits = (self._most + 7) // 8
        cdef Gathered* column
        self._rows = self._size = 0
        self._buffers = []
        for n in range(self._count):
            column = &self._columns[n]
            column.nulls = 0
            column.values, column.ends, column.capacity = NULL, NULL, 0
            valid = bytearray(bits)
            column.valid = <uint8_t*>PyByteArray_AS_STRING(valid)
            ends, values = None, None
            if column.kind == VALUE:
                values = []
            elif column.kind == CHARACTERS or column.kind == BYTES:
                ends = bytearray(4 * (self._most + 1))
                column.ends = <int32_t*><void*>PyByteArray_AS_STRING(ends)
                values = bytearray()
            elif column.kind == BIT:
                values = bytearray(bits)
            else:
                values = bytearray(_width(column) * self._most)
            if column.kind != VALUE:
                column.values = <uint8_t*>PyByteArray_AS_STRING(values)
            self._buffers.append([valid, ends, values])

    @property
    def rows(self):
        """The number of rows that were gathered."""
        return self._rows

    @property
    def size_bytes(self):
        """The size of the cells of the gathered rows."""
        return self._size

    def gather(self, list rows not None):
        """Gather rows until one does not fit, or there is no room for more.

        Returns:
            The number of rows that were gathered.
        """
        cdef Py_ssize_t n, done
        cdef object row
        cdef bytes encoded
        for done in range(len(rows)):
            row = rows[done]
            if self._rows >= self._most or type(row) is not self._row_type:
                return done
            encoded = row.encoded
            if not self._gather(row, encoded):
                for n in range(self._count):
                    if self._columns[n].kind == VALUE:
                        del self._buffers[n][2][self._rows:]
                return done
            self._rows += 1
            self._size += PyBytes_GET_SIZE(encoded)
        return len(rows)

    cdef bint _gather(self, object row, bytes encoded) except -1:
        """Write the values of one row behind the others; return whether all of them fit."""
        cdef Cell[MOST_COLUMNS] cells
        cdef Cell[MOST_PARTS] parts
        cdef Cell* cell
        cdef tuple decoded = ()
        cdef Py_ssize_t n
        cdef Gathered* column
        if not self._cells._find(encoded, cells):
            return False
        if self._keys is not None and not self._keys._split(row.key, parts):
            return False
        if self._decode_key is not None:
            decoded = self._decode_key(row.key, None)
        for n in range(self._count):
            column = &self._columns[n]
            if column.source == DECODED:
                (<list>self._buffers[n][2]).append(decoded[column.place])
                continue
            cell = &parts[column.place] if column.source == IN_KEY else &cells[column.place]
            if cell.name == NULL:
                if column.source == IN_KEY:
                    return False
                if self._cells._columns[column.place].absent == ZERO:
                    self._write_zero(n)
                else:
                    self._write_null(n)
            elif not self._write(n, cell.value, cell.value_bytes):
                return False
        # Only now, because a row that does not fit is written over by the next one.
        for n in range(self._count):
            column = &self._columns[n]
            if column.kind != VALUE and not _bit(column.valid, self._rows):
                column.nulls += 1
        return True

    cdef _write_null(self, Py_ssize_t n):
        cdef Gathered* column = &self._columns[n]
        _set_bit(column.valid, self._rows, False)
        if column.kind == VALUE:
            (<list>self._buffers[n][2]).append(None)
        elif column.ends != NULL:
            column.ends[self._rows + 1] = column.ends[self._rows]
        elif column.kind == BIT:
            _set_bit(column.values, self._rows, False)
        else:
            self._write_bits(column, 0)

    cdef _write_zero(self, Py_ssize_t n):
        """Write 0 to a column of numbers, or of values of Python."""
        cdef Gathered* column = &self._columns[n]
        _set_bit(column.valid, self._rows, True)
        if column.kind == VALUE:
            (<list>self._buffers[n][2]).append(0)
        elif column.kind == NUMBER:
            self._write_bits(column, 0)
        else:
            raise ValueError("a column without a zero")

    cdef void _write_bits(self, Gathered* column, uint64_t bits) noexcept:
        """Write the lowest bytes of a number, in the order of this machine."""
        cdef uint32_t width = _width(column)
        cdef uint8_t byte
        cdef uint16_t short_bits
        cdef uint32_t half
        if width == 8:
            (<uint64_t*>column.values)[self._rows] = bits
        elif width == 4:
            half = <uint32_t>bits
            (<uint32_t*>column.values)[self._rows] = half
        elif width == 2:
            short_bits = <uint16_t>bits
            (<uint16_t*>column.values)[self._rows] = short_bits
        else:
            byte = <uint8_t>bits
            column.values[self._rows] = byte

    cdef bint _write(self, Py_ssize_t n, const uint8_t* at, uint32_t size) except -1:
        """Write a value behind the others of its column; return whether it fits."""
        cdef Gathered* column = &self._columns[n]
        cdef uint64_t bits
        cdef int64_t number
        cdef object helper, value
        if column.size and size != column.size:
            return False
        _set_bit(column.valid, self._rows, True)
        if column.kind == CHARACTERS or column.kind == BYTES:
            if column.kind == CHARACTERS and not _is_utf8(at, size):
                return False
            return self._append(n, at, size)
        if column.kind == BIT:
            helper = self._helpers[n]
            if memcmp(at, PyBytes_AS_STRING(<bytes>helper[0]), size) == 0:
                _set_bit(column.values, self._rows, False)
                return True
            _set_bit(column.values, self._rows, True)
            return memcmp(at, PyBytes_AS_STRING(<bytes>helper[1]), size) == 0
        if column.kind == CHOICE or column.kind == VALUE:
            value = PyBytes_FromStringAndSize(<const char*>at, size)
            if column.kind == VALUE:
                try:
                    (<list>self._buffers[n][2]).append(self._helpers[n](value))
                except self._misfits:
                    return False
                return True
            value = (<dict>self._helpers[n]).get(value)
            if value is None:
                return False
            self._write_bits(column, <uint64_t>value)
            return True
        bits = _number_of(at, size, column.desc)
        if column.kind == SORTED_DOUBLE:
            self._write_bits(column, bits ^ SIGN if bits & SIGN else ~bits)
            return True
        if column.kind == PLAIN_FLOAT:
            self._write_bits(column, bits)
            return True
        if column.sign == FLIPPED:
            # Of fewer than 8 bytes, the number is as small as it is stored.
            if size < 8:
                bits -= <uint64_t>1 << (8 * size - 1)
            else:
                bits ^= SIGN
        elif column.sign == TWOS_COMPLEMENT and size < 8 and bits >> (8 * size - 1):
            bits -= <uint64_t>1 << (8 * size)
        if column.is_bounded:
            number = <int64_t>bits
            if column.sign == UNSIGNED and bits & SIGN:
                return False
            if number < column.least or number > column.last:
                return False
        self._write_bits(column, bits)
        return True

    cdef bint _append(self, Py_ssize_t n, const uint8_t* at, uint32_t size) except -1:
        """Append bytes to the data of a column; return whether there is room."""
        cdef Gathered* column = &self._columns[n]
        cdef Py_ssize_t used = column.ends[self._rows]
        cdef Py_ssize_t needed = used + size
        cdef Py_ssize_t capacity
        if needed > MOST_DATA:
            return False
        if needed > column.capacity:
            capacity = max(needed, 2 * column.capacity, 4096)
            values = self._buffers[n][2]
            PyByteArray_Resize(values, capacity)
            column.values = <uint8_t*>PyByteArray_AS_STRING(values)
            column.capacity = capacity
        memcpy(column.values + used, at, size)
        column.ends[self._rows + 1] = <int32_t>needed
        return True

    def take(self):
        """Return the buffers of the gathered columns, and start again.

        Returns:
            For each column: the number of its nulls; its validity; the offsets, or None; and its
            values, which are a list for values of Python.
        """
        cdef Py_ssize_t n
        cdef list taken = []
        for n in range(self._count):
            valid, ends, values = self._buffers[n]
            PyByteArray_Resize(valid, (self._rows + 7) // 8)
            if ends is not None:
                PyByteArray_Resize(values, self._columns[n].ends[self._rows])
                PyByteArray_Resize(ends, 4 * (self._rows + 1))
            elif self._columns[n].kind == BIT:
                PyByteArray_Resize(values, (self._rows + 7) // 8)
            elif self._columns[n].kind != VALUE:
                PyByteArray_Resize(values, self._rows * _width(&self._columns[n]))
            taken.append((self._columns[n].nulls, valid, ends, values))
        self._start()
        return taken


cdef inline uint32_t _width(Gathered* column) noexcept nogil:
    """Return the bytes of a number in the array."""
    if column.kind == PLAIN_FLOAT or column.kind == SORTED_DOUBLE:
        return column.size
    return column.width


cdef inline bint _bit(const uint8_t* bits, Py_ssize_t place) noexcept nogil:
    return (bits[place >> 3] >> (place & 7)) & 1


cdef inline void _set_bit(uint8_t* bits, Py_ssize_t place, bint value) noexcept nogil:
    if value:
        bits[place >> 3] |= <uint8_t>(1 << (place & 7))
    else:
        bits[place >> 3] &= <uint8_t>~(1 << (place & 7))
