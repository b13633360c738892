//! The files of a search: those that its path and its filters leave.
//!
//! The root and a request come in; paths go out. It reads the names of files, and no file.

use crate::failure::{self, CodeFault};
use crate::nearest::find_nearest;
use crate::syntax::language::LanguageRow;
use crate::text::scan::{FileFilter, FilterKind};
use systole_folder::{FolderRoot, HiddenNames, PathFault, PathFaultKind, WalkedFiles, WorkBound, walk_files};

/// The files below a path, or the file with that path.
pub(crate) fn list_files(
    root: &FolderRoot,
    path: Option<&str>,
    bound: WorkBound<'_>,
) -> Result<WalkedFiles, CodeFault> {
    let Some(named) = path.map(str::trim).filter(|path| !path.is_empty()) else {
        return Ok(walk_files(root, ".", HiddenNames::LeftOut, bound));
    };
    let found = root.has_folder(named).map_err(|fault| with_nearest(root, fault, named, bound))?;
    if root.open_folder(&found).is_ok() {
        return Ok(walk_files(root, &found, HiddenNames::LeftOut, bound));
    }
    Ok(WalkedFiles { paths: vec![found], is_partial: false })
}

/// The fault of a path, with the paths that were probably meant if there is no such path.
pub(crate) fn with_nearest(
    root: &FolderRoot,
    fault: PathFault,
    named: &str,
    bound: WorkBound<'_>,
) -> CodeFault {
    let is_missing = fault.kind == PathFaultKind::Missing;
    let fault = CodeFault::from(fault);
    if is_missing { fault.with_nearest(root.find_nearest(named, bound)) } else { fault }
}

/// Checks the names of languages in filters.
pub(crate) fn check_filters(filters: &[FileFilter]) -> Result<(), CodeFault> {
    for filter in filters.iter().filter(|filter| filter.kind == FilterKind::Language) {
        for name in &filter.values {
            if LanguageRow::from_name(name).is_none() {
                return Err(report_unknown_language(name, crate::syntax::language::LANGUAGES.iter()));
            }
        }
    }
    Ok(())
}

pub(crate) fn report_unknown_language(
    name: &str,
    known: impl Iterator<Item = &'static LanguageRow>,
) -> CodeFault {
    let names: Vec<&str> = known.map(LanguageRow::name).collect();
    let fault = CodeFault::new(failure::BAD_QUERY, format!("no language is called '{name}'"));
    fault.with_nearest(find_nearest(name, &names)).with_fix(format!("one of {}", names.join(", ")))
}

/// Whether a file fits all filters.
pub(crate) fn fits_filters(path: &str, filters: &[FileFilter]) -> bool {
    let lower = path.to_lowercase();
    let file = lower.rsplit('/').next().unwrap_or(&lower);
    filters.iter().all(|filter| {
        let is_one = filter.values.iter().any(|value| match filter.kind {
            FilterKind::Extension => {
                file.rsplit_once('.').is_some_and(|(_, ext)| ext == value.trim_start_matches('.'))
            }
            FilterKind::Language => {
                let row = LanguageRow::from_path(path);
                row.is_some_and(|row| row.names.contains(&value.as_str()))
            }
            FilterKind::File => lower.ends_with(value) || has_glob(value) && fits_glob(value, file),
            FilterKind::Folder => {
                let folder = format!("{}/", value.trim_matches('/'));
                lower.starts_with(&folder) || lower.contains(&format!("/{folder}"))
            }
        });
        is_one != filter.is_not
    })
}

fn has_glob(value: &str) -> bool {
    value.contains('*')
}

/// Whether a name fits a pattern in which `*` is any text.
fn fits_glob(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let (Some((first, rest)), last) = (parts.split_first(), parts.last().copied().unwrap_or_default()) else {
        return false;
    };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    for part in rest.iter().take(rest.len().saturating_sub(1)) {
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

/// Whether a file holds tests, by its path.
pub(crate) fn is_test(path: &str) -> bool {
    let lower = path.to_lowercase();
    let is_folder =
        |part: &str| matches!(part, "tests" | "test" | "__tests__" | "spec" | "testdata" | "fixtures");
    let (folders, file) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    folders.split('/').any(is_folder)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || matches!(stem, "test" | "tests" | "conftest")
        || file.contains(".test.")
        || file.contains(".spec.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::query::SearchQuery;

    #[test]
    fn filters_compare_paths() {
        let fits =
            |query: &str, path: &str| fits_filters(path, &SearchQuery::parse_text(query).unwrap().filters);
        assert!(fits("x ext:rs", "a/b.rs") && !fits("x ext:rs", "a/b.rsx"));
        assert!(fits("x lang:py", "a.pyi") && !fits("x -lang:python", "a.py"));
        assert!(fits("x file:keys.rs", "src/keys.rs") && fits("x file:k*s.rs", "src/keys.rs"));
        assert!(!fits("x file:k*.py", "src/keys.rs"));
        assert!(fits("x dir:config", "crates/config/src/a.rs") && !fits("x dir:config", "src/configs/a.rs"));
        assert!(fits("x dir:crates/config/src", "crates/config/src/a.rs") && !fits("x -dir:src", "src/a.rs"));
    }

    #[test]
    fn tests_are_known_by_their_path() {
        for path in
            ["tests/a.rs", "a/test_x.py", "x_test.go", "a.spec.ts", "src/__tests__/x.js", "src/tests.rs"]
        {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/testing.rs", "latest.rs", "src/attests/a.rs", "src/a.rs"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
