//! The configurations of the log, and one of them with its files and what changed in it.
//!
//! Starts of `systole_queries::starts` come in; pages go out. Only configurations that the organism was started with
//! are shown.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use serde_json::json;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::encode_part;
use crate::limits;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_hall::log_view::LogMoment;
use systole_hall::reading::{ReadRefusal, ReadResult, whole_log_only};
use systole_kit::writer::make_visible;
use systole_queries::configurations;
use systole_queries::hashes::shorten_hash;
use systole_queries::starts::{
    self, ConfigurationFile, FileChange, ListedConfiguration, OrganismStart, StartList,
};
use systole_queries::xml_diff::DiffLine;

/// What the pages are about, for clients that may not see them.
const WHAT: &str = "configurations name every listener and are";

/// A configuration in the list.
struct ConfigRow {
    href: String,
    hash: String,
    short: String,
    starts: usize,
    /// How many threads are open under it.
    open: usize,
    ago: String,
    time: String,
    version: String,
}

/// A start in the list.
struct StartRow {
    position: u64,
    at: String,
    href: String,
    short: String,
    changed: Option<String>,
    is_first: bool,
    ago: String,
    time: String,
}

#[derive(Template)]
#[template(path = "configs.html")]
struct ConfigsPage {
    frame: Frame,
    configs: Vec<ConfigRow>,
    starts: Vec<StartRow>,
    is_cut: bool,
}

/// A line of a difference, with its class and its words.
struct ChangeLine {
    class: &'static str,
    text: String,
}

/// A file that changed.
struct ChangedFile {
    name: String,
    what: &'static str,
    lines: Vec<ChangeLine>,
}

#[derive(Template)]
#[template(path = "config.html")]
struct ConfigPage {
    frame: Frame,
    hash: String,
    /// The threads with open calls that began under it, with their pages, and how many others there are.
    open: Vec<(String, String)>,
    others: usize,
    against: Option<(String, String)>,
    choices: Vec<(String, String, bool)>,
    changes: Vec<ChangedFile>,
    files: Vec<(String, String, usize)>,
}

/// Shows the list.
pub(super) async fn answer_list(asked: &PageRequest) -> Result<Response, Refusal> {
    let (list, now, open) = asked
        .look(&[], |moment, _| {
            whole_log_only(moment, WHAT)?;
            let open = configurations::list_open(&*moment.read_state()?);
            Ok((starts::read(&*moment.reader)?, moment.now, open))
        })
        .await?;
    let listed = list.list_configurations(open);
    if !asked.is_html {
        return Ok(asked.json(&json!({"cut": list.is_cut, "starts": list.starts, "configurations": listed})));
    }
    let frame = asked.frame(PageTab::Config, "Configurations").with_command("systole config");
    let page = ConfigsPage {
        configs: listed.iter().map(|one| row(&frame, one, now)).collect(),
        starts: list
            .starts
            .iter()
            .take(limits::LISTED)
            .map(|start| start_row(&frame, start, list.is_first(start), now))
            .collect(),
        is_cut: list.is_cut || list.starts.len() > limits::LISTED,
        frame,
    };
    Ok(render_page(&page))
}

fn short(hash: Digest) -> String {
    shorten_hash(&hash.to_string()).to_owned()
}

fn row(frame: &Frame, one: &ListedConfiguration, now: Millis) -> ConfigRow {
    let (hash, last) = (one.config.to_string(), one.last.as_ref());
    ConfigRow {
        href: frame.to(&format!("/config/{hash}")),
        short: short(one.config),
        hash,
        starts: one.starts,
        open: one.threads.len(),
        ago: last
            .map(|start| format!("{} ago", spell_duration(now.count_since(start.at))))
            .unwrap_or_default(),
        time: last.map(|start| start.at.to_string()).unwrap_or_default(),
        version: last.and_then(|start| start.version.clone()).unwrap_or_default(),
    }
}

fn start_row(frame: &Frame, start: &OrganismStart, is_first: bool, now: Millis) -> StartRow {
    let changed = start.before.map(|before| frame.to(&format!("/config/{}?against={before}", start.config)));
    StartRow {
        position: start.position.0,
        at: format!("/?at={}", start.position.0),
        href: frame.to(&format!("/config/{}", start.config)),
        short: short(start.config),
        changed,
        is_first,
        ago: spell_duration(now.count_since(start.at)),
        time: start.at.to_string(),
    }
}

/// What was read of one configuration.
struct ReadConfig {
    list: StartList,
    open: Vec<ThreadId>,
    hash: Digest,
    files: Vec<ConfigurationFile>,
    against: Option<Digest>,
    changes: Vec<FileChange>,
}

/// Shows one.
pub(super) async fn one(asked: &PageRequest) -> Result<Response, Refusal> {
    let typed = asked.part("hash").to_owned();
    let read = asked
        .look(&["against"], move |moment, fields| {
            whole_log_only(moment, WHAT)?;
            let list = starts::read(&*moment.reader)?;
            let mut open = configurations::list_open(&*moment.read_state()?);
            let find_named = |typed: &str| find_named(&list, typed, &open);
            let hash = find_named(&typed)?;
            let files = files(moment, hash)?;
            let before = list.starts.iter().find(|start| start.config == hash).and_then(|start| start.before);
            let against = fields.text("against").map(find_named).transpose()?.or(before);
            let changes = match against {
                Some(against) => starts::changes(&self::files(moment, against)?, &files),
                None => Vec::new(),
            };
            let open = open.remove(&hash).unwrap_or_default();
            Ok(ReadConfig { list, open, hash, files, against, changes })
        })
        .await?;
    if !asked.is_html {
        let against = read.against.map(|against| against.to_string());
        let hash = read.hash.to_string();
        return Ok(asked
            .json(&json!({"hash": hash, "threads": read.open, "files": read.files, "against": against, "changes": read.changes})));
    }
    Ok(render_page(&page(asked, read)))
}

fn find_named(list: &StartList, typed: &str, open: &BTreeMap<Digest, Vec<ThreadId>>) -> ReadResult<Digest> {
    let missing = || {
        let words = "no start of this log has such a configuration".to_owned();
        ReadRefusal::missing(words, "/config, which lists the configurations")
    };
    Ok(list.find_named(typed, open).ok_or_else(missing)?)
}

fn files(moment: &LogMoment, hash: Digest) -> ReadResult<Vec<ConfigurationFile>> {
    let source = moment.reader.read_document(hash)?;
    let found = source.ok_or_else(|| "the log does not hold it".to_owned());
    let read = found.and_then(|source| starts::files(&source));
    let unread =
        |why| ReadRefusal::missing(format!("the configuration {hash}: {why}"), "another one of /config");
    Ok(read.map_err(unread)?)
}

fn page(asked: &PageRequest, read: ReadConfig) -> ConfigPage {
    let frame = asked.frame(PageTab::Config, &format!("Configuration {}", short(read.hash)));
    let frame = match read.against {
        Some(against) => {
            frame.with_command(format!("systole config diff {} {}", short(against), short(read.hash)))
        }
        None => frame.with_command(format!("systole config show {}", short(read.hash))),
    };
    let others = read.list.configurations().into_iter().filter(|(start, _)| start.config != read.hash);
    let choices = others.map(|(start, _)| {
        (start.config.to_string(), short(start.config), Some(start.config) == read.against)
    });
    let against = read
        .against
        .map(|against| (short(against), frame.to(&format!("/config/{}", encode_part(&against.to_string())))));
    let lines = |lines: &[DiffLine]| -> Vec<ChangeLine> {
        lines
            .iter()
            .map(|line| {
                let class = match line {
                    DiffLine::First(_) => "gone",
                    DiffLine::Second(_) => "came",
                    DiffLine::Both(_) | DiffLine::LeftOut(_) => "quiet",
                };
                ChangeLine { class, text: make_visible(&line.text()).into_owned() }
            })
            .collect()
    };
    let changed = |change: &FileChange| ChangedFile {
        name: change.name.clone(),
        what: change.what,
        lines: lines(&change.lines),
    };
    let file = |file: &ConfigurationFile| {
        let kept: String = file.text.chars().take(limits::TEXT).collect();
        (file.name.clone(), make_visible(&kept).into_owned(), file.text.len().saturating_sub(kept.len()))
    };
    let open = read.open.iter().take(limits::LISTED);
    let open: Vec<_> =
        open.map(|id| (id.to_string(), frame.to(&format!("/t/{}", encode_part(id.as_str()))))).collect();
    ConfigPage {
        hash: read.hash.to_string(),
        others: read.open.len() - open.len(),
        open,
        against,
        choices: choices.collect(),
        changes: read.changes.iter().map(changed).collect(),
        files: read.files.iter().map(file).collect(),
        frame,
    }
}
