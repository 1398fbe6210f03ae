//! Real kernels in real virtual machines. `make e2e` runs these; they take minutes and download kernels once.

mod lab;
mod machine_faults;
mod whole_way;
mod tracers;
