//! Reads what the server refused, and to whom, from a line of its log. The identity comes from what the server says
//! about the connection. What a client says about itself is never trusted; only the subject of it is repeated.
//!
//! A line is `[PID] TIME [ERR] ADDRESS - cid:N - "CLIENT" - "ACCOUNT/nkey:KEY" - WORDS`. The server escapes what is
//! in quotes.

use systole_core::types::codes::Code;
use systole_system::tally::TalliedEvent;

use crate::limits;

/// A party in the server's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownParty {
    /// Its name for people.
    pub shown: String,
    /// Its account.
    pub account: String,
    /// The public half of its key.
    pub key: String,
}

/// The refusal that the line reports, if it reports one.
pub(super) fn read_violation(line: &str, parties: &[KnownParty]) -> Option<TalliedEvent> {
    let rest = line.split_once(" [ERR] ")?.1;
    let parts = split_parts(rest);
    let at = parts.iter().position(is_refusal)?;
    let (words, detail) = (parts.get(at)?, parts.get(at + 1).copied().unwrap_or_default());
    let event = |what: &str, example: String| {
        Some(TalliedEvent { code: Code::BusViolation, what: what.to_owned(), example })
    };
    if words.starts_with("authentication") {
        return event(TalliedEvent::NOT_LET_IN, String::new());
    }
    let may_not = if words.starts_with("Publish") {
        "publish to a forbidden subject"
    } else {
        "hear a forbidden subject"
    };
    let who = at.checked_sub(1).and_then(|before| parts.get(before));
    let party = parties.iter().find(|party| {
        let connected = format!("\"{}/nkey:{}\"", party.account, party.key);
        let named = format!("Nkey \"{}\"", party.key);
        who.is_some_and(|who| **who == connected) || detail.starts_with(&named)
    });
    let who = party.map_or("somebody", |party| party.shown.as_str());
    let what = format!("{who} tried to {may_not}, and the broker refused it");
    event(&what, find_subject(detail).map_or_else(String::new, |subject| format!(": {subject}")))
}

fn is_refusal(part: &&str) -> bool {
    ["Publish Violation", "Subscription Violation", "authentication error"].contains(part)
}

/// The parts of a line between ` - `. A quoted part stays whole, even with ` - ` in it.
fn split_parts(line: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ' ' if !quoted && at >= begin && line.get(at..).is_some_and(|rest| rest.starts_with(" - ")) => {
                parts.push(line.get(begin..at).unwrap_or_default());
                begin = at + 3;
            }
            _ => {}
        }
    }
    parts.push(line.get(begin..).unwrap_or_default());
    parts
}

/// The subject as the server wrote it, or the subject for the answer.
fn find_subject(detail: &str) -> Option<String> {
    let rest = ["Subject \"", "Reply \""].iter().find_map(|begin| Some(detail.split_once(begin)?.1))?;
    let mut escaped = false;
    let end = rest.find(|c| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })?;
    let whole = rest.get(..end)?;
    let shown: String = whole.chars().filter(|c| !c.is_control()).take(limits::REPEATED_SUBJECT).collect();
    Some(if shown.len() < whole.len() { shown + "…" } else { shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parties() -> Vec<KnownParty> {
        let known = |name: &str, key: &str| KnownParty {
            shown: name.to_owned(),
            account: format!("LISTENER_{name}"),
            key: key.to_owned(),
        };
        vec![known("echo", "UAECHO"), known("other", "UBOTHER")]
    }

    fn told(rest: &str) -> Option<String> {
        let line = format!("[7] 2026/11/21 03:23:28.443966 [ERR] 127.0.0.1:37750 - cid:9 - {rest}");
        read_violation(&line, &parties()).map(|event| [event.what, event.example].concat())
    }

    #[test]
    fn who_was_refused_what_is_read_from_the_line() {
        let by = |rest: &str| told(&format!("\"v2.16.0:python3\" - \"LISTENER_echo/nkey:UAECHO\" - {rest}"));
        assert_eq!(
            by("Publish Violation - Subject \"o.shop.in.other.0\"").unwrap(),
            "echo tried to publish to a forbidden subject, and the broker refused it: o.shop.in.other.0"
        );
        assert_eq!(
            by("Subscription Violation - Subject \"o.>\", SID 1").unwrap(),
            "echo tried to hear a forbidden subject, and the broker refused it: o.>"
        );
        // The form of older servers.
        assert_eq!(
            told("\"v1\" - Publish Violation - Nkey \"UBOTHER\", Subject \"x\"").unwrap(),
            "other tried to publish to a forbidden subject, and the broker refused it: x"
        );
    }

    #[test]
    fn what_a_client_says_of_itself_is_nobodys_name_and_no_secret_is_repeated() {
        let named =
            r#""v1:python3:me - \"LISTENER_other/nkey:UBOTHER\" - Publish Violation - Nkey \"UBOTHER\"""#;
        let rest =
            format!("{named} - \"LISTENER_echo/nkey:UAECHO\" - Publish Violation - Subject \"a\\\"b - c\"");
        assert_eq!(
            told(&rest).unwrap(),
            "echo tried to publish to a forbidden subject, and the broker refused it: a\\\"b - c"
        );
        for detail in ["User \"topsecret\"", "Token \"sesame\"", "Nkey \"UAECHO\""] {
            let words = told(&format!("authentication error - {detail}")).unwrap();
            assert!(words.ends_with("or with one that it does not know"), "{words}");
        }
        assert_eq!(told("authentication error"), told("authentication error - User \"x\""));
    }

    #[test]
    fn what_is_no_refusal_is_none() {
        assert_eq!(told("\"v1:python3:Publish Violation\" - Client parser ERROR"), None);
        assert_eq!(read_violation("[7] 2026/11/21 03:23:28 [INF] Publish Violation - x", &parties()), None);
        let long = format!("\"v1\" - Publish Violation - Subject \"{}\"", "a".repeat(4000));
        assert!(told(&long).unwrap().ends_with("a…") && told(&long).unwrap().len() < 300);
    }
}
