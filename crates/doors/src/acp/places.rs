//! Where an editor is in the runs that are followed for its prompt.

use std::time::Duration;

use axum::http::HeaderMap;

use systole_api::types::ApiReceipt;
use systole_core::types::ports::Position;
use systole_doorway::rpc::RpcFault;
use systole_following::wire_events::ClientPlace;

/// The header of a prompt that was posted before: how many milliseconds ago for the first time.
const AGAIN: &str = "acp-again";
/// The header with the id behind which the editor goes on.
const LAST: &str = "last-event-id";

/// Where an editor is: the record of the message whose run it hears, and its place there.
pub(super) struct KnownPlace {
    pub(super) seq: u64,
    pub(super) said: SaidAnswers,
    pub(super) place: ClientPlace,
}

/// What an editor has of answers that do not count.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct SaidAnswers {
    /// How many of them it has.
    pub(super) retracted: u64,
    /// Whether the next text is another answer.
    pub(super) is_anew: bool,
}

/// The id of a place in the run of a message.
pub(super) fn write_place(seq: u64, said: SaidAnswers, place: &str) -> String {
    let SaidAnswers { retracted, is_anew } = said;
    let mark = if is_anew { "!" } else { "" };
    format!("{seq}.{retracted}{mark}@{place}")
}

fn parse_place(text: &str) -> Option<KnownPlace> {
    let (head, place) = text.split_once('@')?;
    let (seq, retracted) = head.split_once('.')?;
    let (retracted, is_anew) = retracted.strip_suffix('!').map_or((retracted, false), |count| (count, true));
    let said = SaidAnswers { retracted: retracted.parse().ok()?, is_anew };
    Some(KnownPlace { seq: seq.parse().ok()?, said, place: ClientPlace::parse(place).ok()? })
}

impl KnownPlace {
    /// Reads it.
    pub(super) fn read(headers: &HeaderMap) -> Result<Option<KnownPlace>, RpcFault> {
        let Some(sent) = headers.get(LAST) else { return Ok(None) };
        let read = parse_place(sent.to_str().unwrap_or_default());
        let unknown = || RpcFault::refuse_params("Last-Event-ID is not the id of an update");
        read.map(Some).ok_or_else(unknown)
    }
}

/// A run that is followed for a prompt.
pub(super) struct FollowedRun {
    pub(super) receipt: ApiReceipt,
    /// What it did up to there was told before.
    pub(super) told: Position,
}

impl FollowedRun {
    /// A run from its beginning.
    pub(super) fn of_run(receipt: ApiReceipt) -> FollowedRun {
        FollowedRun { receipt, told: Position::default() }
    }
}

/// How long ago a prompt was posted for the first time; `None` for one that was not posted before.
pub(super) fn read_again(headers: &HeaderMap) -> Option<Duration> {
    let sent = headers.get(AGAIN)?.to_str().ok()?;
    sent.parse().map(Duration::from_millis).ok()
}

/// How many events of a session that is loaded the editor has.
pub(super) fn read_count(headers: &HeaderMap) -> usize {
    let sent = headers.get(LAST).and_then(|sent| sent.to_str().ok());
    sent.and_then(|sent| sent.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g13_a_place_says_what_the_editor_has_of_answers_that_do_not_count() {
        let cursor = "2.7.2.00000000";
        for (said, text) in [
            (SaidAnswers::default(), format!("4.0@{cursor}")),
            (SaidAnswers { retracted: 2, is_anew: true }, format!("4.2!@{cursor}~9")),
        ] {
            let place = text.split_once('@').unwrap().1;
            assert_eq!(write_place(4, said, place), text);
            let read = parse_place(&text).unwrap();
            assert_eq!((read.seq, read.said), (4, said));
        }
        for text in ["", "4@1.7.2.00000000", "x.0@1.7.2.00000000", "4.0!!@1.7.2.00000000", "4.0@"] {
            assert!(parse_place(text).is_none(), "{text}");
        }
    }
}
