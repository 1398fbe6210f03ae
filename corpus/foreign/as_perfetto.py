"""Writes the events that `perf script` prints as a Perfetto trace, by the message definitions of the package `perfetto`.

usage: perf script --ns -F comm,tid,cpu,time,event,trace | as_perfetto.py typed|compact > FILE

`compact` stores switches and wake-ups in columns, as traced_probes does unless it is asked not to.
"""
import re
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEvent, Trace

LINE = re.compile(r"^ *(.*?) +(\d+) \[(\d+)\] +(\d+)\.(\d{9}): +([^: ]+):([^: ]+): ?(.*)$")
FIELD = re.compile(r"(\w+)=(.*?)(?= \w+=| ==>|$)")
STATES = {"R": 0, "S": 1, "D": 2, "T": 4, "t": 8, "X": 16, "Z": 32, "P": 64, "I": 128}
symbols = {}


def state(text):
    return STATES[text[0]] | (256 if "+" in text else 0)


def number(name, text):
    text = text.split(" ")[0].rstrip(",")
    if name == "prev_state":
        return state(text)
    if name == "function":
        return symbols.setdefault(re.split(r"[+/]", text)[0], len(symbols) + 1)
    if name in ("hrtimer", "timer"):
        return int(text, 16)
    return int(text, 0) if text.startswith("0x") else int(text)


def read(lines):
    for line in lines:
        found = LINE.match(line.rstrip())
        if not found:
            continue
        _, tid, cpu, seconds, fraction, _, event, rest = found.groups()
        fields = {key: value.strip() for key, value in FIELD.findall(rest)}
        yield int(cpu), int(seconds) * 10**9 + int(fraction), int(tid), event, fields


def fill_typed(event, tid, ts, name, fields):
    event.timestamp, event.pid = ts, tid
    if name not in FtraceEvent.DESCRIPTOR.fields_by_name:
        event.generic.event_name = name
        for key, value in fields.items():
            field = event.generic.field.add(name=key)
            field.int_value = number(key, value)
        return
    message = getattr(event, name)
    message.SetInParent()
    for field in message.DESCRIPTOR.fields:
        # The return value of a handler is a word.
        if field.name in fields and field.name != "ret":
            value = fields[field.name]
            setattr(message, field.name, value if field.type == field.TYPE_STRING else number(field.name, value))


class Compact:
    def __init__(self, columns):
        self.columns, self.names, self.last = columns, {}, defaultdict(int)

    def name(self, text):
        if text not in self.names:
            self.names[text] = len(self.names)
            self.columns.intern_table.append(text)
        return self.names[text]

    def add(self, kind, ts, **values):
        getattr(self.columns, kind + "_timestamp").append(ts - self.last[kind])
        self.last[kind] = ts
        for key, value in values.items():
            getattr(self.columns, f"{kind}_{key}").append(value)

    def take(self, ts, name, fields):
        if name == "sched_switch":
            self.add("switch", ts, prev_state=state(fields["prev_state"]), next_pid=int(fields["next_pid"]),
                     next_prio=int(fields["next_prio"]), next_comm_index=self.name(fields["next_comm"]))
        elif name == "sched_waking":
            self.add("waking", ts, pid=int(fields["pid"]), target_cpu=int(fields["target_cpu"]),
                     prio=int(fields["prio"]), comm_index=self.name(fields["comm"]), common_flags=1)
        else:
            return False
        return True


def main(form):
    trace = Trace()
    head = trace.packet.add(trusted_packet_sequence_id=1)
    names = head.system_info.utsname
    names.sysname, names.release, names.machine = "Linux", "6.18.44", "x86_64"
    by_cpu = defaultdict(list)
    for cpu, *event in read(sys.stdin):
        by_cpu[cpu].append(event)
    for cpu, events in sorted(by_cpu.items()):
        # A few hundred events a bundle, as the kernel's pages have.
        for begin in range(0, len(events), 300):
            packet = trace.packet.add(trusted_packet_sequence_id=1)
            bundle = packet.ftrace_events
            bundle.cpu = cpu
            compact = Compact(bundle.compact_sched) if form == "compact" else None
            for ts, tid, name, fields in events[begin:begin + 300]:
                if not (compact and compact.take(ts, name, fields)):
                    fill_typed(bundle.event.add(), tid, ts, name, fields)
    for name, iid in symbols.items():
        head.interned_data.kernel_symbols.add(iid=iid, str=name.encode())
    sys.stdout.buffer.write(trace.SerializeToString())


main(sys.argv[1])
