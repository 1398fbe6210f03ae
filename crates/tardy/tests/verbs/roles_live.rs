//! One plan starts both ends of a cable, which is a pair of virtual interfaces of this machine.

use archive::reader::Run;
use archive::summary::RunSummary;
use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::{Prepared, Program};
use prerequisites::met;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Two interfaces joined by a wire.
pub struct Cable {
    pub near: String,
    pub far: String,
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

impl Cable {
    /// `None` where the kernel has no such interfaces.
    pub fn lay() -> Option<Self> {
        static LAID: AtomicU32 = AtomicU32::new(0);
        // A name has 15 characters.
        let own = format!("{:x}.{}", std::process::id(), LAID.fetch_add(1, Relaxed));
        let cable = Self { near: format!("tdrn{own}"), far: format!("tdrf{own}") };
        ip(&["link", "add", &cable.near, "type", "veth", "peer", "name", &cable.far]).then_some(())?;
        for name in [&cable.near, &cable.far] {
            assert!(ip(&["link", "set", name, "up"]));
        }
        Some(cable)
    }

    /// The wire carries nothing any more.
    pub fn cut(&self) {
        assert!(ip(&["link", "set", &self.far, "down"]));
    }

    pub fn set_down(&self) {
        assert!([&self.near, &self.far].iter().all(|name| ip(&["link", "set", name, "down"])));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        ip(&["link", "del", &self.near]);
    }
}

fn tardy(folder: &Path, meter: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder).env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.join("state"));
    Ended::of(command.output().unwrap())
}

/// Results of both machines by a plan with this method and stimulus machine.
fn measured(folder: &Path, meter: &Path, (method, stimulus): (&str, &str), round: &str) -> (RunSummary, RunSummary) {
    let plan = format!(
        "[measurement]\nmethod = \"{method}\"\nstimulus = \"{stimulus}\"\n\
         duration = \"1s\"\ninterval = \"10ms\"\nsettle = \"100ms\"\n[trace]\nbeside_others = true\n"
    );
    fs::write(folder.join("p.toml"), plan).unwrap();
    let ended = tardy(folder, meter, &["run", "p.toml", "--out", round, "--json"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let archive = folder.join(ended.json()["steps"][0]["archive"].as_str().unwrap());
    let summary = |path: &Path| RunSummary::of(&Run::open(path).unwrap(), &[]);
    (summary(&archive), summary(&archive.join("stimulus")))
}

#[test]
fn one_plan_measures_both_ends_of_a_cable() {
    let Some(meter) = real_meter().filter(|_| met(&[Program("ip")])) else { return };
    let Some(cable) = Cable::lay() else {
        met(&[Prepared("veth interfaces", false)]);
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let method = |options: &str| format!("ethernet:interface={}{options}", cable.far);
    let logger = format!("local:interface={}", cable.near);
    let (target, stimulus) = measured(folder.path(), &meter, (&method(",hops=1"), &logger), "plain");
    assert!(target.valid && stimulus.valid, "{:?} {:?}", target.invalid_because, stimulus.invalid_because);
    let (answered, sent) = (target.cpus[0].cycles, stimulus.cpus[0].cycles);
    assert!(sent > 0 && answered >= sent, "{sent} round trips, {answered} answers");
    assert!(stimulus.losses.is_empty(), "{:?}", stimulus.losses);
    assert!(target.all_cpus.p50 < stimulus.all_cpus.p50, "the residence is a part of the round trip");
    let shown = &target.roles[0];
    assert!(shown.same_clock, "both ends are on this machine");
    assert_eq!((shown.samples, shown.unanswered, shown.latency_ns.max), (sent, 0, stimulus.all_cpus.max));
    assert_eq!(stimulus.roles[0].samples, answered);

    let delayed = measured(folder.path(), &meter, (&method(",delay_us=20000"), &logger), "delayed");
    shows_the_delay(&delayed);
}

/// A known delay of 20 ms is in the figures of both ends.
fn shows_the_delay((target, stimulus): &(RunSummary, RunSummary)) {
    const DELAY_NS: i64 = 20_000_000;
    for least in [target.all_cpus.min, stimulus.all_cpus.min] {
        assert!(least.is_some_and(|least| (DELAY_NS..DELAY_NS + DELAY_NS / 20).contains(&least)), "{least:?}");
    }
}

#[test]
fn one_plan_measures_both_ends_of_a_network() {
    let Some(meter) = real_meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (at, round) in [("127.0.0.1", "four"), ("[::1]", "six")] {
        let Ok(free) = std::net::UdpSocket::bind(format!("{at}:0")) else { continue };
        let address = free.local_addr().unwrap();
        drop(free);
        let method = format!("udp:address={address},delay_us=20000");
        let (target, stimulus) = measured(folder.path(), &meter, (&method, "local"), round);
        assert!(target.valid && stimulus.valid, "{:?} {:?}", target.invalid_because, stimulus.invalid_because);
        let (answered, sent) = (target.cpus[0].cycles, stimulus.cpus[0].cycles);
        assert!(sent > 0 && answered >= sent, "{sent} round trips, {answered} answers");
        assert!(stimulus.losses.is_empty(), "{:?}", stimulus.losses);
        shows_the_delay(&(target, stimulus));
    }
}

/// Whether a run says that the other role's meter disturbs it, and why.
fn beside_the_other(summary: &RunSummary) -> Vec<&str> {
    let codes = summary.problems.iter().map(|problem| problem.code.as_str());
    codes.filter(|code| code.starts_with("meter.other-role") || *code == "meter.another-run").collect()
}

#[test]
fn two_roles_on_one_machine_disturb_each_other_only_on_one_cpu() {
    let Some(meter) = real_meter() else { return };
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if !met(&[Prepared("two CPUs", cpus >= 2)]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let last = (cpus - 1).to_string();
    for (cpu, round, said) in [("0", "apart", "meter.other-role"), (&last, "together", "meter.other-role-shares")] {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let method = format!("udp:address={free}");
        let words = ["run", "--method", &method, "--stimulus", "local", "--cpus", cpu, "-D", "3s", "--out", round];
        let ended = tardy(folder.path(), &meter, &[&words[..], &["--trace", "off", "--settle", "100ms"]].concat());
        let archive = folder.path().join(round);
        for path in [archive.join("stimulus"), archive] {
            let summary = RunSummary::of(&Run::open(&path).unwrap(), &[]);
            // Other tests may measure on this machine, too.
            let found = beside_the_other(&summary);
            assert!(found.contains(&said), "{}: {found:?} {}{}", path.display(), ended.stdout, ended.stderr);
        }
    }
}
