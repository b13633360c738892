//! The configurations of a log in the order of its starts, and the files of a configuration.
//!
//! A reader comes in; starts go out, the newest first. The source of a configuration comes in; its files go out, and
//! of two sources the differences of each file. Nothing is judged again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde::Serialize;

use super::xml_diff::{DiffLine, difference};
use super::{causes, json_text};
use crate::limits;
use systole_core::rules::core_payload;
use systole_core::types::fields::FieldReader;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::time::Millis;
use systole_show::columns::plain;

/// How the first field of a source begins.
const FORMAT: &str = "systole configuration v";
/// How it ends if settings follow the file.
const SETTINGS: &str = " with settings";

/// A start of the organism.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OrganismStart {
    /// The configuration of the start before, if it is another one.
    #[serde(rename = "changed_from", serialize_with = "json_text::write_any_text")]
    pub before: Option<Digest>,
    /// The hash of the configuration.
    #[serde(serialize_with = "json_text::write_text")]
    pub config: Digest,
    /// The position of its record.
    pub position: Position,
    /// When.
    #[serde(rename = "time", serialize_with = "json_text::write_text")]
    pub at: Millis,
    /// The version of the program.
    pub version: Option<String>,
}

/// The starts of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct StartList {
    /// Whether there may be older ones that were not read.
    #[serde(rename = "cut")]
    pub is_cut: bool,
    /// The starts, newest first.
    pub starts: Vec<OrganismStart>,
}

/// Reads the starts of a log.
pub fn read(reader: &dyn LogReader) -> Result<StartList, LogFault> {
    let sys = ThreadId::new_sys();
    let end = causes::first_after(|seq| Ok(!reader.of_thread(&sys, seq, 1)?.is_empty()))?;
    let first = end.saturating_sub(limits::NEWEST_RECORDS).max(1);
    let mut list = StartList { starts: Vec::new(), is_cut: first > 1 };
    for placed in reader.records_of(&sys, first) {
        let (position, record) = placed?;
        let Some((config, version)) = core_payload::read_boot(&record.body) else { continue };
        let before = list.starts.last().map(|start| start.config).filter(|before| *before != config);
        let (version, at) = (version.map(|version| plain(&version)), record.header.time);
        list.starts.push(OrganismStart { position, at, config, before, version });
    }
    list.starts.reverse();
    Ok(list)
}

/// The configuration that ran at a position: that of the newest start before it.
pub fn find_running(reader: &dyn LogReader, at: Position) -> Result<Option<Digest>, LogFault> {
    let sys = ThreadId::new_sys();
    let end = causes::first_after(|seq| {
        Ok(reader.of_thread(&sys, seq, 1)?.first().is_some_and(|(position, _)| *position < at))
    })?;
    causes::back(reader, &sys, end, |record| match core_payload::read_boot(&record.body) {
        Some((config, _)) => ControlFlow::Break(config),
        None => ControlFlow::Continue(()),
    })
}

/// A configuration with what ran and what runs under it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ListedConfiguration {
    /// Its hash.
    #[serde(serialize_with = "json_text::write_text")]
    pub config: Digest,
    /// How often it was started, as far as was read.
    pub starts: usize,
    /// The last one of these.
    #[serde(rename = "last_start")]
    pub last: Option<OrganismStart>,
    /// The threads with open calls that began under it.
    pub threads: Vec<ThreadId>,
}

impl StartList {
    /// The configurations, each with the threads that are open under it: newest first, then those of older starts.
    pub fn list_configurations(&self, mut open: BTreeMap<Digest, Vec<ThreadId>>) -> Vec<ListedConfiguration> {
        let started = self.configurations().into_iter().map(|(start, starts)| {
            let threads = open.remove(&start.config).unwrap_or_default();
            ListedConfiguration { config: start.config, starts, last: Some(start.clone()), threads }
        });
        let mut listed: Vec<ListedConfiguration> = started.collect();
        listed.extend(open.into_iter().map(|(config, threads)| ListedConfiguration {
            config,
            starts: 0,
            last: None,
            threads,
        }));
        listed
    }

    /// The configurations, newest first, each with its newest start and the number of its starts.
    pub fn configurations(&self) -> Vec<(&OrganismStart, usize)> {
        let mut found: Vec<(&OrganismStart, usize)> = Vec::new();
        for start in &self.starts {
            match found.iter_mut().find(|(known, _)| known.config == start.config) {
                Some((_, count)) => *count += 1,
                None => found.push((start, 1)),
            }
        }
        found
    }

    /// Whether no other start of the log is before this one.
    pub fn is_first(&self, start: &OrganismStart) -> bool {
        !self.is_cut && self.starts.last() == Some(start)
    }

    /// The hash of a configuration that begins like that, if only one does: of the list, or of older ones with open
    /// threads.
    pub fn find_named(&self, typed: &str, open: &BTreeMap<Digest, Vec<ThreadId>>) -> Option<Digest> {
        let started = self.starts.iter().map(|start| &start.config);
        let all: BTreeSet<&Digest> = started.chain(open.keys()).collect();
        let mut like = all.into_iter().filter(|config| config.to_string().starts_with(typed));
        let found = like.next()?;
        (like.next().is_none() && typed.len() >= 8).then_some(*found)
    }
}

/// A file of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConfigurationFile {
    /// Its name; that of the organism's file is not stored.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The files of a stored source: the organism's file, the settings of the command line if there are any, the schemas
/// and the files with prompt text. The error is in words.
pub fn files(source: &[u8]) -> Result<Vec<ConfigurationFile>, String> {
    let mut fields = FieldReader::new(source);
    let mut next = |what: &str| {
        let taken = fields
            .has_more()
            .then(|| fields.take_field().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        taken.transpose().map_err(|why| format!("{what} of the stored configuration cannot be read: {why}"))
    };
    let format = next("the format")?.unwrap_or_default();
    if !format.starts_with(FORMAT) {
        return Err("it is not a stored configuration in a format this version reads".to_owned());
    }
    let mut files = Vec::new();
    let text = next("the organism's file")?.ok_or("the organism's file is missing")?;
    files.push(ConfigurationFile { name: "organism file".to_owned(), text });
    if format.ends_with(SETTINGS) {
        let text = next("the settings")?.ok_or("the settings are missing")?;
        files.push(ConfigurationFile { name: "settings (--set)".to_owned(), text });
    }
    while let Some(name) = next("the name of a schema")? {
        let text = next("a schema")?.ok_or_else(|| format!("the schema {} is missing", plain(&name)))?;
        files.push(ConfigurationFile { name: plain(&name), text });
    }
    Ok(files)
}

/// How a file of a configuration changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileChange {
    /// Its name.
    #[serde(rename = "file")]
    pub name: String,
    /// `added`, `removed` or `changed`.
    pub what: &'static str,
    /// The lines in which it differs.
    pub lines: Vec<DiffLine>,
}

/// The files in which two configurations differ, in the order of the second one; removed ones come last.
pub fn changes(one: &[ConfigurationFile], other: &[ConfigurationFile]) -> Vec<FileChange> {
    let text = |files: &[ConfigurationFile], name: &str| {
        files.iter().find(|file| file.name == name).map(|file| file.text.clone())
    };
    let mut changes = Vec::new();
    for file in other {
        let before = text(one, &file.name);
        if before.as_ref() != Some(&file.text) {
            let what = if before.is_some() { "changed" } else { "added" };
            let lines = difference(&before.unwrap_or_default(), &file.text);
            changes.push(FileChange { name: file.name.clone(), what, lines });
        }
    }
    let removed = one.iter().filter(|file| text(other, &file.name).is_none());
    changes.extend(removed.map(|file| FileChange {
        name: file.name.clone(),
        what: "removed",
        lines: difference(&file.text, ""),
    }));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::fields::write_field;

    fn source(parts: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|part| write_field(&mut out, part.as_bytes()));
        out
    }

    #[test]
    fn a_source_has_its_files_and_two_sources_their_changes() {
        let one =
            source(&["systole configuration v2", "organism: {name: a}\n", "a.xsd", "<a/>", "b.xsd", "<b/>"]);
        let other = source(&[
            "systole configuration v2 with settings",
            "organism: {name: b}\n",
            "limits.message=1MiB",
            "a.xsd",
            "<a/>",
            "c.xsd",
            "<c/>",
        ]);
        let (one, other) = (files(&one).unwrap(), files(&other).unwrap());
        assert_eq!(one.len(), 3);
        assert_eq!(other[1].text, "limits.message=1MiB");
        let changed = changes(&one, &other);
        let told: Vec<(&str, &str)> = changed.iter().map(|one| (one.name.as_str(), one.what)).collect();
        assert_eq!(
            told,
            [
                ("organism file", "changed"),
                ("settings (--set)", "added"),
                ("c.xsd", "added"),
                ("b.xsd", "removed")
            ]
        );
        assert_eq!(changed[0].lines[0].text(), "- organism: {name: a}");
        assert!(changes(&one, &one).is_empty());
    }

    #[test]
    fn a_source_that_is_cut_off_is_not_read() {
        let whole = source(&["systole configuration v2", "organism: {}", "a.xsd", "<a/>"]);
        for end in 1..whole.len() - 1 {
            let cut = files(&whole[..end]);
            assert!(cut.is_err() || cut.unwrap().len() < 2, "{end}");
        }
        assert!(files(b"").is_err() && files(b"21:systole something else\n").is_err());
    }
}
