//! The meter's command line.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((word, rest)) if word == "load" => std::process::exit(meter::load::run_child(rest)),
        _ => std::process::exit(2),
    }
}
