#!/usr/bin/env python3
"""Recomputes ledgers from the text of `trace-cmd report -t`, and compares them with those of `tardy explain`.

Another program than tardy, with no code of it: it knows the definitions of docs/explanation/explaining.md and the kernel's
events. It compares each phase, and each owner in it, in ns.

    recompute.py run TARDY RUN   every spike of an archive
    recompute.py cases FILE      a list of {name, trace, spike, phases} in JSON
"""
import json
import os
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(?:\S+\s+)?(\d+)\.(\d{9}):\s+(\w+):\s*(.*)$")
SWITCH = re.compile(r"^(.*):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]$")
WAKE = re.compile(r"^(.*):(\d+) \[(-?\d+)\].* CPU:(\d+)$")
VECTORS = {
    "local_timer", "reschedule", "call_function", "call_function_single", "irq_work", "thermal_apic", "threshold_apic",
    "deferred_error_apic", "error_apic", "spurious_apic", "x86_platform_ipi", "ipi",
}
SOFTIRQS = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]
UNTRACED = ("untraced", "")
# Within a switch these go by the name of the thread that leaves.
BY_THE_OLD_NAME = {"function", "funcgraph_entry", "funcgraph_exit", "kernel_stack"}


def field(text, name):
    found = re.search(r"\b%s=(\S+)" % name, text)
    return found.group(1) if found else None


def events(lines):
    """Lines of the report as dictionaries, in order of time."""
    found = []
    for line in lines:
        matched = LINE.match(line)
        if not matched:
            continue
        _, tid, cpu, seconds, ns, name, text = matched.groups()
        event = {"at": int(seconds) * 10**9 + int(ns), "cpu": int(cpu), "tid": int(tid), "name": name, "text": text.strip()}
        if name == "sched_switch":
            switch = SWITCH.match(event["text"])
            if not switch:
                continue
            event.update(prev=int(switch.group(2)), state=switch.group(4), next=int(switch.group(6)))
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            wake = WAKE.match(event["text"])
            woken = int(wake.group(2)) if wake else int(field(text, "pid") or -1)
            event.update(woken=woken)
        found.append(event)
    found.sort(key=lambda event: event["at"])
    return found


def runs(event):
    """The thread that has the CPU at an event."""
    return event["prev"] if event["name"] == "sched_switch" else event["tid"]


class Cpu:
    """Who has a CPU: what was interrupted lies below."""

    def __init__(self):
        self.interrupts = []
        self.softirqs = {}
        self.tid = None

    def owner(self):
        if self.tid is None:
            return UNTRACED
        if self.interrupts:
            return ("hardirq", self.interrupts[-1])
        if self.tid in self.softirqs:
            return ("softirq", self.softirqs[self.tid])
        return ("idle", "") if self.tid == 0 else ("task", str(self.tid))

    def until(self, cursor, now, event):
        """Who had the CPU since the last event; this one may know better."""
        if event and event["name"] == "nmi_handler":
            entered = max(now - int(field(event["text"].replace("delta_ns: ", "delta_ns="), "delta_ns") or 0), cursor)
            return [(cursor, entered, self.owner()), (entered, now, ("nmi", "nmi"))]
        if event and self.tid is not None and runs(event) != self.tid and event["name"] not in BY_THE_OLD_NAME:
            return [(cursor, now, UNTRACED)]
        return [(cursor, now, self.owner())]

    def take(self, event):
        name = event["name"]
        if self.tid != runs(event):
            if name in BY_THE_OLD_NAME and self.tid is not None:
                return
            self.interrupts.clear()
            self.tid = runs(event)
        if name == "sched_switch":
            self.interrupts.clear()
            self.tid = event["next"]
        elif name.endswith("_entry") and name[:-6] in VECTORS:
            self.interrupts.append(name[:-6])
        elif name.endswith("_exit") and name[:-5] in VECTORS:
            self.leave(name[:-5])
        elif name == "irq_handler_entry":
            self.interrupts.append("irq " + field(event["text"], "irq"))
        elif name == "irq_handler_exit":
            self.leave("irq " + field(event["text"], "irq"))
        elif name == "softirq_entry":
            number = int(field(event["text"], "vec"))
            self.softirqs[self.tid] = SOFTIRQS[number] if number < len(SOFTIRQS) else str(number)
        elif name == "softirq_exit":
            self.softirqs.pop(self.tid, None)

    def leave(self, interrupt):
        if interrupt in self.interrupts:
            del self.interrupts[len(self.interrupts) - 1 - self.interrupts[::-1].index(interrupt):]


def anchors(found, own, due, seen):
    """The instants between the phases: name, or (at, cpu)."""
    at = {}
    until = [event for event in found if event["at"] <= seen]
    arms = [event for event in until if event["name"] == "hrtimer_start" and event["tid"] == own
            and str(due) in (field(event["text"], "expires"), field(event["text"], "softexpires"))]
    ready, timer = due, None
    if arms:
        at["armed"] = arms[-1]
        ready, timer = max(due, arms[-1]["at"]), field(arms[-1]["text"], "hrtimer")
    expired = next((event for event in until if event["name"] == "hrtimer_expire_entry" and event["at"] >= ready
                    and field(event["text"], "hrtimer") == timer), None) if timer else None
    if not expired:
        return None
    at["expired"] = expired
    entered = []
    for event in until:
        if event is expired:
            break
        if event["cpu"] != expired["cpu"]:
            continue
        name = event["name"]
        if name.endswith("_entry") and name[:-6] in VECTORS:
            entered.append((name[:-6], event))
        elif name == "irq_handler_entry":
            entered.append(("irq " + field(event["text"], "irq"), event))
        elif name.endswith("_exit") and name[:-5] in VECTORS | {"irq_handler"}:
            what = name[:-5] if name != "irq_handler_exit" else "irq " + field(event["text"], "irq")
            open_ones = [index for index, (known, _) in enumerate(entered) if known == what]
            if open_ones:
                del entered[open_ones[-1]:]
        elif name == "sched_switch":
            entered.clear()
    if entered:
        at["interrupt"] = entered[-1][1]
    after = [event for event in until if event["at"] >= expired["at"]]
    after = after[after.index(expired):]
    at["waking"] = next((event for event in after if event["name"] == "sched_waking" and event["woken"] == own), None)
    at["woken"] = next((event for event in after if event["name"].startswith("sched_wakeup") and event["woken"] == own),
                       at["waking"])
    if not at["woken"]:
        return None
    if at["woken"]["tid"] == own:
        at["switched"] = at["woken"]
    else:
        at["switched"] = next((event for event in after if event["at"] >= at["woken"]["at"]
                               and event["name"] == "sched_switch" and event["next"] == own), None)
    return at if at["switched"] else None


def before_the_switch(found, own, woken, switched):
    """(phase, until, CPU) from the wake-up to the switch: the thread may be moved while it waits for a CPU."""
    moves = [event for event in found if woken["at"] <= event["at"] < switched["at"]
             and event["name"] == "sched_migrate_task" and field(event["text"], "pid") == str(own)]
    cuts = [("scheduling_delay", move["at"], int(field(move["text"], "orig_cpu"))) for move in moves]
    return cuts + [("scheduling_delay", switched["at"], switched["cpu"])]


def after_the_switch(found, own, start, seen, cpu):
    """(phase, until, CPU) from the instant the thread was first given the CPU: it may lose it, and be moved."""
    cuts, runnable = [], False

    def cut(now):
        cuts.append(("scheduling_delay" if runnable else "return_to_user", now, cpu))

    for event in found:
        if event["at"] < start or event["at"] >= seen:
            continue
        if event["name"] == "sched_switch" and event["prev"] == own:
            cut(event["at"])
            runnable = event["state"].startswith("R")
        elif event["name"] == "sched_switch" and event["next"] == own and event["at"] > start:
            cut(event["at"])
            runnable, cpu = False, event["cpu"]
        elif event["name"] == "sched_migrate_task" and field(event["text"], "pid") == str(own):
            cut(event["at"])
            cpu = int(field(event["text"], "dest_cpu"))
        elif event["name"] == "sched_waking" and event["woken"] == own and event["tid"] != own:
            # Woken by an interrupt on top of itself, it has the CPU already.
            cut(event["at"])
            runnable = True
    cut(seen)
    return cuts


def spans(found, own, at, due, seen):
    """(phase, from, to, CPU), without a gap from due to seen."""
    cuts = []
    if "armed" in at:
        cuts.append(("late_arm", at["armed"]["at"], at["armed"]["cpu"]))
    if "interrupt" in at:
        cuts.append(("timer_delay", at["interrupt"]["at"], at["interrupt"]["cpu"]))
        cuts.append(("handler", at["expired"]["at"], at["expired"]["cpu"]))
    else:
        cuts.append(("timer_delay", at["expired"]["at"], at["expired"]["cpu"]))
    if at["waking"]:
        cuts.append(("wake_path", at["waking"]["at"], at["expired"]["cpu"]))
    cuts.append(("wake_path", at["woken"]["at"], at["woken"]["cpu"]))
    switched = at["switched"]
    cuts.extend(before_the_switch(found, own, at["woken"], switched))
    cuts.extend(after_the_switch(found, own, switched["at"], seen, switched["cpu"]))
    made, cursor = [], due
    for phase, until, cpu in cuts:
        until = min(max(until, cursor), seen)
        if until > cursor:
            made.append((phase, cursor, until, cpu))
        cursor = until
    return made


def ledger(found, own, due, seen):
    """ns by (phase, kind, name); None where the trace does not show the way of the wake-up."""
    at = anchors(found, own, due, seen)
    if not at:
        return None
    of_cpu = {}
    for event in found:
        of_cpu.setdefault(event["cpu"], []).append(event)
    sums = {}
    for phase, start, end, cpu in spans(found, own, at, due, seen):
        # Who had the CPU before its first event is tardy's inference, and no event's.
        if start == due and of_cpu.get(cpu) and of_cpu[cpu][0]["at"] > start:
            return None
        state, cursor = Cpu(), None
        for event in of_cpu.get(cpu, []) + [None]:
            now = event["at"] if event else end
            if cursor is not None and now > start and cursor < end:
                for first, last, owner in state.until(cursor, now, event):
                    ns = min(last, end) - max(first, start)
                    if ns > 0:
                        sums[(phase,) + owner] = sums.get((phase,) + owner, 0) + ns
            if event is None or now >= end:
                break
            state.take(event)
            cursor = now
    return sums


def ledger_of(explanation):
    """tardy's ledger in the same terms: what was silent, stolen or spent on a stack trace counts for the context it interrupted."""
    sums = {}
    for phase in explanation["phases"]:
        for owner in phase["owners"]:
            kind, name = owner["kind"], owner["name"]
            if kind in ("steal", "silence_this_cpu", "silence_all_cpus"):
                name = re.sub(r"^(not executed by the hypervisor, in|interrupt not delivered to|stood still in|"
                              r"no CPU recorded anything, this one was in) ", "", name)
                kind = kind_of(name)
            if kind == "tool" and name.startswith("stack trace in "):
                name = name.removeprefix("stack trace in ")
                kind = kind_of(name)
            name = re.sub(r" \([^()]*\)$", "", name)
            if kind in ("task", "rt_task", "own", "tool"):
                kind, name = "task", name.rsplit("-", 1)[-1]
            elif kind == "softirq":
                name = name.split(" in ")[0]
            elif kind == "hardirq":
                name = " ".join(name.split(" ")[:2]) if name.startswith("irq ") else name
            elif kind in ("idle", "untraced"):
                name = ""
            key = (phase["name"], kind, name)
            sums[key] = sums.get(key, 0) + owner["ns"]
    return sums


def folded(sums, theirs):
    """Beyond 40 owners tardy names the rest of a phase "others", parts of a thread among them: there only kinds are compared."""
    made = {}
    for (phase, kind, name), ns in sums.items():
        key = (phase, kind, "others" if (phase, kind, "others") in theirs else name)
        made[key] = made.get(key, 0) + ns
    return made


def kind_of(name):
    plain = re.sub(r" \([^()]*\)$", "", name)
    if plain in VECTORS or plain.startswith("irq "):
        return "hardirq"
    if plain.startswith("idle"):
        return "idle"
    return "softirq" if plain.split(" in ")[0] in SOFTIRQS else "task"


def compare(name, spike, explanation, lines):
    """None where both agree, otherwise what differs; "skipped" where nothing can be recomputed, "inferred" where the trace lacks
    switches and tardy infers who had the CPU."""
    sample = spike["sample"]
    due, latency = sample["due_ns"], sample["latency_ns"]
    mine = ledger(events(lines), spike["tid"], due, due + latency)
    if mine is None:
        return "skipped"
    theirs = ledger_of(explanation)
    mine, theirs = folded(mine, theirs), folded(theirs, theirs)
    differ = {key: (mine.get(key, 0), theirs.get(key, 0)) for key in set(mine) | set(theirs)
              if mine.get(key, 0) != theirs.get(key, 0)}
    if sum(theirs.values()) != latency:
        differ["sum"] = (latency, sum(theirs.values()))
    lacks_switches = any(caveat["code"] == "explain.switches-missing" for caveat in explanation.get("caveats", []))
    if differ and lacks_switches and is_inferred(differ):
        return "inferred"
    return differ or None


def is_inferred(differ):
    """Whether tardy gives to tasks, phase by phase, exactly what no event gives to anybody, and nothing else differs."""
    if "sum" in differ:
        return False
    phases = {}
    for (phase, kind, _), (mine, theirs) in differ.items():
        of_phase = phases.setdefault(phase, {"untraced": 0, "task": 0})
        if kind not in of_phase or (theirs > mine) != (kind == "task"):
            return False
        of_phase[kind] += theirs - mine
    return all(of_phase["untraced"] + of_phase["task"] == 0 for of_phase in phases.values())


def report(results):
    skipped = [name for name, result in results if result == "skipped"]
    inferred = [name for name, result in results if result == "inferred"]
    wrong = [(name, result) for name, result in results if result not in (None, "skipped", "inferred")]
    compared = len(results) - len(skipped) - len(inferred)
    for name, result in wrong:
        print(f"{name}:")
        for key, (mine, theirs) in sorted(result.items(), key=str):
            print(f"    {key}: recomputed {mine}, tardy {theirs}")
    if inferred:
        print("not compared, the trace lacks switches that tardy infers: " + ", ".join(inferred))
    print(f"{compared - len(wrong)} of {compared} ledgers agree; {len(skipped)} without the events of the whole way")
    return 1 if wrong else 0


def of_run(tardy, run):
    with tempfile.TemporaryDirectory() as scratch:
        document = os.path.join(scratch, "run.json")
        subprocess.run([tardy, "export", "--format", "json", "--output", document, run], check=True, stdout=subprocess.DEVNULL)
        with open(document) as text:
            run_json = json.load(text)
    results = []
    for spike in run_json["summary"]["spikes"]:
        number, explanation = spike["number"], spike.pop("explanation", None)
        trace = os.path.join(run, "spikes", f"{number:04}", "trace.dat")
        if not explanation or not os.path.exists(trace):
            continue
        lines = report_of(trace)
        name = f"{os.path.basename(run.rstrip('/'))} #{number}"
        results.append((name, compare(name, spike, explanation, lines)))
    return results


def report_of(trace):
    words = ["trace-cmd", "report", "-t", "-i", trace]
    return subprocess.run(words, capture_output=True, text=True, errors="replace").stdout.splitlines()


def cases(path):
    with open(path) as file:
        listed = json.load(file)
    return [(one["name"], compare(one["name"], one["spike"], one, report_of(one["trace"]))) for one in listed]


def main(words):
    if words[:1] == ["run"] and len(words) == 3:
        return report(of_run(words[1], words[2]))
    if words[:1] == ["cases"] and len(words) == 2:
        return report(cases(words[1]))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
