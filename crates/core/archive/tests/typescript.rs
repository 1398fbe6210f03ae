//! The report's TypeScript types are the ones of this crate: `ui/src/types/report.ts` is generated from
//! [`archive::summary::ReportData`], checked in, and compared here.
#![cfg(feature = "typescript")]

use archive::summary::ReportData;
use fixtures::repository::repository_path;
use std::any::TypeId;
use std::collections::BTreeMap;
use ts_rs::{Config, TS, TypeVisitor};

const HEADER: &str = "\
// Generated from the crate `archive`; do not edit. To write it again:
// TARDY_WRITE_TYPES=1 cargo test -p archive --features typescript --test typescript
";

/// Every named type reachable from the root, by name: the order of dependencies differs from build to build.
struct Declarations<'a> {
    config: &'a Config,
    seen: Vec<TypeId>,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if self.seen.contains(&TypeId::of::<T>()) {
            return;
        }
        self.seen.push(TypeId::of::<T>());
        T::visit_dependencies(self);
        if T::output_path().is_some() {
            let docs = T::docs().unwrap_or_default();
            self.by_name.insert(T::ident(self.config), format!("\n{docs}export {}\n", T::decl(self.config)));
        }
    }
}

#[test]
fn the_report_reads_the_types_this_crate_writes() {
    // JSON has one kind of number; ns since boot and since 1970 stay below 2^53 until the year 2255.
    let config = Config::new().with_large_int("number");
    let mut declarations = Declarations { config: &config, seen: Vec::new(), by_name: BTreeMap::new() };
    declarations.visit::<ReportData>();
    let types: String = HEADER.chars().chain(declarations.by_name.values().flat_map(|text| text.chars())).collect();
    let path = repository_path("ui/src/types/report.ts");
    if std::env::var_os("TARDY_WRITE_TYPES").is_some() {
        std::fs::write(&path, &types).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == types, "ui/src/types/report.ts is stale; its first lines say how to write it again");
}
