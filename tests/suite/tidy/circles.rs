//! No circles of imports between files. A module and its direct parent may name each other, but such circles stay
//! small and few. They are what `tools/house-figures --circles` finds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::process::Command;

use super::modules::{Edge, edges};
use super::rust::line_of;
use super::{Source, hold, sources};

/// The most files of one circle in which a module and its parent count too, and of all such circles together. Both only
/// fall: lower them with the change that takes a file out of its circle.
const MOST_FILES: (usize, usize) = (8, 114);

type Edges = BTreeMap<(usize, usize), Edge>;

/// Circles that share no file, shortest first: each with the line and the name of every use.
fn circles(sources: &[Source], edges: &Edges) -> Vec<String> {
    let mut uses: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        uses.entry(*from).or_default().push(*to);
    }
    let mut found: Vec<Vec<usize>> = uses.keys().filter_map(|start| shortest(&uses, *start)).collect();
    found.sort_by_key(Vec::len);
    let (mut told, mut shown) = (BTreeSet::new(), Vec::new());
    for circle in found {
        if circle.iter().all(|file| !told.contains(file)) {
            shown.push(words(sources, edges, &circle));
            told.extend(circle);
        }
    }
    shown
}

/// A shortest circle through a file.
fn shortest(uses: &BTreeMap<usize, Vec<usize>>, start: usize) -> Option<Vec<usize>> {
    let (mut came_from, mut waiting) = (BTreeMap::new(), VecDeque::from([start]));
    while let Some(file) = waiting.pop_front() {
        for next in uses.get(&file).into_iter().flatten() {
            if *next == start {
                let mut way = vec![file];
                while let Some(before) = way.last().and_then(|file| came_from.get(file)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(*next, file);
                waiting.push_back(*next);
            }
        }
    }
    None
}

/// A circle for people: `src/a.rs:1 uses super::b::B of src/b.rs`, and so on around it.
fn words(sources: &[Source], edges: &Edges, circle: &[usize]) -> String {
    let next = circle.iter().cycle().skip(1);
    let uses = circle.iter().zip(next).map(|(from, to)| {
        let (Edge { at, path }, from, to) = (&edges[&(*from, *to)], &sources[*from], &sources[*to]);
        format!("{}:{} uses {path} of {}", from.path, line_of(&from.text, *at), to.path)
    });
    uses.collect::<Vec<_>>().join(",\n    ")
}

/// Every crate with a library: the folder of its sources, and its name in paths.
fn crates() -> Vec<(String, String)> {
    let mut found = vec![("src/".to_owned(), "systole".to_owned())];
    for room in ["crates", "listeners", "tests"] {
        for entry in fs::read_dir(room).unwrap() {
            let folder = entry.unwrap().path();
            if folder.join("src/lib.rs").exists() {
                let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
                found.push((format!("{room}/{}/src/", name.replace('_', "-")), format!("systole_{name}")));
            }
        }
    }
    assert!(found.len() > 20, "only {found:?}: the walk is broken");
    found
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources();
    let crates = crates();
    let names: Vec<(&str, &str)> =
        crates.iter().map(|(folder, name)| (folder.as_str(), name.as_str())).collect();
    let edges = edges(&sources, &names);
    assert!(edges.len() > 2_000, "only {} uses found: the reading is broken", edges.len());
    hold(
        "files import each other in a circle (move what both need to a file of its own)",
        &circles(&sources, &edges),
    );
}

/// What is too large about circles that are listed as `3 src/a.rs src/b.rs src/c.rs`, one on each line.
fn list_large(found: &str, (one, all): (usize, usize)) -> Vec<String> {
    let sizes = found.lines().map(|line| (line, line.split_whitespace().skip(1).count()));
    let large = sizes.clone().filter(|(_, files)| *files > one).map(|(line, _)| line.to_owned());
    let sum: usize = sizes.map(|(_, files)| files).sum();
    large.chain((sum > all).then(|| format!("{sum} files in all circles, {all} at most"))).collect()
}

#[test]
fn modules_and_their_children_form_few_and_small_circles() {
    let ran = Command::new("python3").args(["tools/house-figures", "--circles"]).output();
    let ran = ran.expect("tools/prepare installs python3");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = String::from_utf8(ran.stdout).unwrap();
    assert!(found.contains(".rs"), "no circle at all: lower MOST_FILES to 0");
    hold(
        "too many files import each other (give what a module shares with its children a file of its own)",
        &list_large(&found, MOST_FILES),
    );
}

#[test]
fn a_large_circle_is_named_and_many_small_ones_are_counted() {
    let found = "3 a.rs b.rs c.rs\n2 d.rs e.rs\n";
    assert_eq!(list_large(found, (3, 5)), [""; 0]);
    assert_eq!(list_large(found, (2, 5)), ["3 a.rs b.rs c.rs"]);
    assert_eq!(list_large(found, (3, 4)), ["5 files in all circles, 4 at most"]);
}

/// The uses between files of a small crate, as `a>b`.
fn uses_of(files: &[(&str, &str)]) -> String {
    let source =
        |(path, text): &(&str, &str)| Source { path: format!("src/{path}.rs"), text: (*text).to_owned() };
    let sources: Vec<Source> = files.iter().map(source).collect();
    let name = |file: usize| files[file].0.trim_end_matches("/mod");
    let all = edges(&sources, &[("src/", "x")]);
    let mut uses: Vec<String> =
        all.keys().map(|(from, to)| format!("{}>{}", name(*from), name(*to))).collect();
    uses.sort();
    uses.join(" ")
}

#[test]
fn a_use_of_another_file_is_seen_however_it_is_written() {
    let ab = "mod a; mod b;";
    // Both ways; tests are left out; through a module; a module alone.
    let both =
        [("lib", ab), ("a", "use super::b::X; pub struct A;"), ("b", "use crate::a::A; pub struct X;")];
    assert_eq!(uses_of(&both), "a>b b>a");
    let tests = "pub struct X; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use crate::a::A; \
                 #[cfg(test)] fn f() -> crate::a::A { crate::a::A }";
    assert_eq!(uses_of(&[("lib", ab), ("a", "use super::b::X; pub struct A;"), ("b", tests)]), "a>b");
    let through = [("lib", ab), ("a", "use super::b; fn f() { b::g::<u8>(); }"), ("b", "pub fn g<T>() {}")];
    assert_eq!(uses_of(&through), "a>b");
    assert_eq!(uses_of(&[("lib", ab), ("a", "use super::b;"), ("b", "pub fn g() {}")]), "");

    // Comments and texts are no code.
    let said = "// crate::b::g\n/* super::b /* x */ crate::b::g */ const A: &str = \"crate::b::g\"; \
                const C: char = '\"'; fn f() { r#\"crate::b::g\"#; }";
    assert_eq!(uses_of(&[("lib", ab), ("a", said), ("b", "pub fn g() {}")]), "");

    // Re-exports and their chains, groups, `self` and `as` lead to the file that defines.
    let d = ("a/deep", "pub struct D;");
    let again =
        [("lib", ab), ("a/mod", "mod deep; pub use deep::D;"), d, ("b", "use crate::a::D; fn f(d: D) {}")];
    assert_eq!(uses_of(&again), "b>a/deep");
    let chain = [
        ("lib", "mod a; mod b; pub use a::D;"),
        ("a/mod", "mod deep; pub(super) use deep::{D as E, self}; pub use E as D;"),
        ("a/deep", "pub struct D; pub fn h() {}"),
        ("b", "use crate::{a::deep::h, D}; fn f(d: D) {}"),
    ];
    assert_eq!(uses_of(&chain), "b>a/deep lib>a/deep");

    // Above the parent: the parent is left out, a grandparent is not.
    let deep = "use super::P; use super::super::b::B; fn f() -> self::X { super::super::b::go() } struct X;";
    let above = [
        ("lib", ab),
        ("a/mod", "mod deep; pub struct P;"),
        ("a/deep", deep),
        ("b", "pub struct B; pub fn go() {}"),
    ];
    assert_eq!(uses_of(&above), "a/deep>b");
    let grandparent =
        [("lib", "mod a; pub struct Root;"), ("a/mod", "mod deep;"), ("a/deep", "use crate::Root;")];
    assert_eq!(uses_of(&grandparent), "a/deep>lib");

    // Visibility is no use; globs of an enum, and a use in a body, are.
    let seen = "pub enum K { One } impl K { fn f() { use K::One; } }";
    assert_eq!(uses_of(&[("lib", ab), ("a", "pub(in crate::b) fn f() {}"), ("b", seen)]), "");
    let glob = "use crate::b::Kind::*; fn f() { fn g() { use super::b::h; } }";
    assert_eq!(uses_of(&[("lib", ab), ("a", glob), ("b", "pub enum Kind { One } pub fn h() {}")]), "a>b");

    // Names made by macros, paths in macros, modules inside of a file, generics, bare names.
    let made = "macro_rules! m { ($n:ident) => { pub struct $n; fn x() { $crate::b::h() } } } m!(Made);";
    assert_eq!(uses_of(&[("lib", ab), ("a", made), ("b", "use crate::a::Made; pub fn h() {}")]), "a>b b>a");
    let inner = [
        ("lib", "mod a; mod b; mod c;"),
        ("a", "use crate::b::x; fn f() { x::go(); x(); }"),
        ("b", "pub mod x { pub fn go() { super::super::c::h() } } pub fn x() {}"),
        ("c", "pub fn h() {}"),
    ];
    assert_eq!(uses_of(&inner), "a>b b>c");
    let bare = "fn f<'static_>(x: &'static str) -> Self::B { std::fs::read(); b::go(); x.b::<u8>() }";
    assert_eq!(uses_of(&[("lib", ab), ("a", bare), ("b", "pub fn go() {}")]), "");
    let generic = "impl<T> From<crate::b::B> for Vec<T> { fn from(b: crate::b::B) -> Self { \
                   <crate::b::B as Clone>::clone(&b) } }";
    assert_eq!(uses_of(&[("lib", ab), ("a", generic), ("b", "pub struct B;")]), "a>b");
    let globs = [
        ("lib", "mod a; mod b; mod c; pub use b::*;"),
        ("a", "use crate::Made; use crate::C;"),
        ("b", "pub struct Made; pub use crate::c::*;"),
        ("c", "pub struct C;"),
    ];
    assert_eq!(uses_of(&globs), "a>b a>c b>c");
}

#[test]
fn a_circle_is_told_once_with_its_lines_and_names() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source("src/lib.rs", "mod a; mod b; mod c;"),
        source("src/a.rs", "\nuse super::b::B;\npub struct A;"),
        source("src/b.rs", "use super::c::C;\npub struct B;"),
        source("src/c.rs", "pub struct C;\nfn f(_: crate::a::A) {}"),
    ];
    let told = circles(&sources, &edges(&sources, &[("src/", "x")]));
    let uses = [
        "src/a.rs:2 uses super::b::B of src/b.rs",
        "src/b.rs:1 uses super::c::C of src/c.rs",
        "src/c.rs:2 uses crate::a::A of src/a.rs",
    ];
    assert_eq!(told, [uses.join(",\n    ")]);
}
