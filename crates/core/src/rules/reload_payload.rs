//! What the log says about reloads: another configuration began, or one did not start.

use serde::{Deserialize, Serialize};

use super::element::{PayloadBytes, read_attributes, read_text, write_element};
use crate::types::ids::{Digest, Name};

/// Another configuration began, although the organism was not stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reload {
    /// The configuration.
    pub config: Digest,
    /// The one that ran before.
    pub before: Digest,
    /// The client that ordered it.
    pub by: Name,
    /// Whether it came from the log, because the one before was turned away.
    pub is_back: bool,
}

/// A configuration did not start, and the one before goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedReload {
    /// The configuration.
    pub config: Digest,
    /// The client that ordered it.
    pub by: Name,
    /// Why it did not start.
    pub words: String,
}

/// News of a reload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReloadNews {
    /// It is done.
    Done(Reload),
    /// It failed.
    Failed(FailedReload),
}

/// The record of the news.
pub fn write_news(news: &ReloadNews) -> PayloadBytes {
    match news {
        ReloadNews::Done(Reload { config, before, by, is_back }) => write_element("reloaded", |tag| {
            tag.attr("config", &config.to_string())
                .attr("before", &before.to_string())
                .attr("by", by.as_str())
                .attr_if("back", is_back.then_some("true"))
                .empty();
        }),
        ReloadNews::Failed(FailedReload { config, by, words }) => write_element("reload-failed", |tag| {
            tag.attr("config", &config.to_string()).attr("by", by.as_str()).text(words);
        }),
    }
}

/// The news that a record is; `None` if it is none.
pub fn read_news(body: &[u8]) -> Option<ReloadNews> {
    // Most records of the log's own thread are none of these, and are not parsed.
    if !body.starts_with(b"<reload") {
        return None;
    }
    let digest = |text: Option<String>| Digest::parse(&text?).ok();
    let name = |text: Option<String>| Name::parse(&text?).ok();
    if let Some([config, before, by, back]) =
        read_attributes(body, "reloaded", ["config", "before", "by", "back"])
    {
        let is_back = back.as_deref() == Some("true");
        let reload = Reload { config: digest(config)?, before: digest(before)?, by: name(by)?, is_back };
        return Some(ReloadNews::Done(reload));
    }
    let [config, by] = read_attributes(body, "reload-failed", ["config", "by"])?;
    let failed = FailedReload { config: digest(config)?, by: name(by)?, words: read_text(body)? };
    Some(ReloadNews::Failed(failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_each_record_about_a_reload_is_read_as_it_was_written() {
        let (config, before, by) = (Digest([1; 32]), Digest([2; 32]), Name::new_operator());
        let done = |is_back| ReloadNews::Done(Reload { config, before, by: by.clone(), is_back });
        let failed = FailedReload { config, by: by.clone(), words: "a & b < c".to_owned() };
        for news in [done(false), done(true), ReloadNews::Failed(failed)] {
            assert_eq!(read_news(&write_news(&news)), Some(news));
        }
        for other in ["<reload/>", "<boot/>", "<reloaded xmlns='urn:t' config='a'/>"] {
            assert_eq!(read_news(other.as_bytes()), None, "{other}");
        }
    }
}
