"""A board with a UART and BusyBox: the root is read-only, there is no /tmp, and /dev/shm is the only place to write."""

import contextlib
import pathlib
import shutil
import subprocess
import time

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mkdir /dev/shm
/bin/busybox mount -t tmpfs none /dev/shm
/bin/busybox mount -o remount,ro /
export PATH=/bin HOME=/
cd /
touch /proof 2> /dev/null && echo "the root is writable" && exit 1
while :; do setsid -c sh < /dev/ttyS0 > /dev/ttyS0 2>&1; done
"""
PATIENCE_S = 120


def initial_files(folder):
    """Packs the root; every program in it is BusyBox."""
    tree = folder / "tree"
    for name in ("bin", "dev", "proc", "sys"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
    for name in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (tree / "bin" / name).symlink_to("busybox")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = folder / "root.cpio"
    with archive.open("wb") as packed:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], input=names.encode(), stdout=packed,
                       stderr=subprocess.DEVNULL, cwd=tree, check=True)
    return archive


@contextlib.contextmanager
def running(kernel, memory_mb, folder):
    """Boots the board; gives the address of its UART for `tardy target add --serial`."""
    uart = folder / "uart"
    command = [
        "qemu-system-x86_64", "-accel", "tcg", "-M", "q35", "-cpu", "max", "-smp", "1", "-m", memory_mb, "-nodefaults",
        "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", initial_files(folder), "-serial",
        f"unix:{uart},server=on,wait=off", "-append",
        "console=ttyS0,115200 quiet panic=-1 tsc=reliable clocksource=tsc no_timer_check",
    ]
    qemu = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL)
    try:
        begun = time.monotonic()
        while not uart.exists() and qemu.poll() is None and time.monotonic() < begun + PATIENCE_S:
            time.sleep(0.1)
        yield f"unix:{pathlib.Path(uart)}"
    finally:
        qemu.kill()
        qemu.wait()
