//! `tardy import` on the files of `corpus/imports/`: sound, cut and foreign ones.

mod exported;
mod goldens;
mod judged;
mod recordings;
mod refusals;
mod verbs;

use fixtures::repository::repository_path;

/// The fixtures that can be imported, as paths below `corpus/imports/`.
const SOUND: [&str; 34] = [
    "columns/osadl.txt",
    "cyclictest-2.10/histofall-one-thread.txt",
    "cyclictest-2.10/histogram.json",
    "cyclictest-2.10/histogram.txt",
    "cyclictest-2.10/plain.json",
    "cyclictest-2.4/histfile.txt",
    "cyclictest-2.4/histofall.txt",
    "cyclictest-2.4/histogram.json",
    "cyclictest-2.4/histogram.txt",
    "cyclictest-2.4/live.txt",
    "cyclictest-2.4/nanoseconds.json",
    "cyclictest-2.4/nanoseconds.txt",
    "cyclictest-2.4/plain.json",
    "cyclictest-2.4/plain.txt",
    "jitterdebugger/results.json",
    "jitterdebugger-samples/results.json",
    "logs/histogram-twice.txt",
    "logs/live-twice.txt",
    "logs/quiet-twice.txt",
    "logs/quiet-twice.txt.xz",
    "logs/verbose-nanoseconds.txt",
    "logs/verbose.txt",
    "logs/verbose.txt.gz",
    "osadl/rack9slot9.json",
    "rt-tests-2.4/oslat.json",
    "rt-tests-2.4/pmqtest.json",
    "rt-tests-2.4/ptsematest.json",
    "rt-tests-2.4/signaltest.json",
    "rteval/cyclictest.xml",
    "rteval/ended-by-break.xml",
    "rteval/timerlat.xml",
    "rtla/osnoise.txt",
    "rtla/timerlat-wide.txt",
    "rtla/timerlat.txt",
];
/// Two distributions in each file.
const RTLA: [&str; 2] = ["rtla/timerlat.json", "rtla/osnoise.json"];

fn fixture(name: &str) -> String {
    repository_path("corpus/imports").join(name).to_str().unwrap().to_owned()
}
