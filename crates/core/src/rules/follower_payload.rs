//! What the log says about its followers: where one began, what its receiver did not take, and whether it is behind.

use super::element::{PayloadBytes, read_attributes, read_text, write_element};
use crate::types::ids::Name;
use crate::types::ports::Position;

/// The elements, in the order of `FollowerChange`.
const ELEMENTS: [&str; 5] =
    ["follower-began", "follow-skipped", "follower-behind", "follower-caught-up", "follower-stopped"];

/// What happened to a follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FollowerChange {
    /// It begins after its position.
    Began,
    /// Its receiver refused the record at its position, so it goes on without that. Why, in words.
    Skipped(String),
    /// It has been behind the log for a while, at its position. Why, in words.
    Behind(String),
    /// It is at the end of the log again.
    CaughtUp,
    /// It sends nothing more until a person says where it goes on. Why, in words.
    Stopped(String),
}

/// News of a follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowerNews {
    /// Its name.
    pub follower: Name,
    /// Where it is in the log.
    pub position: Position,
    /// What happened.
    pub change: FollowerChange,
}

/// The record of the news.
pub fn write_news(news: &FollowerNews) -> PayloadBytes {
    let (place, words) = match &news.change {
        FollowerChange::Began => (0, None),
        FollowerChange::Skipped(words) => (1, Some(words)),
        FollowerChange::Behind(words) => (2, Some(words)),
        FollowerChange::CaughtUp => (3, None),
        FollowerChange::Stopped(words) => (4, Some(words)),
    };
    write_element(ELEMENTS.get(place).copied().unwrap_or_default(), |tag| {
        let tag = tag.attr("name", news.follower.as_str()).number("position", news.position.0);
        match words {
            Some(words) => tag.text(words),
            None => tag.empty(),
        }
    })
}

/// The news that a record is; `None` if it is none.
pub fn read_news(body: &[u8]) -> Option<FollowerNews> {
    let of_element = |(place, name): (usize, &&str)| {
        let [follower, position] = read_attributes(body, name, ["name", "position"])?;
        Some((place, follower?, position?))
    };
    // Most records of the log's own thread are none of these, and are not parsed five times.
    if !body.starts_with(b"<follow") {
        return None;
    }
    let (place, follower, position) = ELEMENTS.iter().enumerate().find_map(of_element)?;
    let words = || read_text(body).unwrap_or_default();
    let change = match place {
        0 => FollowerChange::Began,
        1 => FollowerChange::Skipped(words()),
        2 => FollowerChange::Behind(words()),
        3 => FollowerChange::CaughtUp,
        _ => FollowerChange::Stopped(words()),
    };
    Some(FollowerNews {
        follower: Name::parse(&follower).ok()?,
        position: Position(position.parse().ok()?),
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h15_each_record_about_a_follower_is_read_as_it_was_written() {
        let words = || "400: <no> & \u{1f600}".to_owned();
        for change in [
            FollowerChange::Began,
            FollowerChange::Skipped(words()),
            FollowerChange::Behind(words()),
            FollowerChange::CaughtUp,
            FollowerChange::Stopped(words()),
        ] {
            let news =
                FollowerNews { follower: Name::parse("siem").unwrap(), position: Position(41), change };
            assert_eq!(read_news(&write_news(&news)), Some(news));
        }
        for other in ["<follow/>", "<boot/>", "<follower-began xmlns='urn:t' name='a' position='1'/>"] {
            assert_eq!(read_news(other.as_bytes()), None, "{other}");
        }
    }
}
