//! Extracts the uncompressed kernel from a bzImage: QEMU starts it directly, which saves the guest the decompression.
//!
//! Field offsets: the kernel's Documentation/arch/x86/boot.rst, protocol 2.08 and later.

use super::elf;
use super::kernel_error::UnpackError;
use super::unpack;
use thiserror::Error;

const SETUP_SECTORS_AT: usize = 0x1f1;
const HEADER_AT: usize = 0x202;
const VERSION_AT: usize = 0x206;
const VERSION_STRING_AT: usize = 0x20e;
const PAYLOAD_OFFSET_AT: usize = 0x248;
const PAYLOAD_LENGTH_AT: usize = 0x24c;
/// The offset of the version string does not count the bytes before this address.
const VERSION_STRING_BASE: usize = 0x200;
/// The kernel's build appends the decompressed size to xz and zstd streams.
const SIZE_BYTES: usize = 4;

/// Why no kernel was extracted from an image.
#[derive(Debug, Error)]
pub enum ExtractError {
    #[error("it is not a bzImage with a payload")]
    NoPayload,
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    #[error("it holds {found} bytes and says {declared:?}")]
    Size { found: usize, declared: Option<usize> },
    #[error("its payload is not an ELF file")]
    NoElf,
}

/// Whether these bytes are an x86 bzImage with the offset of its payload.
pub fn is_bz_image(image: &[u8]) -> bool {
    image.get(HEADER_AT..HEADER_AT + 4) == Some(b"HdrS") && word(image, VERSION_AT, 2) >= Some(0x0208)
}

/// The release of a bzImage, such as `6.1.0-56-rt-amd64`.
pub fn release(image: &[u8]) -> Option<String> {
    let at = is_bz_image(image).then(|| word(image, VERSION_STRING_AT, 2)).flatten()?;
    let text = image.get(at + VERSION_STRING_BASE..)?.split(|byte| *byte == 0 || *byte == b' ').next()?;
    (!text.is_empty() && text.iter().all(u8::is_ascii_graphic)).then(|| String::from_utf8_lossy(text).into_owned())
}

/// The ELF kernel inside a bzImage.
///
/// # Errors
/// Why it cannot be extracted; the bzImage itself still boots.
pub fn extract(image: &[u8]) -> Result<Vec<u8>, ExtractError> {
    let payload = payload(image).ok_or(ExtractError::NoPayload)?;
    let last = payload.len().saturating_sub(SIZE_BYTES);
    let size = word(payload, last, SIZE_BYTES);
    // gzip has its own size at the same place, as part of the stream.
    let stream = if payload.starts_with(&[0x1f, 0x8b]) { payload } else { &payload[..last] };
    let unpacked = unpack::stream(stream.to_vec())?;
    if Some(unpacked.len()) != size {
        return Err(ExtractError::Size { found: unpacked.len(), declared: size });
    }
    if !elf::is_elf(&unpacked) {
        return Err(ExtractError::NoElf);
    }
    Ok(unpacked)
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    if !is_bz_image(image) {
        return None;
    }
    // Zero means four, for compatibility with very old boot loaders.
    let sectors = match *image.get(SETUP_SECTORS_AT)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + word(image, PAYLOAD_OFFSET_AT, 4)?;
    image.get(start..start.checked_add(word(image, PAYLOAD_LENGTH_AT, 4)?)?)
}

fn word(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::{fs, io::Write};

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut child =
            Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip runs");
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap().stdout
    }

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[SETUP_SECTORS_AT] = 1;
        image[HEADER_AT..HEADER_AT + 4].copy_from_slice(b"HdrS");
        image[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x020fu16.to_le_bytes());
        image[VERSION_STRING_AT..VERSION_STRING_AT + 2].copy_from_slice(&0x100u16.to_le_bytes());
        image[0x300..0x30d].copy_from_slice(b"6.1.0-rt (x) ");
        image[PAYLOAD_OFFSET_AT..PAYLOAD_OFFSET_AT + 4].copy_from_slice(&16u32.to_le_bytes());
        image[PAYLOAD_LENGTH_AT..PAYLOAD_LENGTH_AT + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend([0xcc; 16]);
        image.extend(payload);
        image
    }

    #[test]
    fn the_kernel_comes_out_as_it_went_in() {
        let kernel = elf::tests::module("");
        assert_eq!(extract(&image(&gzipped(&kernel))).unwrap(), kernel);
        assert_eq!(release(&image(b"")).as_deref(), Some("6.1.0-rt"));
    }

    #[test]
    fn anything_else_is_refused_and_cut_images_do_not_panic() {
        assert!(matches!(extract(&image(&gzipped(b"text"))), Err(ExtractError::NoElf)));
        assert!(extract(b"").is_err());
        let whole = image(b"");
        for length in 0..whole.len() {
            assert!(extract(&whole[..length]).is_err());
            release(&whole[..length]);
        }
        assert_eq!(release(&fs::read("/bin/sh").unwrap()), None);
    }
}
