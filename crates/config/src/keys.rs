//! The table of all keys of an organism's file with their defaults, made from the sections that declare them. The
//! reference, the JSON Schema for editors and `--set` use it.

use std::sync::LazyLock;

use super::file_sections::FileKeys;
use super::key::ConfigKey;
use super::kinds::fill_texts;
use super::rehearsal::TEST_KEYS;
use super::section::{SectionKeys, list_keys};

/// Every key, parents before children.
pub static KEYS: LazyLock<Vec<ConfigKey>> = LazyLock::new(|| {
    let mut table = Vec::new();
    list_keys(FileKeys::ROWS, "", &mut table);
    table.iter_mut().for_each(fill_texts);
    table
});

/// The keys that may be in the map at `path`. The empty path is the top of the file.
pub(super) fn under(path: &str) -> impl Iterator<Item = (&'static str, &'static ConfigKey)> {
    KEYS.iter().chain(TEST_KEYS.iter()).filter_map(move |key| {
        let name = match path {
            "" => key.path,
            _ => key.path.strip_prefix(path)?.strip_prefix('.')?,
        };
        (!name.contains('.')).then_some((name, key))
    })
}

/// Whether the key at this path is required.
pub(super) fn is_required(path: &str) -> bool {
    let parts = |path: &'static str| path.split('.');
    let fits = |key: &&ConfigKey| {
        parts(key.path).count() == path.split('.').count()
            && parts(key.path).zip(path.split('.')).all(|(known, part)| known == part || known == "NAME")
    };
    KEYS.iter().find(fits).is_some_and(|key| key.default == "required")
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics::{Diagnostics, Given};
    use super::super::forms::{CountWithin, WaitTime};
    use super::super::key::{DefaultText, KeyForm, KeyRow};
    use super::super::key::{SIZE_UNITS, THOUSANDS, TIME_UNITS};
    use super::super::measure::read_measure;
    use super::super::section::section;
    use super::super::tree::Span;
    use super::super::value::At;
    use super::*;

    #[test]
    fn every_key_has_its_parent_before_it_and_none_stands_twice() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(
                KEYS[..at].iter().all(|k| k.path != key.path),
                "`{}` is declared twice: leave one row out",
                key.path
            );
            if let Some((parent, _)) = key.path.rsplit_once('.') {
                assert!(KEYS[..at].iter().any(|k| k.path == parent), "{}", key.path);
            }
        }
    }

    #[test]
    fn every_bound_is_in_the_words_of_its_key() {
        for key in KEYS.iter().chain(TEST_KEYS.iter()) {
            let is_bounded = matches!(key.form, KeyForm::Count(..) | KeyForm::Duration(_) | KeyForm::Size(_));
            // `idle` is bounded by another key.
            let is_said =
                key.meaning.contains(&key.form.show_bounds()) || key.meaning.contains("at most `timeout`");
            assert!(!is_bounded || is_said, "{}: write {{bounds}} into its meaning", key.path);
        }
    }

    /// The rows whose default is not a value of their form, with the line to write.
    fn find_bad_defaults(rows: &'static [KeyRow]) -> Vec<String> {
        let mut bad = Vec::new();
        for row in rows {
            bad.extend(find_bad_defaults(row.below));
            let DefaultText::Shows(show) = row.default else { continue };
            let text = show();
            let is_read = |units, bounds| {
                let mut diagnostics = Diagnostics::new("", &"".into(), &[], Given::Any, is_required);
                let found = At { at: Span::default(), value: text.clone() };
                read_measure(&mut diagnostics, &found, "", units, bounds).is_some()
            };
            let fits = match row.form {
                KeyForm::Count(least, most) => text.parse().is_ok_and(|n| (least..=most).contains(&n)),
                KeyForm::Duration(bounds) => is_read(TIME_UNITS, bounds),
                KeyForm::Size(bounds) => is_read(SIZE_UNITS, bounds),
                KeyForm::Tokens(bounds) => is_read(THOUSANDS, bounds),
                KeyForm::Words(words) => {
                    words.contains(&text.as_str()) && !["required", "none"].contains(&&*text)
                }
                _ => !text.is_empty(),
            };
            if !fits {
                let bounds = row.form.show_bounds();
                bad.push(format!("{}: default(…) with a value of its form {bounds}, not `{text}`", row.name));
            }
        }
        bad
    }

    #[test]
    fn every_default_is_what_its_form_reads() {
        assert_eq!(find_bad_defaults(FileKeys::ROWS), Vec::<String>::new());
    }

    section! { BadKeys {
        at_once: default(1025) <CountWithin<1, 1024>> "requests at once, {bounds}";
        wait: default(999) <WaitTime> "a wait, {bounds}";
        good: default(1_000) <WaitTime> "a wait, {bounds}";
    } }

    #[test]
    fn a_default_out_of_its_bounds_is_found() {
        let all = BadKeys::default();
        assert_eq!((all.at_once.value, all.wait.value, all.good.value), (1025, 999, 1_000));
        let bad = find_bad_defaults(BadKeys::ROWS);
        let [count, wait] = [
            "at_once: default(…) with a value of its form 1 to 1024, not `1025`",
            "wait: default(…) with a value of its form 1s to 1d, not `999ms`",
        ];
        assert_eq!(bad, [count, wait]);
    }
}
