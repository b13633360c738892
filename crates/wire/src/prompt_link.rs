//! The text of a link of a prompt. A prompt is a chain: a base, segments in order, and a last link for this turn only.
//! The last link holds the header of the turn, which may be empty, and the mark of the call. Each link names the
//! previous one by hash, so repeated parts are stored once.
//!
//! Texts come in; the texts of links go out, and links that were read back.

const BASE: &str = "systole prompt base v1";
const SEGMENT: &str = "systole prompt segment v1";
const PROMPT: &str = "systole prompt v1";
/// The word before the mark, behind the size of the header.
const MARK: &str = "mark";

/// The base: the first link.
#[must_use]
pub fn write_base(system: &str, tools: &str) -> String {
    format!("{}{system}{tools}", head(BASE, &[("system", system), ("tools", tools)]))
}

/// A segment after the link with that hash.
#[must_use]
pub fn write_segment(before: &str, messages: &str) -> String {
    format!("{}{before}\n{messages}", head(SEGMENT, &[("messages", messages)]))
}

/// A whole prompt: the chain up to the link with that hash, and the header of the turn. The header may be empty. The
/// mark of the call is part of the link, because no other part of the prompt must contain it.
#[must_use]
pub fn write_prompt(before: &str, header: &str, mark: &str) -> String {
    format!("{PROMPT}\nheader {} {MARK} {mark}\n{before}\n{header}", header.len())
}

/// The first lines of a link: its kind, and the size of each part in bytes.
fn head(what: &str, parts: &[(&str, &str)]) -> String {
    let mut head = format!("{what}\n");
    for (name, text) in parts {
        head.extend([name, " ", &text.len().to_string(), "\n"]);
    }
    head
}

/// A link that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedLink<'t> {
    /// The base.
    Base {
        /// The system prompt.
        system: &'t str,
        /// The tools, as JSON. Empty if there are none.
        tools: &'t str,
    },
    /// A segment.
    Segment {
        /// The hash of the link before it.
        before: &'t str,
        /// Its messages.
        messages: &'t str,
    },
    /// A whole prompt.
    Prompt {
        /// The hash of the link before it.
        before: &'t str,
        /// The header of the turn. Empty if the turn has none.
        header: &'t str,
        /// The mark of the call. Older prompts have it only in their header.
        mark: Option<&'t str>,
    },
}

/// Reads a link. `None` if the text is not a link.
#[must_use]
pub fn read_link(text: &str) -> Option<ParsedLink<'_>> {
    let (what, rest) = text.split_once('\n')?;
    let (first, more, rest) = length(rest)?;
    match what {
        BASE => {
            let (second, _, rest) = length(rest)?;
            let (system, tools) = (rest.get(..first)?, rest.get(first..)?);
            (tools.len() == second).then_some(ParsedLink::Base { system, tools })
        }
        SEGMENT => {
            let (before, messages) = rest.split_once('\n')?;
            (messages.len() == first).then_some(ParsedLink::Segment { before, messages })
        }
        PROMPT => {
            let (before, header) = rest.split_once('\n')?;
            let mark = more.strip_prefix(MARK).and_then(|mark| mark.strip_prefix(' '));
            (header.len() == first).then_some(ParsedLink::Prompt { before, header, mark })
        }
        _ => None,
    }
}

/// The size of a part, what else its line says, and the text after the line.
fn length(text: &str) -> Option<(usize, &str, &str)> {
    let (line, rest) = text.split_once('\n')?;
    let (_, size) = line.split_once(' ')?;
    let (size, more) = size.split_once(' ').unwrap_or((size, ""));
    Some((size.parse().ok()?, more, rest))
}

/// The hash of the link before this one.
#[must_use]
pub fn find_before(text: &str) -> Option<String> {
    match read_link(text)? {
        ParsedLink::Segment { before, .. } | ParsedLink::Prompt { before, .. } => Some(before.to_owned()),
        ParsedLink::Base { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ParsedLink, find_before, read_link, write_prompt};

    #[test]
    fn a_prompt_names_its_mark_with_and_without_a_header() {
        for header in ["", "<core-5eed0123>\nTurn 9 of 10.\n</core-5eed0123>"] {
            let text = write_prompt("aa", header, "5eed0123");
            let wanted = ParsedLink::Prompt { before: "aa", header, mark: Some("5eed0123") };
            assert_eq!((read_link(&text), find_before(&text)), (Some(wanted), Some("aa".to_owned())));
        }
    }

    #[test]
    fn an_older_prompt_is_read_without_a_mark() {
        let text = "systole prompt v1\nheader 3\naa\nnow";
        assert_eq!(read_link(text), Some(ParsedLink::Prompt { before: "aa", header: "now", mark: None }));
    }
}
