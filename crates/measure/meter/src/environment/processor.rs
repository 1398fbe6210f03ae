//! The processors: model, idle states, frequencies, and mitigations.

use super::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";

/// The model in /proc/cpuinfo, or the board's name if the processor has none.
pub fn model(tree: &Tree) -> Option<String> {
    let text = tree.text("proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_string())
    };
    let board = || tree.text("proc/device-tree/model").or_else(|| value("Model")).or_else(|| value("Hardware"));
    let arm = || Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?));
    let together = || match (board(), arm()) {
        (Some(board), Some(arm)) => Some(format!("{board} (CPU {arm})")),
        (board, arm) => board.or(arm),
    };
    value("model name").or_else(together).filter(|model| !model.is_empty())
}

/// Older kernels write "(null)" for an empty list.
pub fn nohz_full(tree: &Tree) -> Option<String> {
    tree.text(&format!("{CPUS}/nohz_full")).map(|text| if text == "(null)" { String::new() } else { text })
}

pub fn memory_total_kb(tree: &Tree) -> Option<u64> {
    let text = tree.text("proc/meminfo")?;
    text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.split_whitespace().next()?.parse().ok()
}

/// Kernels in which it cannot be changed use another file name.
pub fn idle_governor(tree: &Tree) -> Option<String> {
    tree.text(&format!("{CPUS}/cpuidle/current_governor"))
        .or_else(|| tree.text(&format!("{CPUS}/cpuidle/current_governor_ro")))
}

pub fn frequency_governors(tree: &Tree) -> Vec<String> {
    let cpus = tree.numbered(CPUS, "cpu").into_iter();
    cpus.filter_map(|(_, cpu)| {
        let governor = tree.text(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor"))?;
        Some(format!("{cpu}={governor}"))
    })
    .collect()
}

/// Vulnerabilities of this processor, each with the first clause of the kernel's mitigation.
pub fn mitigations(tree: &Tree) -> Vec<String> {
    let directory = format!("{CPUS}/vulnerabilities");
    let answers = tree.names(&directory).into_iter().filter_map(|name| {
        let text = tree.text(&format!("{directory}/{name}"))?;
        let clause = text.split(';').next().unwrap_or_default().trim();
        let clause = clause.strip_prefix("Mitigation: ").unwrap_or(clause);
        (!clause.is_empty() && clause != "Not affected").then(|| format!("{name}: {clause}"))
    });
    answers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    fn model_of(cpuinfo: &str, device_tree: Option<&str>) -> Option<String> {
        let mut files = vec![("proc/cpuinfo", cpuinfo)];
        files.extend(device_tree.map(|model| ("proc/device-tree/model", model)));
        let root = fake(&files);
        model(&Tree::new(root.path()))
    }

    #[test]
    fn the_model_is_found_on_pcs_and_boards() {
        assert_eq!(model_of("processor\t: 0\nmodel name\t: A 9:1\n", None).as_deref(), Some("A 9:1"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nModel\t\t: Pi 4\n";
        assert_eq!(model_of(arm, Some("Pi 4 B\0")).as_deref(), Some("Pi 4 B (CPU implementer 0x41 part 0xd08)"));
        assert_eq!(model_of(arm, None).as_deref(), Some("Pi 4 (CPU implementer 0x41 part 0xd08)"));
        assert_eq!(model_of("", None), None);
    }

    #[test]
    fn governors_come_in_the_order_of_the_cpus() {
        let root = fake(&[
            ("sys/devices/system/cpu/cpu10/cpufreq/scaling_governor", "schedutil\n"),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
            ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n"),
            ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
        ]);
        let tree = Tree::new(root.path());
        assert_eq!(frequency_governors(&tree), ["cpu2=performance", "cpu10=schedutil"]);
        assert_eq!(idle_governor(&tree).as_deref(), Some("menu"));
        assert_eq!(nohz_full(&tree).as_deref(), Some(""));
    }

    #[test]
    fn flaws_the_processor_does_not_have_are_left_out() {
        let root = fake(&[
            ("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n"),
            ("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable: no microcode; SMT vulnerable\n"),
            ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines; STIBP: disabled\n"),
        ]);
        let expected = ["mds: Vulnerable: no microcode", "spectre_v2: Retpolines"];
        assert_eq!(mitigations(&Tree::new(root.path())), expected);
    }
}
