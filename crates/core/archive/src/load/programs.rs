//! Programs that can be loads if the target has them: what each can be asked to do, and in which words.

/// An option of a program load, written `key=value`, or `key` alone for a flag.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOption {
    pub key: &'static str,
    pub flag: bool,
    pub what: &'static str,
}

/// A program on the target that can run as a load.
#[derive(Debug, Clone, Copy)]
pub struct ProgramLoad {
    pub name: &'static str,
    /// The unit of its progress.
    pub unit: &'static str,
    pub what: &'static str,
    /// The optional first word after the name; `None` if there is none.
    pub subject: Option<Subject>,
    pub options: &'static [ProgramOption],
    pub example: &'static str,
    /// The fix on a target without it.
    pub fix: &'static str,
}

/// The first word after a program's name.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    pub what: &'static str,
    pub needed: bool,
}

const fn value(key: &'static str, what: &'static str) -> ProgramOption {
    ProgramOption { key, flag: false, what }
}

const fn flag(key: &'static str, what: &'static str) -> ProgramOption {
    ProgramOption { key, flag: true, what }
}

/// CPUs that the program may use; a parameter of every program.
pub const CPUS: ProgramOption = value("cpus", "CPUs it may use, like 0-1,3");

/// Every program, in the order to show them.
pub static PROGRAM_LOADS: [ProgramLoad; 6] = [
    ProgramLoad {
        name: "stress-ng",
        unit: "bogo operations",
        what: "any stressor of stress-ng, in rounds of N operations or N seconds",
        subject: Some(Subject { what: "the stressor, as its option is called: matrix, switch, hdd", needed: true }),
        options: &[
            value("ops", "operations of a round, over all workers [default: rounds by time]"),
            value("time", "seconds of a round [default: 5]"),
            value("workers", "instances of the stressor; 0: one per CPU [default: 0]"),
            CPUS,
        ],
        example: "stress-ng:matrix,ops=1000,cpus=0-1",
        fix: "install it there (Debian: apt-get install stress-ng), or use a built-in load: `tardy list loads`",
    },
    ProgramLoad {
        name: "fio",
        unit: "I/Os",
        what: "reads and writes of fio, in a directory that goes with the load",
        subject: Some(Subject {
            what: "the pattern: read, write, randread, randwrite, rw or randrw; or the path of a job file",
            needed: true,
        }),
        options: &[
            value("bs", "size of a block [default: 4k]"),
            value("size", "size of a job's file [default: 16m]"),
            value("jobs", "jobs at once [default: 1]"),
            value("time", "seconds of a round [default: 5]"),
            flag("direct", "past the page cache"),
            CPUS,
        ],
        example: "fio:randwrite,bs=16k,direct",
        fix: "install it there (Debian: apt-get install fio), or use the built-in loads copy and bulk",
    },
    ProgramLoad {
        name: "iperf3",
        unit: "bytes",
        what: "network traffic of iperf3, over the loopback or to a server of yours",
        subject: Some(Subject { what: "the server [default: one of its own on the loopback]", needed: false }),
        options: &[
            value("port", "port of the server [default: 5201, or a free one on the loopback]"),
            value("streams", "parallel streams [default: 1]"),
            value("rate", "bits a second and stream, like 100M [default: without limit]"),
            value("time", "seconds of a round [default: 5]"),
            flag("udp", "datagrams instead of TCP"),
            flag("reverse", "the server sends"),
            CPUS,
        ],
        example: "iperf3:192.168.7.1,udp,rate=100M",
        fix: "install it there (Debian: apt-get install iperf3), or use the built-in loads udp and ping",
    },
    ProgramLoad {
        name: "hackbench",
        unit: "messages",
        what: "messages between many processes, as hackbench sends them",
        subject: None,
        options: &[
            value("groups", "groups of 20 senders and 20 receivers [default: 1]"),
            value("loops", "messages from each sender to each receiver in a round [default: 200]"),
            value("bytes", "size of a message [default: 100]"),
            flag("pipe", "through pipes instead of sockets"),
            flag("threads", "threads instead of processes"),
            CPUS,
        ],
        example: "hackbench:groups=4,pipe",
        fix: "install it there (Debian: apt-get install rt-tests), or use the built-in load messaging",
    },
    ProgramLoad {
        name: "rt-app",
        unit: "phases",
        what: "a set of tasks of rt-app, in a loop",
        subject: Some(Subject { what: "the path of its JSON file on the target", needed: true }),
        options: &[CPUS],
        example: "rt-app:/opt/tasks.json",
        fix: "install it there (Debian: apt-get install rt-app), or use --load-cmd",
    },
    ProgramLoad {
        name: "kernel-build",
        unit: "steps of the build",
        what: "a build of a Linux source tree, in a directory that goes with the load",
        subject: Some(Subject { what: "the path of the source tree, clean (make mrproper)", needed: true }),
        options: &[
            value("jobs", "jobs at once [default: one per CPU]"),
            value("config", "the configuration to make first [default: defconfig]"),
            CPUS,
        ],
        example: "kernel-build:/usr/src/linux,jobs=4",
        fix: "install make and a compiler there",
    },
];

/// The program that runs as a load of this name.
pub fn program(name: &str) -> Option<&'static ProgramLoad> {
    PROGRAM_LOADS.iter().find(|load| load.name == name)
}
