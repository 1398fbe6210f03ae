//! Sends the names of the kernel's functions to the host, for the addresses in flight records.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// Sends the lines of /proc/kallsyms for functions, without the larger part for data.
///
/// # Errors
/// Errors of reading the file and writing to `to`.
pub fn send(to: impl Write) -> io::Result<()> {
    copy_functions(BufReader::new(File::open("/proc/kallsyms")?), to)
}

fn copy_functions(mut from: impl BufRead, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    let mut line = String::new();
    while from.read_line(&mut line)? > 0 {
        if line.split_whitespace().nth(1).is_some_and(|kind| matches!(kind, "t" | "T" | "w" | "W")) {
            to.write_all(line.as_bytes())?;
        }
        line.clear();
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_kept_and_data_is_not() {
        let table = "ffff1000 T start\nffff2000 d table\nffff3000 t inner [mod]\n\nffff4000 W weak\n";
        let mut sent = Vec::new();
        copy_functions(table.as_bytes(), &mut sent).unwrap();
        assert_eq!(String::from_utf8(sent).unwrap(), "ffff1000 T start\nffff3000 t inner [mod]\nffff4000 W weak\n");
    }
}
