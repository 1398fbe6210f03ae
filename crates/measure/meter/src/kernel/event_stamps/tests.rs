//! Stamps of real interrupts beside the kernel's counts of them.

use super::*;
use crate::kernel::trace_mount;
use std::collections::BTreeMap;
use std::io::Write;

#[test]
fn the_attributes_have_the_size_of_their_version() {
    assert_eq!(size_of::<Attributes>(), 96);
    if cfg!(target_pointer_width = "64") {
        assert_eq!(SET_FILTER, 0x4008_2406);
    }
}

#[test]
fn a_function_that_no_kernel_has_is_refused() {
    assert!(EventStamps::open(&Point::Function("tardy_no_such_function"), Path::new("/nowhere"), &[0]).is_err());
    assert!(EventStamps::open(&Point::InterruptHandler("x".into()), Path::new("/nowhere"), &[0]).is_err());
}

/// How often each handler that has an interrupt of its own was entered.
fn handlers() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/interrupts").unwrap();
    let cpus = text.lines().next().map_or(0, |heads| heads.split_whitespace().count());
    let mut handlers = BTreeMap::new();
    let mut several = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_numbered = words.first().is_some_and(|word| word.trim_end_matches(':').parse::<u32>().is_ok());
        let (Some(name), true, false) = (words.last(), is_numbered, line.contains(", ")) else { continue };
        let entered = words.iter().skip(1).take(cpus).filter_map(|word| word.parse::<u64>().ok()).sum();
        if handlers.insert((*name).to_owned(), entered).is_some() {
            several.push(*name);
        }
    }
    several.into_iter().for_each(|name| _ = handlers.remove(name));
    handlers
}

fn write_to_disk() {
    let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for _ in 0..20 {
        file.write_all(&[1; 4096]).unwrap();
        file.sync_all().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn each_interrupt_of_the_kernels_own_count_has_a_stamp_or_is_counted_as_lost() {
    prerequisites::require!(Root, Tracefs);
    let before = handlers();
    write_to_disk();
    let grown = |(name, entered): (String, u64)| {
        let by = entered - before.get(&name).copied().unwrap_or(entered);
        (by, name)
    };
    let (by, name) = handlers().into_iter().map(grown).max().unwrap_or_default();
    prerequisites::require!(Prepared("a disk with an interrupt of its own", by > 0));

    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cpus = archive::load::cpu_list(online.trim()).unwrap();
    let tracing = trace_mount::find_or_mount().unwrap();
    let closed = handlers()[&name];
    let mut stamps = EventStamps::open(&Point::InterruptHandler(name.clone()), tracing.root(), &cpus).unwrap();
    let open = handlers()[&name];
    write_to_disk();
    let ended = handlers()[&name];
    let (mut stamped, mut lost) = (0, 0);
    let mut count = |passage| match passage {
        Passage::At { .. } => stamped += 1,
        Passage::Lost { count, .. } => lost += count,
    };
    stamps.drain(i64::MAX, &mut count);
    stamps.count_lost(&mut count);
    let counted = handlers()[&name];
    assert!(ended > open, "the disk {name} raised no interrupt");
    let range = ended - open..=counted - closed;
    assert!(range.contains(&(stamped + lost)), "{name}: {stamped} stamped, {lost} lost, of {range:?}");
}
