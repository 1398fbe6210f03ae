"""Empties the paths of mapped programs in a perf.data file of this byte order, written to a disk or to a pipe.

usage: without_paths.py FILE
"""
import struct
import sys

MMAP, MMAP2, TRACING_DATA = 1, 10, 66
NAME_AT = {MMAP: 8 + 8 + 24, MMAP2: 8 + 8 + 24 + 32}

data = bytearray(open(sys.argv[1], "rb").read())
at, end = (16, len(data)) if struct.unpack_from("<Q", data, 8)[0] == 16 else struct.unpack_from("<QQ", data, 40)
end = end if at == 16 else at + end
while at + 8 <= end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind in NAME_AT:
        name = at + NAME_AT[kind]
        stop = data.index(0, name)
        data[name:stop] = b"\0" * (stop - name)
    at += size + (struct.unpack_from("<I", data, at + 8)[0] if kind == TRACING_DATA else 0)
open(sys.argv[1], "wb").write(data)
