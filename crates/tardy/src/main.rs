//! The command `tardy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tardy::command_line::main()
}
