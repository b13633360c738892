//! Compares the dealers' payments with their journals in the log. No payment is without a journal entry, and
//! nothing with a known result is paid again. The casino pays once, and the bank pays again only on a person's
//! decision. Records and the dealers' book come in; errors go out.

use std::collections::HashMap;

use systole_checker::record::LogLine;

/// The dealer that never retries an unknown outcome.
const ONCE: &str = "casino";
/// The dealer whose retries a person decides.
const ASKS: &str = "bank";

/// The content of a log's journals.
#[derive(Default)]
pub struct JournalContent {
    /// Starts, by the key of the work and the attempt.
    begun: HashMap<(String, u32), u64>,
    /// The works by key.
    works: HashMap<String, Work>,
    /// How often a person let a call continue, by its thread and its path.
    words: HashMap<(String, String), u64>,
}

/// One turn of a dealer, with all attempts at it.
#[derive(Default)]
struct Work {
    dealer: String,
    call: (String, String),
    results: u64,
}

impl JournalContent {
    /// Takes a record.
    pub fn see(&mut self, record: &LogLine) {
        let (Some(call), Some(code)) = (&record.call, record.code.as_deref()) else { return };
        let of = (record.thread.clone(), call.clone());
        if (record.kind.as_str(), code) == ("approval", "approved") {
            *self.words.entry(of).or_default() += 1;
            return;
        }
        let (Some(turn), "journal") = (record.turn, record.kind.as_str()) else { return };
        let key = format!("{}:{call}:{turn}", record.thread);
        let work = self.works.entry(key.clone()).or_default();
        (work.dealer, work.call) = (record.from.clone(), of);
        match code {
            "model-result" => work.results += 1,
            _ => *self.begun.entry((key, attempt(&record.body))).or_default() += 1,
        }
    }

    /// The differences between the book and the journals. A line of the book is the key of the work and the
    /// attempt.
    pub fn wrong(&self, book: &str) -> Vec<String> {
        let mut paid: HashMap<(&str, u32), u64> = HashMap::new();
        let mut of_work: HashMap<&str, u64> = HashMap::new();
        for line in book.lines() {
            let (key, attempt) = line.split_once(' ').unwrap_or((line, ""));
            *paid.entry((key, attempt.parse().unwrap_or(0))).or_default() += 1;
            *of_work.entry(key).or_default() += 1;
        }
        let unknown = paid.into_iter().filter_map(|((key, attempt), times)| {
            let begun = self.begun.get(&(key.to_owned(), attempt)).copied().unwrap_or(0);
            let of = format!("{key}, attempt {attempt}");
            (times > begun).then(|| finding(&of, "was paid", times, "was begun", begun))
        });
        let again = self.works.iter().filter_map(|(key, work)| {
            let paid = of_work.get(key.as_str()).copied().unwrap_or(0);
            let may_be = self.may_be_paid(work);
            (paid > may_be).then(|| finding(key, "was paid", paid, "might be", may_be))
        });
        let known = self.works.iter().filter(|(_, work)| work.results > 1);
        let known = known.map(|(key, work)| finding(key, "has results", work.results, "might have", 1));
        unknown.chain(again).chain(known).collect()
    }

    /// How often the work may be paid at most.
    fn may_be_paid(&self, work: &Work) -> u64 {
        match work.dealer.as_str() {
            ONCE => 1,
            ASKS => 1 + self.words.get(&work.call).copied().unwrap_or(0),
            _ => u64::MAX,
        }
    }
}

/// The error in a piece of work, or in an attempt at it.
fn finding(of: &str, does: &str, times: u64, may: &str, most: u64) -> String {
    format!("deals  {of} {does} {times} times, and {may} {most} times")
}

/// The attempt of a journal entry; 0 if it names none, and no dealer pays in attempt 0.
fn attempt(body: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(body);
    let start = text.split('>').next().unwrap_or_default();
    let number = start.split_once(" attempt=\"").and_then(|(_, rest)| rest.split_once('"'));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::orders::record;
    use super::*;

    fn entry(from: &str, code: &str, attempt: u32) -> LogLine {
        let body = format!("<journal id=\"2\" attempt=\"{attempt}\">text</journal>");
        let record = record("sess-1", "journal", code, &body);
        LogLine { from: from.into(), call: Some("1/1.0".into()), turn: Some(2), ..record }
    }

    fn of(entries: &[LogLine]) -> JournalContent {
        let mut deals = JournalContent::default();
        entries.iter().for_each(|entry| deals.see(entry));
        deals
    }

    #[test]
    fn a_payment_that_no_journal_tells_of_is_found() {
        let deals = of(&[entry("market", "model-started", 1)]);
        assert_eq!(deals.wrong(""), Vec::<String>::new());
        assert_eq!(deals.wrong("sess-1:1/1.0:2 1\n"), Vec::<String>::new());
        let found = deals.wrong("sess-1:1/1.0:2 1\nsess-1:1/1.0:2 2\n");
        assert_eq!(found, ["deals  sess-1:1/1.0:2, attempt 2 was paid 1 times, and was begun 0 times"]);
        let found = deals.wrong("sess-1:1/1.0:2 1\nsess-1:1/1.0:2 1\n");
        assert_eq!(found, ["deals  sess-1:1/1.0:2, attempt 1 was paid 2 times, and was begun 1 times"]);
    }

    #[test]
    fn what_is_known_to_be_paid_is_paid_no_second_time() {
        let begun = |attempt| entry("market", "model-started", attempt);
        let known = |attempt| entry("market", "model-result", attempt);
        let book = "sess-1:1/1.0:2 1\nsess-1:1/1.0:2 2\n";
        assert_eq!(of(&[begun(1), begun(2), known(2)]).wrong(book), Vec::<String>::new());
        let found = of(&[begun(1), known(1), begun(2), known(2)]).wrong(book);
        assert_eq!(found, ["deals  sess-1:1/1.0:2 has results 2 times, and might have 1 times"]);
    }

    #[test]
    fn the_casino_pays_once_and_the_bank_again_on_a_word() {
        let begun = |dealer| [entry(dealer, "model-started", 1), entry(dealer, "model-started", 2)];
        let book = "sess-1:1/1.0:2 1\nsess-1:1/1.0:2 2\n";
        let found = ["deals  sess-1:1/1.0:2 was paid 2 times, and might be 1 times"];
        for dealer in ["casino", "bank"] {
            assert_eq!(of(&begun(dealer)).wrong(book), found, "{dealer}");
        }
        let word = LogLine {
            call: Some("1/1.0".into()),
            ..record("sess-1", "approval", "approved", "<approval-decided/>")
        };
        let mut deals = of(&begun("bank"));
        deals.see(&word);
        assert_eq!(deals.wrong(book), Vec::<String>::new());
    }
}
