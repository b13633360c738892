//! What the dealers paid, held against their journals in the log: nothing is paid that no journal tells of,
//! nothing whose result is known is paid again, and the casino pays once. Records and the dealers' book
//! come in, what is wrong goes out.

use std::collections::HashMap;

use systole_checker::record::Record;

/// Where nothing is tried again whose outcome nobody knows.
const ONCE: &str = "casino";

/// What the journals of a log tell of.
#[derive(Default)]
pub struct Deals {
    /// Starts, by the key of the work and the attempt.
    begun: HashMap<(String, u32), u64>,
    /// By the key of the work.
    works: HashMap<String, Work>,
}

/// One turn of a dealer, with all attempts at it.
#[derive(Default)]
struct Work {
    dealer: String,
    results: u64,
}

impl Deals {
    /// Meets a record.
    pub fn see(&mut self, record: &Record) {
        let (Some(call), Some(turn), "journal") = (&record.call, record.turn, record.kind.as_str()) else {
            return;
        };
        let key = [&record.thread, ":", call, ":", &turn.to_string()].concat();
        let work = self.works.entry(key.clone()).or_default();
        work.dealer.clone_from(&record.from);
        match record.code.as_deref() {
            Some("model-result") => work.results += 1,
            _ => *self.begun.entry((key, attempt(&record.body))).or_default() += 1,
        }
    }

    /// Where the book and the journals do not agree. A line of the book is the key of the work and the attempt.
    pub fn wrong(&self, book: &str) -> Vec<String> {
        let (mut paid, mut of_work): (HashMap<(&str, u32), u64>, HashMap<&str, u64>) = Default::default();
        for line in book.lines() {
            let (key, attempt) = line.split_once(' ').unwrap_or((line, ""));
            *paid.entry((key, attempt.parse().unwrap_or(0))).or_default() += 1;
            *of_work.entry(key).or_default() += 1;
        }
        let mut findings = Vec::new();
        for ((key, attempt), times) in paid {
            let begun = self.begun.get(&(key.to_owned(), attempt)).copied().unwrap_or(0);
            if times > begun {
                let of = [key, ", attempt ", &attempt.to_string()].concat();
                let times = [&times.to_string(), " times, and begun ", &begun.to_string(), " times"].concat();
                findings.push(["deals  ", &of, " was paid ", &times].concat());
            }
        }
        for (key, work) in &self.works {
            let results = work.results;
            if results > 1 {
                findings.push(["deals  ", key, " has ", &results.to_string(), " results"].concat());
            }
            let times = of_work.get(key.as_str()).copied().unwrap_or(0);
            if work.dealer == ONCE && times > 1 {
                findings.push(["deals  ", key, " was paid ", &times.to_string(), " times"].concat());
            }
        }
        findings
    }
}

/// The attempt that an entry of a journal belongs to; 0 where it says none, which nobody pays in.
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

    fn entry(from: &str, code: &str, attempt: u32) -> Record {
        let body = ["<journal id=\"2\" attempt=\"", &attempt.to_string(), "\">text</journal>"].concat();
        let record = record("sess-1", "journal", code, &body);
        Record { from: from.into(), call: Some("1/1.0".into()), turn: Some(2), ..record }
    }

    #[test]
    fn a_payment_that_no_journal_tells_of_is_found() {
        let mut deals = Deals::default();
        deals.see(&entry("bank", "model-started", 1));
        assert_eq!(deals.wrong(""), Vec::<String>::new());
        assert_eq!(deals.wrong("sess-1:1/1.0:2 1\n"), Vec::<String>::new());
        let found = deals.wrong("sess-1:1/1.0:2 1\nsess-1:1/1.0:2 2\n");
        assert_eq!(found, ["deals  sess-1:1/1.0:2, attempt 2 was paid 1 times, and begun 0 times"]);
        let found = deals.wrong("sess-1:1/1.0:2 1\nsess-1:1/1.0:2 1\n");
        assert_eq!(found, ["deals  sess-1:1/1.0:2, attempt 1 was paid 2 times, and begun 1 times"]);
    }

    #[test]
    fn what_is_known_to_be_paid_is_not_paid_again_and_the_casino_pays_once() {
        let book = "sess-1:1/1.0:2 1\nsess-1:1/1.0:2 2\n";
        for (dealer, finding) in
            [("market", None), ("casino", Some("deals  sess-1:1/1.0:2 was paid 2 times"))]
        {
            let mut deals = Deals::default();
            deals.see(&entry(dealer, "model-started", 1));
            deals.see(&entry(dealer, "model-started", 2));
            deals.see(&entry(dealer, "model-result", 2));
            assert_eq!(deals.wrong(book), finding.into_iter().collect::<Vec<_>>());
        }
        let mut deals = Deals::default();
        for attempt in [1, 2] {
            deals.see(&entry("market", "model-started", attempt));
            deals.see(&entry("market", "model-result", attempt));
        }
        assert_eq!(deals.wrong(book), ["deals  sess-1:1/1.0:2 has 2 results"]);
    }
}
