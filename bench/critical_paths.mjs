// critical_paths.mjs UI_DIRECTORY TRACE TID FROM_NS TO_NS: prints as JSON what Perfetto's critical path of a thread consists of in a stretch
// of time: its states, the threads that it waits for, and ns. Counts the switches that do not follow each other.

import fs from "node:fs";
import { start } from "../crates/tardy/tests/perfetto/trace_processor.mjs";

const [directory, trace, tid, from, to] = process.argv.slice(2);
const processor = await start(directory);
await processor.load(fs.readFileSync(trace));
await processor.query("include perfetto module sched.thread_executing_span_with_slice");
const threads = await processor.query(`select utid from thread where tid = ${tid} order by utid desc limit 1`);
if (!threads.length) throw new Error(`${trace}: no thread ${tid}`);
const rows = await processor.query(
  `select ts, dur, name from _thread_executing_span_critical_path_stack(${threads[0].utid}, ${from}, ${to} - ${from}) where name is not null`,
);
// Each part of the path has a row for the state of the thread, and one for the thread that it waits for.
const byPart = new Map();
for (const { ts, dur, name } of rows) {
  const part = byPart.get(ts) ?? { state: "", waitsFor: "", ns: dur };
  const [, kind, value] = /^(thread_state|blocking thread_name): (.*)$/.exec(name) ?? [];
  if (kind === "thread_state") part.state = value;
  if (kind === "blocking thread_name") part.waitsFor = value;
  byPart.set(ts, part);
}
const sums = new Map();
for (const { state, waitsFor, ns } of byPart.values()) {
  const key = JSON.stringify({ state, waitsFor });
  sums.set(key, (sums.get(key) ?? 0) + ns);
}
const parts = [...sums].map(([key, ns]) => ({ ...JSON.parse(key), ns })).sort((one, other) => other.ns - one.ns);
const [{ mismatched }] = await processor.query("select sum(value) as mismatched from stats where name = 'mismatched_sched_switch_tids'");
// The trace processor reports its own progress on standard output.
fs.writeSync(3, JSON.stringify({ parts, mismatched }));
process.exit(0);
