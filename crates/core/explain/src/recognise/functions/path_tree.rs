//! Time by call path.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Paths beyond this limit are counted for their last known function: invalid data can have any number of them.
const NODES_MAX: usize = 50_000;

/// A function with the path of its callers.
#[derive(Debug)]
struct Node {
    parent: usize,
    /// Number of the function; for roots, of the thread.
    function: u32,
    /// Time while this was the innermost, in ns.
    own_ns: i64,
    /// The longest part of it without any record.
    longest_ns: i64,
}

/// A path and its time.
#[derive(Debug, PartialEq, Eq)]
pub struct Heaviest {
    /// Time of the innermost function including its callees.
    pub ns: i64,
    /// The part of it while the innermost function was the last one entered.
    pub own_ns: i64,
    /// The longest part of it in the innermost function itself without any record.
    pub longest_pause_ns: i64,
    /// Innermost first.
    pub path: Vec<u32>,
}

/// Paths that share their beginnings. Node 0 is the root.
#[derive(Debug)]
pub struct PathTree {
    nodes: Vec<Node>,
    /// By node and function.
    children: HashMap<u64, usize, BuildHasherDefault<Mixer>>,
}

/// Mixes the numbers of a node and a function. Both are small and assigned here, so a trace cannot choose them.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn key(parent: usize, function: u32) -> u64 {
    (parent as u64) << 32 | u64::from(function)
}

pub const TOP: usize = 0;

impl PathTree {
    pub fn new() -> Self {
        Self {
            nodes: vec![Node { parent: TOP, function: u32::MAX, own_ns: 0, longest_ns: 0 }],
            children: HashMap::default(),
        }
    }

    /// The node of a function called on a path.
    pub fn child(&mut self, parent: usize, function: u32) -> usize {
        let next = self.nodes.len();
        if next >= NODES_MAX {
            return self.children.get(&key(parent, function)).copied().unwrap_or(parent);
        }
        let node = *self.children.entry(key(parent, function)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, function, own_ns: 0, longest_ns: 0 });
        }
        node
    }

    /// The node below the root on the path to this one.
    pub fn root_of(&self, mut node: usize) -> usize {
        while node != TOP && self.nodes[node].parent != TOP {
            node = self.nodes[node].parent;
        }
        node
    }

    pub fn spend(&mut self, node: usize, ns: i64) {
        self.nodes[node].own_ns = self.nodes[node].own_ns.saturating_add(ns);
    }

    /// Time that passed without any record while this was the innermost.
    pub fn note_pause(&mut self, node: usize, ns: i64) {
        let longest_ns = &mut self.nodes[node].longest_ns;
        *longest_ns = ns.max(*longest_ns);
    }

    /// The longest path on which each function, including its callees, had at least `least_ns`. `is_known`
    /// distinguishes functions from threads and gaps.
    pub fn heaviest(&self, least_ns: i64, is_known: impl Fn(u32) -> bool) -> Option<Heaviest> {
        let mut whole_ns: Vec<i64> = self.nodes.iter().map(|node| node.own_ns).collect();
        // Children come after their parents.
        for index in (1..self.nodes.len()).rev() {
            let parent = self.nodes[index].parent;
            whole_ns[parent] = whole_ns[parent].saturating_add(whole_ns[index]);
        }
        let enough = |&index: &usize| whole_ns[index] >= least_ns.max(1) && is_known(self.nodes[index].function);
        let mut depth = vec![0u32; self.nodes.len()];
        for index in 1..self.nodes.len() {
            depth[index] = depth[self.nodes[index].parent] + 1;
        }
        let deepest = (1..self.nodes.len()).filter(enough).max_by_key(|&index| (depth[index], whole_ns[index]))?;
        let mut path = Vec::new();
        let mut index = deepest;
        while index != TOP {
            if is_known(self.nodes[index].function) {
                path.push(self.nodes[index].function);
            }
            index = self.nodes[index].parent;
        }
        let Node { own_ns, longest_ns, .. } = self.nodes[deepest];
        Some(Heaviest { ns: whole_ns[deepest], own_ns, longest_pause_ns: longest_ns, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_function_with_most_of_the_time_is_found() {
        let mut tree = PathTree::new();
        let shrink = tree.child(TOP, 1);
        let list = tree.child(shrink, 2);
        for leaf in 10..20 {
            let node = tree.child(list, leaf);
            tree.spend(node, 9);
        }
        tree.spend(shrink, 10);
        tree.note_pause(shrink, 10);
        let found = |ns, own_ns, path| Some(Heaviest { ns, own_ns, longest_pause_ns: own_ns, path });
        assert_eq!(tree.heaviest(50, |_| true), found(90, 0, vec![2, 1]));
        assert_eq!(tree.heaviest(95, |_| true), found(100, 10, vec![1]));
        assert_eq!(tree.heaviest(101, |_| true), None);
    }

    #[test]
    fn endless_paths_end() {
        let mut tree = PathTree::new();
        let mut node = TOP;
        for function in 0..2 * NODES_MAX as u32 {
            node = tree.child(node, function);
        }
        tree.spend(node, 1);
        assert_eq!(tree.heaviest(1, |_| true).map(|found| (found.ns, found.path.len())), Some((1, NODES_MAX - 1)));
    }
}
