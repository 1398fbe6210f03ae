"""As late_functions.c, in Python: start it with -X perf."""

import sys
import time


def ordinary_work(count):
    value = 1
    for step in range(count):
        value = (value * 3 + step) & 0xFFFF
    return value


def slow_filter(count):
    value = 1
    for step in range(count):
        value = (value * 5 + step) & 0xFFFF
    return value


def slow_planner(count):
    value = 1
    for step in range(count):
        value = (value * 7 + step) & 0xFFFF
    return value


def slow_logger(count):
    value = 1
    for step in range(count):
        value = (value * 11 + step) & 0xFFFF
    return value


def slow_solver(count):
    value = 1
    for step in range(count):
        value = (value * 13 + step) & 0xFFFF
    return value


def link(depth, slow, count):
    return slow(count) if depth <= 2 else link(depth - 1, slow, count) + 1


def cycle(depth, slow, count, ordinary):
    ordinary_work(ordinary)
    if slow and depth <= 1:
        slow(count)
    elif slow:
        link(depth, slow, count)


def main():
    depth, late = int(sys.argv[1]), int(sys.argv[2])
    begun = time.thread_time_ns()
    ordinary_work(1_000_000)
    per_ms = 1_000_000 * 1_000_000 // (time.thread_time_ns() - begun) + 1
    slow = (slow_filter, slow_planner, slow_logger, slow_solver)
    following = time.monotonic_ns()
    with open(sys.argv[3], "w") as truth:
        for number in range(1, late * 50 + 1):
            following += 5_000_000
            time.sleep(max(following - time.monotonic_ns(), 0) / 1e9)
            work = slow[number // 50 % 4]
            is_late = number % 50 == 0
            before = time.monotonic_ns()
            cycle(depth, work if is_late else None, per_ms * 4, per_ms // 3)
            if is_late:
                truth.write(f"{before} py::{work.__name__}:{__file__}\n")


main()
