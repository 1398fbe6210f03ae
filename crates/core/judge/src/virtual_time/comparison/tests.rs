//! Comparisons of synthetic runs.

use super::super::example::{Example, runs};
use super::*;
use fixtures::assert_sentence;

/// Runs of one kernel whose samples are longer by `longer_ns`; no two seeds are alike.
fn side(kernel: &str, longer_ns: i64, seeds: std::ops::RangeInclusive<u64>) -> Vec<Example> {
    let of = |seed: u64| {
        let samples: Vec<i64> = (0..1000).map(|at| 3000 + (at * 7 + seed as i64 * 13) % 500 + longer_ns).collect();
        Example::new(kernel, seed, &samples)
    };
    seeds.map(of).collect()
}

fn compared(a: &[Example], b: &[Example]) -> VirtualComparison {
    compare(&runs(a), &runs(b)).unwrap()
}

#[test]
fn the_same_twice_is_identical() {
    let comparison = compared(&side("old", 0, 1..=4), &side("old", 0, 1..=4));
    assert!(comparison.same_system && comparison.defect.is_none() && comparison.identical == 4);
    assert_sentence!("virtual-identical", comparison.sentences.join("\n"));
    let other = compared(&side("old", 0, 1..=4), &side("new", 0, 1..=4));
    assert!(!other.same_system && other.identical == 4);
    assert_sentence!("virtual-alike", other.sentences[0]);
}

#[test]
fn one_system_that_parts_from_itself_is_a_defect() {
    let (a, mut b) = (side("old", 0, 1..=2), side("old", 0, 1..=2));
    b[1].samples[17].1 += 10;
    let comparison = compared(&a, &b);
    let defect = comparison.defect.unwrap();
    assert_eq!((defect.seed, defect.sample), (2, 17));
    assert_eq!(defect.b.unwrap().1 - defect.a.unwrap().1, 10);
    assert!(comparison.sentences[0].starts_with("NOT IDENTICAL") && comparison.sentences.len() == 1);
    b[1].samples.truncate(5);
    assert_eq!(compared(&a, &b).defect.map(|defect| (defect.sample, defect.b)), Some((5, None)));
}

#[test]
fn two_systems_are_compared_by_all_their_seeds() {
    let comparison = compared(&side("old", 0, 1..=16), &side("new", 400, 1..=16));
    let p99 = comparison.figures.iter().find(|figure| figure.name == claims::figure_name::FigureName::P99).unwrap();
    assert_eq!((p99.shift.least_ns, p99.shift.most_ns, p99.longer_in, p99.differs), (400, 400, 16, true));
    assert_sentence!("virtual-longer", comparison.sentences.join("\n"));
    let mixed = |seed: u64| if seed.is_multiple_of(2) { 50 } else { -50 };
    let scattered: Vec<Example> = (1..=16).flat_map(|seed| side("new", mixed(seed), seed..=seed)).collect();
    let comparison = compared(&side("old", 0, 1..=16), &scattered);
    assert!(comparison.figures.iter().all(|figure| !figure.differs), "{:?}", comparison.figures);
    assert_sentence!("virtual-by-chance", comparison.sentences[0]);
}

#[test]
fn few_seeds_do_not_suffice_for_a_loaded_guest_and_one_does_for_an_idle_one() {
    let comparison = compared(&side("old", 0, 1..=3), &side("new", 400, 1..=3));
    assert!(comparison.figures.iter().all(|figure| !figure.differs));
    let idle = |kernel: &str, longer_ns: i64| -> Vec<Example> {
        side(kernel, longer_ns, 1..=1).into_iter().map(Example::idle).collect()
    };
    let comparison = compared(&idle("old", 0), &idle("new", 37));
    assert!(comparison.idle);
    assert!(comparison.sentences[0].starts_with("wake-up path +37 ns"), "{:?}", comparison.sentences);
}

#[test]
fn a_cause_is_compared_with_its_function_and_its_seeds() {
    let explained = |examples: Vec<Example>, ns: i64| -> Vec<Example> {
        let longest = |seed: u64| ns + seed as i64;
        examples
            .into_iter()
            .map(|example| {
                let seed = example.run().seed();
                example.explained("slab-shrink", &["__dentry_kill", "shrink_dentry_list"], longest(seed)).explained(
                    "slab-shrink",
                    &["__dentry_kill"],
                    5,
                )
            })
            .collect()
    };
    let a = explained(side("old", 0, 1..=16), 100_000);
    let mut b = explained(side("new", 9, 1..=16), 512_000);
    b[3] = side("new", 9, 4..=4).remove(0).explained("timers", &["run_timer_softirq"], 40_000);
    let comparison = compared(&a, &b);
    let said: Vec<&str> = comparison.causes.iter().map(|shift| shift.sentence.as_str()).collect();
    assert_sentence!("virtual-causes", said.join("\n"));
    let without = compared(&side("old", 0, 1..=2), &side("new", 9, 1..=2));
    assert!(
        without.cautions.iter().any(|caution| caution.text.contains("explained in 0 of 2")),
        "{:?}",
        without.cautions
    );
}

#[test]
fn sides_that_are_no_sides_are_refused() {
    let old = side("old", 0, 1..=2);
    let refusal = |a: &[Example], b: &[Example]| compare(&runs(a), &runs(b)).unwrap_err();
    assert_eq!(refusal(&[], &old), Refusal::Empty('A'));
    assert!(matches!(refusal(&old, &side("old", 0, 3..=4)), Refusal::NoCommonSeed { .. }));
    let mixed: Vec<Example> = side("old", 0, 1..=1).into_iter().chain(side("new", 0, 2..=2)).collect();
    assert!(matches!(refusal(&old, &mixed), Refusal::Mixed { side: 'B', ref what } if what == "ingredient"));
    let twice: Vec<Example> = side("old", 0, 1..=1).into_iter().chain(side("old", 0, 1..=1)).collect();
    assert_eq!(refusal(&twice, &old), Refusal::Twice { side: 'A', seed: 1 });
    let mut broken = side("old", 0, 1..=1);
    broken[0].summary.valid = false;
    assert!(matches!(refusal(&broken, &old), Refusal::Invalid(..)));
    let left_out = compared(&old, &side("new", 1, 2..=3));
    assert_eq!((left_out.seeds, left_out.unpaired), (vec![2], vec![1, 3]));
}

#[test]
fn the_same_archives_give_the_same_answer_in_any_order() {
    let (a, b) = (side("old", 0, 1..=6), side("new", 40, 1..=6));
    let (mut turned_a, mut turned_b) = (runs(&a), runs(&b));
    let straight = compare(&turned_a, &turned_b).unwrap();
    turned_a.reverse();
    turned_b.rotate_left(2);
    assert_eq!(compare(&turned_a, &turned_b).unwrap(), straight);
}
