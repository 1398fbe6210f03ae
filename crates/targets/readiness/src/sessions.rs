//! Rules about users' sessions: the policy that sound servers have, what rtkit grants, and the limits of the programs
//! themselves. The rules of `surroundings` are about the process that checks.

use super::machine::{Machine, quoted};
use super::rtkit::Rtkit;
use super::rule::{Look, Rule, Severity, Sign, fine};
use super::surroundings::soft_limit;
use super::unknown::Unknown;
use archive::facts::{Fact, SessionFacts, SessionProgram, SessionThread};

const LIMITS: &str = "limits.d(5), getrlimit(2)";
const LIMITS_FIX: &str = "put the user into a group with `@audio - rtprio 95` and `@audio - memlock unlimited` in \
                          /etc/security/limits.d, and log in again";
/// Lines of /proc/PID/limits.
const PRIORITY: &str = "Max realtime priority";
const LOCKED: &str = "Max locked memory";
/// Priority of the threads of interrupts.
const INTERRUPT_PRIORITY: u8 = 50;
/// The largest priority that rtkit grants by default.
const USUAL_PRIORITY: u64 = 20;
/// JACK and its clients lock all their memory, PipeWire its buffers.
const LOCKED_BY_JACK: u64 = 256 << 20;
const LOCKED_BY_PIPEWIRE: u64 = 4 << 20;

pub const RULES: &[Rule] = &[
    Rule {
        id: "sessions.sound-policy",
        title: "a thread that moves sound has no real-time priority",
        reason: "it waits for its turn among all normal tasks: sound drops out as soon as the machine has work, and nothing shows while it idles",
        source: "PipeWire: libpipewire-module-rt",
        severity: Severity::Warning,
        look: sound_policy,
    },
    Rule {
        id: "sessions.real-time-priority",
        title: "programs of a user's session may not have real-time priorities",
        reason: "the program itself needs the limit; a limit of the shell that checks, or of root, does not help it",
        source: LIMITS,
        severity: Severity::Notice,
        look: real_time_priority,
    },
    Rule {
        id: "sessions.locked-memory",
        title: "programs of a user's session can lock little memory",
        reason: "a page that is not locked may be missing at the next touch, and JACK's clients lock all of theirs",
        source: LIMITS,
        severity: Severity::Notice,
        look: locked_memory,
    },
    Rule {
        id: "sessions.rtkit",
        title: "rtkit limits the priorities that it grants",
        reason: "a thread that has its priority from rtkit runs below interrupt threads, dies if it computes for too long, and loses its priority when the machine is overloaded",
        source: "RealtimeKit: README",
        severity: Severity::Notice,
        look: rtkit,
    },
];

fn seen<'a>(machine: &Machine<'a>) -> Result<&'a SessionFacts, Unknown> {
    let sessions = machine.facts.sessions.as_ref();
    sessions.ok_or_else(|| Unknown("the programs of sessions were not asked for, by a meter of another version".into()))
}

fn is_manager(program: &SessionProgram) -> bool {
    program.name == "systemd"
}

fn is_jack(program: &SessionProgram) -> bool {
    matches!(program.name.as_str(), "jackd" | "jackdbus")
}

fn of_user(program: &SessionProgram) -> String {
    match program.user {
        Some(user) => format!("{} of user {user}", quoted(&program.name)),
        None => quoted(&program.name),
    }
}

/// The thread for sound has the name of the process up to PipeWire 1.0, and `data-loop.N` since.
fn moves_sound(program: &SessionProgram, thread: &SessionThread) -> bool {
    let begins = |begin: &str| thread.name.starts_with(begin);
    match program.name.as_str() {
        "pulseaudio" => begins("alsa-sink") || begins("alsa-source"),
        _ => thread.tid != program.pid && (begins("data-loop") || thread.name == program.name),
    }
}

fn sound_policy(machine: &Machine) -> Look {
    let sessions = seen(machine)?;
    let mut signs = Vec::new();
    for program in sessions.programs.iter().filter(|program| !is_manager(program)) {
        let moving: Vec<_> = program.threads.iter().filter(|thread| moves_sound(program, thread)).collect();
        let ordinary = moving.iter().filter(|thread| thread.policy == "other").count();
        // Only one of the threads of JACK's server moves sound, and all have its name.
        let lacking = if is_jack(program) { ordinary == moving.len() } else { ordinary > 0 };
        if ordinary == 0 || !lacking {
            continue;
        }
        let whose = of_user(program);
        let what = match program.name.as_str() {
            "jackd" | "jackdbus" => format!("{whose} has no thread with a real-time priority"),
            "pulseaudio" => format!("a sound thread of {whose} has no real-time priority"),
            _ => format!("the data loop of {whose} has no real-time priority"),
        };
        let sign = Sign::new(what).key(&program.name).by_hand(policy_fix(program, sessions)?);
        signs.push(sign);
    }
    Ok(signs)
}

fn policy_fix(program: &SessionProgram, sessions: &SessionFacts) -> Result<String, Unknown> {
    let may = program.user == Some(0) || soft_limit(program_limits(program)?, PRIORITY)?.is_none_or(|most| most > 0);
    let name = quoted(&program.name);
    Ok(match (is_jack(program), may, sessions.rtkit_arguments.is_some()) {
        (true, true, _) => "start jackd with -R and without -r".into(),
        (true, false, _) => LIMITS_FIX.into(),
        (false, true, _) => {
            format!(
                "its limits allow a priority: load libpipewire-module-rt in its configuration, restart {name}, and read its log"
            )
        }
        (false, false, true) => {
            format!("rtkit gave it none: `journalctl -u rtkit-daemon` shows why; then restart {name}; or {LIMITS_FIX}")
        }
        (false, false, false) => format!("install rtkit, or {LIMITS_FIX}"),
    })
}

fn program_limits(program: &SessionProgram) -> Result<&str, Unknown> {
    match &program.limits {
        Fact::Text(text) => Ok(text),
        Fact::Absent => Err(Unknown(format!("{} ended while its limits were read", quoted(&program.name)))),
        Fact::Refused(why) => {
            Err(Unknown(format!("the limits of {} cannot be read: {}", quoted(&program.name), quoted(why))))
        }
    }
}

/// Programs whose soft limit is below what they need, each with the limit. Root needs none.
fn limited<'a>(
    sessions: &'a SessionFacts,
    name: &str,
    needed: fn(&SessionProgram) -> u64,
) -> Result<Vec<(&'a SessionProgram, u64)>, Unknown> {
    let mut found = Vec::new();
    for program in sessions.programs.iter().filter(|program| program.user != Some(0)) {
        match soft_limit(program_limits(program)?, name)? {
            Some(limit) if limit < needed(program) => found.push((program, limit)),
            _ => {}
        }
    }
    Ok(found)
}

/// `pipewire of user 1000`, or what the user's service manager passes on.
fn whose(program: &SessionProgram) -> String {
    match program.user {
        Some(user) if is_manager(program) => format!("a service of user {user}"),
        _ => of_user(program),
    }
}

fn real_time_priority(machine: &Machine) -> Look {
    let sessions = seen(machine)?;
    let limited = limited(sessions, PRIORITY, |_| USUAL_PRIORITY)?;
    let sign = |(program, limit): (&SessionProgram, u64)| {
        let served = !is_jack(program) && sessions.rtkit_arguments.is_some();
        let harmless = is_manager(program) || served;
        let what = match limit {
            0 => format!("{} may have no real-time priority", whose(program)),
            _ => format!("{} may have a priority of at most {limit}", whose(program)),
        };
        Sign::new(what)
            .key(&program.name)
            .severity(if harmless { Severity::Notice } else { Severity::Warning })
            .by_hand(LIMITS_FIX)
    };
    Ok(limited.into_iter().map(sign).collect())
}

fn locked_memory(machine: &Machine) -> Look {
    let needed = |program: &SessionProgram| match is_jack(program) || is_manager(program) {
        true => LOCKED_BY_JACK,
        false => LOCKED_BY_PIPEWIRE,
    };
    let limited = limited(seen(machine)?, LOCKED, needed)?;
    let sign = |(program, limit): (&SessionProgram, u64)| {
        Sign::new(format!("{} may lock {} kB", whose(program), limit >> 10))
            .key(&program.name)
            .severity(if is_jack(program) { Severity::Warning } else { Severity::Notice })
            .by_hand(LIMITS_FIX)
    };
    Ok(limited.into_iter().map(sign).collect())
}

fn rtkit(machine: &Machine) -> Look {
    let sessions = seen(machine)?;
    let Some(arguments) = sessions.rtkit_arguments.as_deref().filter(|_| !sessions.programs.is_empty()) else {
        return fine();
    };
    let rtkit = Rtkit::of(arguments)?;
    let fix = |option: &str| {
        format!(
            "give the user limits in /etc/security/limits.d instead, or start rtkit-daemon with {option} (systemctl edit rtkit-daemon)"
        )
    };
    let mut signs = Vec::new();
    if rtkit.priority_max < u64::from(INTERRUPT_PRIORITY) {
        let what = format!(
            "rtkit grants at most priority {}, and interrupt threads have {INTERRUPT_PRIORITY}",
            rtkit.priority_max
        );
        signs.push(Sign::new(what).key("priority").by_hand(fix("--max-realtime-priority=89")));
    }
    if rtkit.time_us_max < 1_000_000 {
        let what = format!(
            "the kernel kills a program with a priority from rtkit that computes {} ms without a pause",
            rtkit.time_us_max / 1000
        );
        signs.push(Sign::new(what).key("time").by_hand(fix("--rttime-usec-max=1000000")));
    }
    if let Some(canary) = rtkit.canary {
        let what = format!(
            "rtkit takes every priority back when normal tasks get no CPU for {} s, and grants none for the next {} s",
            canary.patience_ms / 1000,
            canary.refusal_s
        );
        signs.push(Sign::new(what).key("canary").by_hand(fix("--no-canary")));
    }
    Ok(signs)
}
