//! The environment of this kernel and process: a hypervisor, a container.

use super::config::Config;
use super::tree::Tree;

/// Names of hypervisors, by the strings in their virtual machines' firmware tables.
const FIRMWARE_NAMES: &[(&str, &str)] = &[
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Virtual Machine", "hyper-v"),
    ("Amazon EC2", "amazon ec2"),
    ("Google Compute Engine", "google compute engine"),
    ("OpenStack", "openstack"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "apple"),
    ("Xen", "xen"),
];

/// `none`, or the hypervisor as far as it identifies itself; `None` if unknown.
pub fn virtualisation(tree: &Tree) -> Option<String> {
    let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    // Bare-metal machines of a cloud have the same names in their tables as its virtual machines.
    if flags.is_some_and(|flags| !flags.split_whitespace().any(|flag| flag == "hypervisor")) {
        let xen = tree.text("sys/hypervisor/type");
        return Some(xen.unwrap_or_else(|| "none".into()));
    }
    let named = tree.text("sys/hypervisor/type").or_else(|| firmware(tree)).or_else(|| device_tree(tree));
    let unnamed = || flags.map(|_| clock(tree).unwrap_or_else(|| "a hypervisor that does not say its name".into()));
    let board = || tree.exists("proc/device-tree/compatible").then(|| "none".into());
    named.or_else(unnamed).or_else(board)
}

fn firmware(tree: &Tree) -> Option<String> {
    let read = |file: &str| tree.text(&format!("sys/class/dmi/id/{file}")).unwrap_or_default();
    let tables = format!("{} {}", read("sys_vendor"), read("product_name"));
    FIRMWARE_NAMES.iter().find(|(sign, _)| tables.contains(sign)).map(|(_, name)| (*name).into())
}

fn device_tree(tree: &Tree) -> Option<String> {
    let first = |text: String| text.split('\0').next().unwrap_or_default().to_string();
    if let Some(compatible) = tree.text("proc/device-tree/hypervisor/compatible") {
        return Some(first(compatible));
    }
    let machine = tree.text("proc/device-tree/compatible")?;
    machine.contains("linux,dummy-virt").then(|| "qemu".into())
}

/// A guest recognises its hypervisor by the clock it provides.
fn clock(tree: &Tree) -> Option<String> {
    let clocks = tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let names = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen")];
    names.iter().find(|(sign, _)| clocks.contains(sign)).map(|(_, name)| (*name).into())
}

/// Whether the kernel excludes steal time from the run time of tasks: it is built in (CONFIG_PARAVIRT_TIME_ACCOUNTING),
/// not disabled (`no-steal-acc`), and a hypervisor has reported steal time.
pub fn steal_clock(tree: &Tree, command_line: Option<&str>, config: Option<&Config>) -> Option<bool> {
    let refused = command_line.is_some_and(|line| line.split_whitespace().any(|word| word == "no-steal-acc"));
    if refused || virtualisation(tree).as_deref() == Some("none") {
        return Some(false);
    }
    let config = config?;
    if !config.is_on("PARAVIRT_TIME_ACCOUNTING") {
        return Some(false);
    }
    // user nice system idle iowait irq softirq steal
    let stat = tree.text("proc/stat")?;
    let stolen: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    (stolen > 0).then_some(true)
}

/// The initial namespaces have fixed numbers. A container may share one or two of these with its host.
const FIRST_NAMESPACES: &[(&str, &str)] = &[("pid", "4026531836"), ("ipc", "4026531839"), ("uts", "4026531838")];

/// `none`, or the kind of container this process is in; `None` if unknown.
pub fn container(tree: &Tree) -> Option<String> {
    let first = |(kind, number): &(&str, &str)| {
        tree.link(&format!("proc/self/ns/{kind}")).is_some_and(|link| link == format!("{kind}:[{number}]"))
    };
    // A machine whose disk was made from a container image also has the marks of a container.
    if FIRST_NAMESPACES.iter().all(first) {
        return Some("none".into());
    }
    if tree.exists("run/.containerenv") {
        return Some("podman".into());
    }
    if tree.exists(".dockerenv") {
        return Some("docker".into());
    }
    if let Some(name) = tree.text("run/systemd/container").filter(|name| !name.is_empty()) {
        return Some(name);
    }
    let groups = tree.text("proc/1/cgroup")?;
    let signs = ["docker", "kubepods", "libpod", "containerd", "lxc"];
    Some(signs.iter().find(|sign| groups.contains(*sign)).map_or("none", |sign| sign).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    fn steal_clock_of(config: &str, line: &str, stolen: u64) -> Option<bool> {
        let stat = format!("cpu  1 2 3 4 5 6 7 {stolen} 0 0\n");
        let files = [
            ("proc/cpuinfo", "flags\t\t: fpu hypervisor\n"),
            ("proc/stat", stat.as_str()),
            ("boot/config-6.1", config),
        ];
        let root = fake(&files);
        let tree = Tree::new(root.path());
        steal_clock(&tree, Some(line), crate::environment::config::read(&tree, "6.1").as_ref())
    }

    #[test]
    fn a_steal_clock_is_one_that_counts_and_that_the_kernel_heeds() {
        const ON: &str = "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
        assert_eq!(steal_clock_of(ON, "quiet", 7), Some(true));
        assert_eq!(steal_clock_of(ON, "quiet", 0), None, "nothing was taken yet");
        assert_eq!(steal_clock_of(ON, "quiet no-steal-acc", 7), Some(false));
        assert_eq!(steal_clock_of("CONFIG_PARAVIRT=y\n", "quiet", 7), Some(false));
        let metal = fake(&[METAL]);
        assert_eq!(steal_clock(&Tree::new(metal.path()), None, None), Some(false));
        let unknown = fake(&[("proc/cpuinfo", "flags\t\t: fpu hypervisor\n")]);
        assert_eq!(steal_clock(&Tree::new(unknown.path()), None, None), None);
    }

    fn virtualisation_of(files: &[(&str, &str)]) -> Option<String> {
        virtualisation(&Tree::new(fake(files).path()))
    }

    const GUEST: (&str, &str) = ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu hypervisor lahf_lm\n");
    const METAL: (&str, &str) = ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu lahf_lm\n");

    #[test]
    fn a_guest_is_named_as_well_as_it_can_be() {
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let named = |files: &[(&str, &str)]| virtualisation_of(files).expect("an answer");
        assert_eq!(named(&[GUEST, ("sys/class/dmi/id/product_name", "VMware7,1\n")]), "vmware");
        assert_eq!(named(&[GUEST, ("sys/class/dmi/id/sys_vendor", "QEMU\n"), (clocks, "kvm-clock tsc\n")]), "qemu");
        assert_eq!(named(&[GUEST, (clocks, "tsc kvm-clock\n")]), "kvm");
        assert_eq!(named(&[GUEST]), "a hypervisor that does not say its name");
        assert_eq!(named(&[("proc/device-tree/compatible", "linux,dummy-virt\0")]), "qemu");
        assert_eq!(named(&[("proc/device-tree/hypervisor/compatible", "xen,xen-4.17\0xen,xen\0")]), "xen,xen-4.17");
    }

    #[test]
    fn metal_is_distinguished_from_ignorance() {
        assert_eq!(virtualisation_of(&[METAL]).as_deref(), Some("none"));
        assert_eq!(virtualisation_of(&[METAL, ("sys/class/dmi/id/sys_vendor", "Amazon EC2")]).as_deref(), Some("none"));
        assert_eq!(virtualisation_of(&[METAL, ("sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
        assert_eq!(virtualisation_of(&[("proc/device-tree/compatible", "raspberrypi,4\0")]).as_deref(), Some("none"));
        assert_eq!(virtualisation_of(&[]), None);
    }

    #[test]
    fn containers_leave_marks() {
        let container_of = |files: &[(&str, &str)]| container(&Tree::new(fake(files).path()));
        assert_eq!(container_of(&[("run/.containerenv", "")]).as_deref(), Some("podman"));
        assert_eq!(container_of(&[(".dockerenv", "")]).as_deref(), Some("docker"));
        assert_eq!(container_of(&[("run/systemd/container", "lxc-libvirt\n")]).as_deref(), Some("lxc-libvirt"));
        assert_eq!(container_of(&[("proc/1/cgroup", "0::/kubepods/pod1\n")]).as_deref(), Some("kubepods"));
        assert_eq!(container_of(&[("proc/1/cgroup", "0::/init.scope\n")]).as_deref(), Some("none"));
        assert_eq!(container_of(&[]), None);
    }

    #[test]
    fn a_machine_made_from_an_image_is_no_container() {
        let root = fake(&[(".dockerenv", ""), ("proc/self/ns/placeholder", "")]);
        let link = |kind: &str, number: &str| {
            let path = root.path().join("proc/self/ns").join(kind);
            std::os::unix::fs::symlink(format!("{kind}:[{number}]"), path).expect("a link");
        };
        link("pid", "4026531836");
        link("ipc", "4026531839");
        assert_eq!(container(&Tree::new(root.path())).as_deref(), Some("docker"));
        link("uts", "4026531838");
        assert_eq!(container(&Tree::new(root.path())).as_deref(), Some("none"));
    }
}
