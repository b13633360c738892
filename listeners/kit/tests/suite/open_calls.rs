//! Values kept for open calls: they come out only at the next turn, and only if the reply is known to have been
//! accepted.

use systole_kit::envelope::{Delivered, EnvelopeStamp};
use systole_kit::open_calls::OpenCalls;
use systole_kit::{DocumentLimits, Payload};

fn delivered(call: &str, turn: u32) -> Delivered {
    let payload = Payload::parse(b"<ask xmlns='urn:test'/>", &DocumentLimits::default()).unwrap();
    let stamp = EnvelopeStamp {
        call: call.to_owned(),
        turn,
        delivery: format!("{call}-{turn}"),
        ..EnvelopeStamp::default()
    };
    Delivered { from: "anna".to_owned(), to: None, thread: "t1".to_owned(), stamp, payload }
}

#[test]
fn what_is_kept_comes_out_once_and_at_the_next_turn_alone() {
    let kept = OpenCalls::default();
    kept.keep(&delivered("1", 1), "first");
    kept.keep(&delivered("2", 1), "second");
    assert_eq!(kept.take(&delivered("1", 2)), Some("first"));
    assert_eq!(kept.take(&delivered("1", 2)), None);
    assert_eq!(kept.take(&delivered("2", 3)), None, "a turn is missing between them");
    kept.keep(&delivered("1", 4), "again");
    assert_eq!(kept.take(&delivered("1", 4)), None, "the same turn is another attempt at it");
}

#[test]
fn what_one_of_many_keeps_comes_out_only_if_its_own_reply_was_taken() {
    let kept = OpenCalls::default().one_of_many();
    kept.keep(&delivered("1", 1), "first");
    assert_eq!(kept.take(&delivered("1", 2)), None);
    kept.keep(&delivered("1", 1), "first");
    let other = Delivered {
        stamp: EnvelopeStamp { delivery: "other".to_owned(), ..delivered("1", 1).stamp },
        ..delivered("1", 1)
    };
    kept.mark_taken(&other);
    assert_eq!(kept.take(&delivered("1", 2)), None, "another delivery was taken");
    kept.keep(&delivered("1", 1), "first");
    kept.mark_taken(&delivered("1", 1));
    assert_eq!(kept.take(&delivered("1", 2)), Some("first"));
}

#[test]
fn of_more_calls_than_are_kept_the_one_that_rested_longest_gives_way() {
    let kept = OpenCalls::default();
    for call in 0..1025 {
        kept.keep(&delivered(&call.to_string(), 1), call);
    }
    assert_eq!(kept.take(&delivered("0", 2)), None);
    assert_eq!(kept.take(&delivered("1", 2)), Some(1));
    assert_eq!(kept.take(&delivered("1024", 2)), Some(1024));
}
