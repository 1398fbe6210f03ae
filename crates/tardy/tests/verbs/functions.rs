//! `tardy explain` on traces with functions: the function of each owner, as text and as JSON.

use crate::export::archived;

#[test]
fn explain_names_the_function_that_held_the_cpu_and_its_callers() {
    let bench = archived(&["blocking-task--functions"]);
    let text = bench.run(&["explain", "here", "--spike", "11"]).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("2.19 ms") && words.contains("`shrink_dentry_list` < `prune_dcache_sb`"), "{text}");
    assert!(words.contains("longest: 2.49 ms"), "{text}");
    let document = bench.run(&["explain", "here", "--json"]).json();
    let spike = document["spikes"].as_array().unwrap().iter().find(|spike| spike["spike"] == 11).unwrap();
    let held = &spike["functions"]["held"][0];
    assert_eq!((held["chain"][0].as_str(), held["source"].as_str()), (Some("shrink_dentry_list"), Some("entries")));
    assert!(held["ns"].as_i64().unwrap() <= held["owner_ns"].as_i64().unwrap(), "{held}");
    assert_eq!(spike["functions"]["preempt_off"]["first"], "_raw_spin_lock");
}

#[test]
fn without_functions_in_the_trace_nothing_is_said_of_them() {
    let bench = archived(&["blocking-task"]);
    let text = bench.run(&["explain", "here", "--spike", "11"]).stdout;
    assert!(text.contains("Spike 11") && !text.contains("functions"), "{text}");
    let document = bench.run(&["explain", "here", "--json"]).json();
    assert!(document["spikes"].as_array().unwrap().iter().all(|spike| spike.get("functions").is_none()));
}
