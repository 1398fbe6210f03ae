//! Finds the process and the thread that measure, from inside of a load of the same run.

use std::fs;
use std::io;

/// The process that measures: it starts a supervisor for each load, and that one the load.
pub fn process() -> io::Result<i32> {
    parent_of(parent_of(std::process::id() as i32)?)
}

/// Its thread that measures a CPU.
pub fn thread(cpu: usize) -> io::Result<i32> {
    let process = process()?;
    let measures = format!("tardy-cpu{cpu}\n");
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        let path = entry?.path();
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name == measures {
            let number = path.file_name().and_then(|number| number.to_str()?.parse().ok());
            return number.ok_or_else(|| io::Error::other("a thread without a number"));
        }
    }
    Err(io::Error::other(format!("process {process} has no thread that measures CPU {cpu}")))
}

fn parent_of(pid: i32) -> io::Result<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name before it may hold anything.
    let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    parent.ok_or_else(|| io::Error::other("a process without a parent"))
}
