//! The list of the kernel's functions is coded as the code reads it.
//!
//! `KERNEL_FUNCTIONS=FILE UPDATE_GOLDEN=1 cargo test -p publication --test functions` writes it from names, one a line: the functions in
//! the BTF of distributions' kernels (`bpftool btf dump file vmlinux`), those of their modules (`nm`), and names of trace events.

use publication::kernel_functions;
use std::fs;
use std::path::Path;

const HEADER: &str = "# Functions and trace events of Linux as Debian builds it: 5.10, 6.1, 6.12 and 7.3 for amd64, arm64 and riscv64, with and
# without PREEMPT_RT, without most drivers. Each line is the length shared with the name before, as a digit of base 36, and the rest.
";
const SHARED_MAX: usize = 35;

fn coded(names: &[String]) -> String {
    let mut text = HEADER.to_owned();
    let mut before = "";
    for name in names {
        let shared = before.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count().min(SHARED_MAX);
        let digit = char::from_digit(u32::try_from(shared).unwrap(), 36).unwrap();
        text.push(digit);
        text.push_str(&name[shared..]);
        text.push('\n');
        before = name;
    }
    text
}

#[test]
fn the_list_of_functions_is_coded_as_it_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/vocabulary/functions.txt");
    if let (Some(names), Some(_)) = (std::env::var_os("KERNEL_FUNCTIONS"), std::env::var_os("UPDATE_GOLDEN")) {
        let mut names: Vec<String> = fs::read_to_string(names).unwrap().lines().map(str::to_owned).collect();
        names.sort();
        names.dedup();
        return fs::write(path, coded(&names)).unwrap();
    }
    let names: Vec<String> = kernel_functions().collect();
    assert_eq!(coded(&names), fs::read_to_string(path).unwrap());
}
