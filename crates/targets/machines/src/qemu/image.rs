//! Detects the architecture of a kernel image.

use super::elf;
use super::vmlinux;
use crate::architecture::Architecture;

/// Magic numbers with their offsets: Documentation/arch of the kernel, arm64/booting.rst, riscv/boot-image-header.rst,
/// and the head of arch/arm/boot/compressed.
const MAGICS: [(usize, &[u8], Architecture); 3] = [
    (0x38, b"ARM\x64", Architecture::Arm64),
    (0x38, b"RSC\x05", Architecture::Riscv64),
    (0x24, &[0x18, 0x28, 0x6f, 0x01], Architecture::Armhf),
];

/// The architecture of an image that QEMU can start; `None` if this is not one.
pub fn architecture(image: &[u8]) -> Option<Architecture> {
    if vmlinux::is_bz_image(image) {
        return Some(Architecture::X86_64);
    }
    if elf::is_elf(image) {
        // For the other architectures QEMU needs the image that their build produces, not the ELF file.
        return Architecture::of_program(image).filter(|found| *found == Architecture::X86_64);
    }
    let found = |(at, magic, _): &&(usize, &[u8], Architecture)| image.get(*at..*at + magic.len()) == Some(*magic);
    MAGICS.iter().find(found).map(|(_, _, architecture)| *architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_distinguished_by_their_magic() {
        for (at, magic, expected) in MAGICS {
            let mut image = vec![0; 64];
            image[at..at + magic.len()].copy_from_slice(magic);
            assert_eq!(architecture(&image), Some(expected));
            assert_eq!(architecture(&image[..at + 2]), None);
        }
        assert_eq!(architecture(&elf::tests::module("")), Some(Architecture::X86_64));
        assert_eq!(architecture(b"no kernel"), None);
    }
}
