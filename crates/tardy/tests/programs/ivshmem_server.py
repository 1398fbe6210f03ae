"""Serves QEMU's ivshmem-doorbell at a Unix socket: every machine is the only peer, with number 0 and one vector."""

import os
import socket
import struct
import sys

VERSION = 0
NUMBER = 0
MEMORY_BYTES = 1 << 20


def say(peer, number, *files):
    socket.send_fds(peer, [struct.pack("<q", number)], list(files))


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
served = []
while True:
    peer, _ = listener.accept()
    memory, event = os.memfd_create("ivshmem"), os.eventfd(0)
    os.ftruncate(memory, MEMORY_BYTES)
    say(peer, VERSION)
    say(peer, NUMBER)
    say(peer, -1, memory)
    say(peer, NUMBER, event)
    # QEMU takes the device away where the line is closed.
    served.append((peer, event))
