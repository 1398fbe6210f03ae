//! Real kernels in real virtual machines. `make e2e` runs these; they take minutes and download kernels once.

mod check;
mod custom_kernel;
mod desk;
mod exported;
mod founding_case;
mod inspected;
mod lab;
mod loads;
mod machine_faults;
mod measured;
mod methods;
mod own_code;
mod plans;
mod prepared;
mod recorded;
mod replayed;
mod reset;
mod saved_state;
mod serial;
mod storage;
mod traced;
mod tracers;
mod virtual_compare;
mod virtual_time;
mod watch;
mod whole_way;
