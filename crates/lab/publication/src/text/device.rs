//! Names that the kernel itself gives to devices: a class and small numbers, `nvme0n1p2`, `sda1`, `mmcblk0boot1`, `eth0`.

/// Classes that a number follows.
const NUMBERED: [&str; 11] = ["nvme", "mmcblk", "loop", "md", "zram", "ram", "nbd", "sr", "eth", "wlan", "can"];
/// Classes that letters follow, and then the number of a partition.
const LETTERED: [&str; 4] = ["sd", "vd", "hd", "xvd"];
/// Suffixes that may follow the number of a device, each with a number of its own.
const PARTS: [&str; 6] = ["n", "p", "c", "q", "boot", "gp"];
const DIGITS_MAX: usize = 3;
const LETTERS_MAX: usize = 2;

/// Whether a word is such a name. A longer number than devices have could be anything.
pub fn is_device(word: &str) -> bool {
    let numbered = NUMBERED.iter().any(|class| word.strip_prefix(class).and_then(after_number).is_some_and(are_parts));
    numbered || LETTERED.iter().any(|class| word.strip_prefix(class).is_some_and(is_lettered))
}

/// The text after the number at the start of a text.
fn after_number(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=DIGITS_MAX).contains(&digits).then(|| &text[digits..])
}

fn are_parts(text: &str) -> bool {
    text.is_empty() || PARTS.iter().any(|part| text.strip_prefix(part).and_then(after_number).is_some_and(are_parts))
}

fn is_lettered(text: &str) -> bool {
    let letters = text.bytes().take_while(u8::is_ascii_lowercase).count();
    let partition = &text[letters..];
    (1..=LETTERS_MAX).contains(&letters) && (partition.is_empty() || after_number(partition) == Some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_with_small_numbers_is_a_device_and_nothing_else_is() {
        for device in [
            "nvme0",
            "nvme0n1",
            "nvme0n1p2",
            "nvme0c0n1",
            "nvme0q1",
            "sda",
            "sda1",
            "sdab12",
            "vda1",
            "mmcblk0",
            "loop7",
            "eth0",
        ] {
            assert!(is_device(device), "{device}");
        }
        for other in [
            "nvme",
            "nvme0-acme",
            "nvme0n1acme",
            "nvme49301234567",
            "sdacme",
            "sdsec1",
            "sda1b",
            "sd",
            "eth0acme",
            "loop",
            "md1234",
        ] {
            assert!(!is_device(other), "{other}");
        }
    }
}
