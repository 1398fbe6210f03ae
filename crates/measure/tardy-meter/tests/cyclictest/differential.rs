//! Both programs with the same options: every token of their output has the same kind, or the difference is documented.

use crate::documented::{Difference, differences, fits};
use crate::programs::{Ran, run_ours, run_theirs, theirs_is_there};
use crate::shape::{alike, settled};
use cyclictest::options::{OPTIONS, Origin};
use prerequisites::require;
use serde_json::Value;
use std::collections::BTreeSet;

/// Command lines; both programs run each, in separate directories.
const LINES: &[&str] = &[
    "-l 20 -q",
    "-l 20",
    "-l 30 -i 500 -t 2",
    "-l 50 -q -S",
    "-l 50 -q -Sp80",
    "-l 50 -q -S -p 80 -m",
    "-l100 -m -Sp90 -i200 -h400 -q",
    "-l 100 -m -n -p 99 -q",
    "-l 20 -v",
    "-l 20 -v -q -S",
    "-l 60 -q -v -o 10 -t 2 -p 70",
    "-v -h 10 -l 20",
    "-l 10 -v -u -p 80",
    "-l 10 -v -N",
    "-h 50 -l 50 -q -S",
    "-h 50 -l 50 -q",
    "-h 100 -l 50",
    "-H 60 -l 20 -q -S -p 80",
    "-H 60 -l 20 -q",
    "-h 2 -l 20 -q -t 3 -p 10",
    "--histogram=400 --loops=50 --quiet --smp",
    "--histofall 30 --loops 20 --quiet --threads=2",
    "--histfile=h.txt -h 40 -l 30 -q -S",
    "--histfile h.txt -h 40 -l 30",
    "-N -l 20 -q",
    "-N -l 20",
    "-N -h 5000 -l 20 -q",
    "-M -l 30",
    "-M -l 20 -S -p 20",
    "-b 1 -l 20 -q",
    "-b 1 -l 20 -q -S -p 80",
    "-b 1 -l 20 -h 20 -q",
    "-b 1000000 -l 20 -q",
    "-b 0 -l 20 -q",
    "-N -b 100 -l 20 -q",
    "-b 1000000 -l 10 -q --spike 1",
    "--spike 1 -l 20 -q -S",
    "--spike=1 --spike-nodes=3 -l 20 -q",
    "--spike 1000000 -l 10 -q",
    "--spike 1 -l 10 -q -h 100",
    "-x -l 20 -q",
    "-x -l 20 -q -p 80 -S",
    "-x -r -l 10 -q",
    "-r -l 20 -q",
    "-s -l 20 -q",
    "-s -r -l 10 -q",
    "-c 1 -l 20 -q",
    "-c 0 -l 20 -q -p 30",
    "-A 10 -l 20 -q -S -p 80",
    "-A -l 20 -q -S -p 80",
    "--aligned=50 -l 20 -q -t 2 -p 80",
    "--secaligned -l 10 -q -S -p 80",
    "--laptop -l 10 -q",
    "--default-system -l 10 -q",
    "--latency=20 -l 10 -q",
    "-t -l 20 -q -p 80 --priospread",
    "-t3 -l 20 -q -p 80",
    "-t 3 -l 20 -q -d 0",
    "-t 3 -l 20 -q -d 100 -i 500",
    "-p 80 --policy rr -l 10",
    "--policy=rr -p 80 -l 10 -q",
    "--policy=fifo -l 10 -q",
    "--policy=batch -l 10",
    "--policy=idle -l 10",
    "--policy other -p 5 -l 10",
    "-a 0-1 -t 3 -l 10 -q -v",
    "-a 1 -t 2 -l 10 -v",
    "-a -t -l 20 -q",
    "-a 0 -l 10 -q",
    "-a !0 -t 2 -l 10 -q",
    "-D 1 -q -i 1000",
    "--duration=1s -q -i 1000 -S -p 50",
    "-R -l 10 -q",
    "-F fifo -l 20 -q",
    "--json=- -l 10 -q",
    "--json=out.json -l 30 -q",
    "--json=out.json -l 30 -q -h 100 -S",
    "--json out.json -l 30 -N",
    "--json=out.json -l 20 -b 1 -q",
    "--mainaffinity=1 -l 10 -q",
    "--dbg_cyclictest -l 10 -q",
    "-l 10 -q extra",
    "-l 10 -q -d 100 -h 10 -S",
    "-l 5 -q -S -t 3",
    "--inter=500 --loo=20 --qui",
    "-Z",
    "-n -l 5 -q",
    "--foo",
    "-l 5 -q --oscope",
    "-h0",
    "-p 100 -l 5 -q",
    "-p -5 -l 5 -q",
    "-a 99 -l 5 -q",
    "-o 5 -l 5 -q",
    "--prio 5 -l 5 -q",
    "--policy foo -l 5 -q",
    "--smi -l 5 -q",
    "--json=/nonexistent/x -l 5 -q",
    "--histfile=/nonexistent/x -h 10 -l 5 -q",
    "-F /nonexistent/x -l 5 -q",
    "-D 1x -q",
    "-p 5x -l 5 -q",
];

#[test]
fn the_output_is_that_of_rt_tests_but_for_what_is_documented() {
    require!(Root, Prepared("cyclictest 2.4 (Debian 12: rt-tests)", theirs_is_there()));
    assert!(LINES.len() >= 60);
    let documented = differences();
    let mut used = BTreeSet::new();
    let mut failures = Vec::new();
    for line in LINES {
        let (theirs_directory, ours_directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let theirs = run_theirs(line, theirs_directory.path());
        let ours = run_ours(&format!("--compat 2.4 {line}"), ours_directory.path());
        let mut comparison = Comparison { line, documented: &documented, used: &mut used, failures: Vec::new() };
        comparison.texts("stdout", &theirs.stdout, &ours.stdout);
        comparison.texts("stderr", &theirs.stderr, &ours.stderr);
        comparison.statuses(&theirs, &ours);
        for (file, json) in [("h.txt", false), ("out.json", true)] {
            let read = |directory: &tempfile::TempDir| std::fs::read_to_string(directory.path().join(file)).ok();
            match (read(&theirs_directory), read(&ours_directory)) {
                (Some(theirs), Some(ours)) if json => comparison.json(&theirs, &ours),
                (Some(theirs), Some(ours)) => comparison.texts("stdout", &theirs, &ours),
                (None, None) => {}
                (theirs, ours) => {
                    comparison.fail(format!("{file}: theirs {}, ours {}", theirs.is_some(), ours.is_some()))
                }
            }
        }
        plausible(line, &ours, &mut comparison);
        failures.append(&mut comparison.failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{} command lines compared; differences met: {used:?}", LINES.len());
}

#[test]
fn every_option_of_rt_tests_is_compared() {
    // Tests must not stop the machine's own tracing, and the help texts differ.
    let left_out = ["tracemark", "help"];
    let rows = OPTIONS.iter().filter(|row| row.origin == Origin::RtTests && !left_out.contains(&row.long));
    let words: Vec<&str> = LINES.iter().flat_map(|line| line.split_whitespace()).collect();
    for row in rows {
        let long = format!("--{}", row.long);
        let letter = row.short.map(char::from);
        let met = words.iter().any(|word| {
            let bundled = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            word.split('=').next() == Some(&long)
                || bundled.zip(letter).is_some_and(|(letters, letter)| letters.contains(letter))
        });
        assert!(met, "no command line has {long}");
    }
}

struct Comparison<'a> {
    line: &'a str,
    documented: &'a [Difference],
    used: &'a mut BTreeSet<String>,
    failures: Vec<String>,
}

impl Comparison<'_> {
    fn fail(&mut self, what: String) {
        self.failures.push(format!("cyclictest {}: {what}", self.line));
    }

    fn known(&mut self, place: &str, theirs: Option<&str>, ours: Option<&str>) -> bool {
        let side = |pattern: &str, text: Option<&str>| match text {
            None => pattern.is_empty(),
            Some(text) => !pattern.is_empty() && fits(pattern, text),
        };
        let found = self.documented.iter().find(|difference| {
            difference.applies(place, self.line) && side(&difference.theirs, theirs) && side(&difference.ours, ours)
        });
        found.map(|difference| self.used.insert(difference.name.clone())).is_some()
    }

    fn texts(&mut self, place: &str, theirs: &str, ours: &str) {
        let (theirs, ours) = (json_aside(theirs), json_aside(ours));
        if let (Some(theirs), Some(ours)) = (&theirs.1, &ours.1) {
            self.json(theirs, ours);
        }
        let (mut theirs, mut ours) = (settled(&theirs.0), settled(&ours.0));
        if place == "stderr" {
            // libnuma ends some of its warnings with an empty line.
            theirs.retain(|line| !line.is_empty());
            ours.retain(|line| !line.is_empty());
        }
        let (mut left, mut right) = (theirs.iter().peekable(), ours.iter().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (None, None) => return,
                (Some(theirs), Some(ours)) if alike(theirs, ours) || self.known(place, Some(theirs), Some(ours)) => {
                    left.next();
                    right.next();
                }
                (Some(theirs), _) if self.known(place, Some(theirs), None) => drop(left.next()),
                (_, Some(ours)) if self.known(place, None, Some(ours)) => drop(right.next()),
                (theirs, ours) => {
                    let what = format!("{place}: theirs {theirs:?}, ours {ours:?}");
                    return self.fail(what);
                }
            }
        }
    }

    fn statuses(&mut self, theirs: &Ran, ours: &Ran) {
        let (theirs, ours) = (theirs.status.to_string(), ours.status.to_string());
        if theirs != ours && !self.known("status", Some(&theirs), Some(&ours)) {
            self.fail(format!("status: theirs {theirs}, ours {ours}"));
        }
    }

    fn json(&mut self, theirs: &str, ours: &str) {
        match (serde_json::from_str::<Value>(theirs), serde_json::from_str::<Value>(ours)) {
            (Ok(theirs), Ok(ours)) => self.values("", &theirs, &ours),
            (_, ours) => self.fail(format!("json: ours {:?}", ours.err())),
        }
    }

    fn values(&mut self, path: &str, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            // Which buckets are filled depends on the samples.
            (Value::Object(_), Value::Object(ours)) if path.ends_with("/histogram") => {
                if !ours.iter().all(|(bucket, count)| bucket.parse::<u64>().is_ok() && count.is_u64()) {
                    self.fail(format!("json {path}: {ours:?}"));
                }
            }
            (Value::Object(theirs), Value::Object(ours)) => {
                for key in theirs.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
                    let path = format!("{path}/{key}");
                    match (theirs.get(key), ours.get(key)) {
                        (Some(theirs), Some(ours)) => self.values(&path, theirs, ours),
                        (theirs, ours) => {
                            let (left, right) = (theirs.map(|_| path.as_str()), ours.map(|_| path.as_str()));
                            if !self.known("json", left, right) {
                                self.fail(format!("json: theirs {left:?}, ours {right:?}"));
                            }
                        }
                    }
                }
            }
            (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
                let same = ["/file_version", "/num_threads", "/resolution_in_ns", "/sysinfo/realtime"];
                if same.contains(&path) && left != right {
                    self.fail(format!("json {path}: theirs {left}, ours {right}"));
                }
            }
            (Value::String(left), Value::String(right)) => {
                let same = path.starts_with("/sysinfo") || path == "/rt_test_version:";
                let date = path.ends_with("_time");
                if (same && left != right) || (date && !alike(&words_aside(left), &words_aside(right))) {
                    self.fail(format!("json {path}: theirs {left}, ours {right}"));
                }
            }
            (left, right) if left == right => {}
            (left, right) => self.fail(format!("json {path}: theirs {left}, ours {right}")),
        }
    }
}

/// Replaces names of days and months.
fn words_aside(date: &str) -> String {
    date.chars().map(|c| if c.is_alphabetic() { 'a' } else { c }).collect()
}

/// Extracts a JSON document from the middle of a text.
fn json_aside(text: &str) -> (String, Option<String>) {
    match (text.find("{\n"), text.rfind("\n}\n")) {
        (Some(start), Some(end)) => {
            (format!("{}{}", &text[..start], &text[end + 3..]), Some(text[start..end + 3].to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}

/// Checks the figures themselves.
fn plausible(line: &str, ours: &Ran, comparison: &mut Comparison) {
    let field = |line: &str, name: &str| -> Option<i64> {
        line.split_once(name)?.1.trim_start().split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
    };
    let last = settled(&ours.stdout);
    for text in last.iter().filter(|text| text.starts_with("T:") && text.contains("Min:")) {
        let number = |name| field(text, name).unwrap_or(-1);
        let (cycles, min, act, avg, max) =
            (number("C:"), number("Min:"), number("Act:"), number("Avg:"), number("Max:"));
        let measured = cycles > 0 && min >= 0 && min <= avg && avg <= max && min <= act && act <= max;
        if !measured && cycles != 0 {
            comparison.fail(format!("not plausible: {text}"));
        }
        if cycles == 0 && (min, act, avg, max) != (1_000_000, 0, 0, 0) {
            comparison.fail(format!("a thread without cycles: {text}"));
        }
    }
    if ours.status == 0
        && line.contains(" -q")
        && !line.contains("-h")
        && !line.contains("-H")
        && !last.iter().any(|text| text.contains("Min:"))
    {
        comparison.fail("measured, but nothing says what".into());
    }
}
