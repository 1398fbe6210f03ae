//! `tardy watch` on a program that restarts all the time, in groups that are removed and made again.

use crate::watch_live::{Foreign, Group, meter, program, tardy_watch};
use account::{Account, ExplanationSource};
use archive::explanation::Explanation;
use archive::message::RunPhase;
use archive::reader::Run;
use archive::watched::WatchedKind;
use fixtures::waiting::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time in which the watch looks for processes again.
const LOOK: Duration = Duration::from_millis(600);
/// Times that the program is started. It is killed after each.
const STARTS: usize = 10;
/// As a service manager, or as the agent of a cluster: a new group for each start, and a kill after its planted late wake-up. An
/// idle process holds the first group until the watch measures.
const SERVICE: &str = "for start in $(seq 0 10); do
  group=$(printf \"$1\" $start); mkdir -p $group; rm -f $3.planted
  if [ $start = 0 ]; then
    sh -c 'echo $$ > $1/cgroup.procs; touch $2.ready; exec sleep 60' start $group $3 > /dev/null &
    until [ -e $3.watched ]; do sleep 0.05; done
  else
    sh -c 'echo $$ > $1/cgroup.procs; echo $$ >> $3; exec $2 0 700 hog hog' start $group $2 $3 > $3.planted &
    until [ -s $3.planted ]; do sleep 0.05; done
    sleep 0.4
  fi
  kill -9 $!; wait $!
  until rmdir $group; do sleep 0.01; done
done 2> /dev/null";

/// Watches every start of a program whose group has a name of this form, with the number of the start.
fn every_start_is_watched(name: &str, whom: &[&str], group: &Group, form: &str) {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (planted, starts) = (program(&folder, "planted"), folder.path().join("starts"));
    let mut service = Command::new("sh");
    service.args(["-c", SERVICE, "service"]).arg(group.0.join(form)).arg(&planted).arg(&starts);
    let mut service = Foreign(service.stdout(Stdio::null()).spawn().unwrap());
    let started = || {
        fs::read_to_string(&starts).unwrap_or_default().lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    };
    let beside = |name: &str| starts.with_extension(name);
    wait_until("it starts", || beside("ready").exists());
    let words = [whom, &["--limit", "3ms", "--out", "run"]].concat();
    let mut watch = tardy_watch(&meter, &folder, &words);
    let watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measures = |run: Run| run.phases.iter().any(|(phase, _)| *phase == RunPhase::Measure);
    wait_until("the watch measures", || Run::open(folder.path().join("run")).is_ok_and(measures));
    std::thread::sleep(LOOK);
    fs::write(beside("watched"), "").unwrap();
    service.0.wait().unwrap();
    let begun = Instant::now();
    wait_until("it looks once more", || begun.elapsed() > LOOK);
    kill_process(Pid::from_child(&watch), Signal::INT).unwrap();
    let ended = watch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.code().is_some_and(|code| code <= 1), "{said}");
    let run = Run::open(folder.path().join("run")).unwrap();
    let pids = started();
    assert_eq!(pids.len(), STARTS, "{said}");
    let restarts = run.problems.iter().find(|problem| problem.code.as_str() == "meter.program-restarted");
    let restarts = restarts.unwrap_or_else(|| panic!("{:?}", run.problems)).text.clone();
    assert!(
        restarts.contains(name.trim_end_matches(".service")) && restarts.contains("restarted 10 times"),
        "{restarts}"
    );
    assert!(run.problems.iter().any(|problem| problem.code.as_str() == "meter.program-ended"), "{:?}", run.problems);
    let account = Account::of(run, ExplanationSource::Traces);
    let is_hog = |known: &Explanation| {
        let mut owners = known.phases.iter().flat_map(|phase| &phase.owners);
        owners.any(|owner| owner.name.starts_with("plant-hog"))
    };
    for pid in pids {
        let late = account.run().spikes.iter().filter(|spike| spike.tid == pid && spike.sample.latency_ns > 3_000_000);
        let timers: Vec<_> = late.filter(|spike| spike.watched == Some(WatchedKind::Timer)).collect();
        let named = timers.iter().any(|spike| account.explanation_of(spike.number).is_some_and(is_hog));
        assert!(named, "no hog of process {pid} in {timers:?}: {said}");
    }
}

#[test]
fn a_service_that_restarts_ten_times_in_a_group_of_the_same_name_is_watched_throughout() {
    let Some(group) = Group::new(&format!("tardy-restarts-{}", std::process::id())) else { return };
    let path = group.0.join("robot.service").display().to_string();
    every_start_is_watched("robot.service", &["--cgroup", &path], &group, "robot.service");
}

#[test]
fn a_pod_whose_containers_are_made_again_under_other_names_is_watched_throughout() {
    let uid = format!("0a1b2c3d-1111-2222-3333-{:012x}", std::process::id());
    let Some(group) = Group::new(&format!("kubepods-tardy-{}", std::process::id())) else { return };
    let pod = Path::new(&format!("pod{uid}")).join("%064d");
    every_start_is_watched(&uid, &["--container", &uid], &group, &pod.display().to_string());
    let _ = fs::remove_dir(group.0.join(format!("pod{uid}")));
}

#[test]
fn a_unit_that_restarts_ten_times_is_watched_throughout() {
    let Some(group) = Group::new(&format!("tardy-units-{}", std::process::id())) else { return };
    let unit = format!("tardy-robot-{}.service", std::process::id());
    every_start_is_watched(&unit, &["--unit", unit.trim_end_matches(".service")], &group, &unit);
}
