// check.mjs UI_DIRECTORY TRACE RUN_JSON: loads a trace that `tardy export --format perfetto` wrote into Perfetto's trace
// processor, and compares what it understood with `tardy export --format json` of the same run.

import fs from "node:fs";
import { start } from "./trace_processor.mjs";

const [directory, trace, document] = process.argv.slice(2);
const run = JSON.parse(fs.readFileSync(document, "utf8"));
const processor = await start(directory);
await processor.load(fs.readFileSync(trace));
const failures = [];
const expect = (condition, words) => {
  if (!condition) failures.push(words);
};

for (const { name, value } of await processor.query(
  "select name, sum(value) as value from stats where severity = 'error' and value > 0 group by name",
)) {
  failures.push(`the trace processor counts an error: ${name} = ${value}`);
}

const recorded = run.summary.spikes.filter((spike) => spike.snapshot);
const [{ slices, cpus }] = await processor.query("select count(*) as slices, count(distinct cpu) as cpus from sched");
expect(slices > 0 || recorded.length === 0, "there are no slices of threads on CPUs");
const [{ events, kinds }] = await processor.query("select count(*) as events, count(distinct name) as kinds from ftrace_event");
expect(events > 0 || recorded.length === 0, "there are no events of the kernel");

const sums = await processor.query(
  `select parent.name as spike, track.name as track, count(*) as slices, sum(slice.dur) as ns
   from slice join track on slice.track_id = track.id join track parent on track.parent_id = parent.id
   where parent.name like 'spike %' group by parent.id, track.id`,
);
let checked = 0;
for (const { number, latency_ns, explanation } of run.summary.spikes) {
  const of = (name) => sums.find((row) => row.track === name && row.spike.startsWith(`spike ${number}:`));
  expect(of("wake-up")?.ns === latency_ns, `spike ${number}: the wake-up is ${of("wake-up")?.ns} ns, not ${latency_ns}`);
  if (explanation.status === "no_trace") continue;
  for (const name of ["phases", "who held the CPU"]) {
    expect(of(name)?.ns === latency_ns, `spike ${number}: ${name} sum to ${of(name)?.ns} ns, not ${latency_ns}`);
  }
  const findings = explanation.findings.length;
  expect(!findings || of("findings")?.slices === findings, `spike ${number}: ${of("findings")?.slices} findings, not ${findings}`);
  checked++;
}
const [{ seconds }] = await processor.query(
  "select count(*) as seconds from counter join track on counter.track_id = track.id where track.name like 'maximum of each second%'",
);
expect(seconds === run.seconds.length, `${seconds} values of maxima, not ${run.seconds.length}`);

console.log(
  `${trace}: ${events} events of ${kinds} kinds, ${slices} slices of threads on ${cpus} CPUs, ` +
    `${run.summary.spikes.length} spikes (${checked} ledgers to the nanosecond), ${seconds} maxima`,
);
failures.forEach((failure) => console.error(`  ${failure}`));
process.exit(failures.length ? 1 : 0);
