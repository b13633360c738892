//! Orders from outside that were confirmed as carried out: the log must have each of them exactly
//! once. Pure data, and the reading of it from a log.

use std::collections::HashMap;

use systole_checker::record::LogLine;

/// The action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum OrderAction {
    /// A thread was cancelled.
    Cancelled,
    /// A thread at rest was ended.
    Ended,
    /// A waiting request was approved.
    Approved,
    /// A waiting request was rejected.
    Rejected,
    /// A waiting request was amended.
    Amended,
}

impl OrderAction {
    /// The kind and the code of its record.
    const fn mark(self) -> (&'static str, &'static str) {
        match self {
            OrderAction::Cancelled => ("terminal", "thread.cancelled"),
            OrderAction::Ended => ("terminal", "ended"),
            OrderAction::Approved => ("approval", "approved"),
            OrderAction::Rejected => ("approval", "rejected"),
            OrderAction::Amended => ("approval", "amended"),
        }
    }
}

/// An order that was carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DoneOrder {
    /// The thread, or the request for approval.
    pub on: String,
    /// The action.
    pub deed: OrderAction,
}

/// The ends of threads and of requests for approval in a log.
#[derive(Default)]
pub struct OrderEffects {
    told: HashMap<(String, &'static str, &'static str), u64>,
}

impl OrderEffects {
    const ALL: [OrderAction; 5] = [
        OrderAction::Cancelled,
        OrderAction::Ended,
        OrderAction::Approved,
        OrderAction::Rejected,
        OrderAction::Amended,
    ];

    /// Takes a record.
    pub fn see(&mut self, record: &LogLine) {
        let marks = OrderEffects::ALL.map(OrderAction::mark);
        let fits =
            |(kind, code): &&(&str, &str)| record.kind == *kind && record.code.as_deref() == Some(code);
        let Some((kind, code)) = marks.iter().find(fits).copied() else { return };
        let on = match kind {
            "terminal" => record.thread.clone(),
            _ => approval(&record.body),
        };
        *self.told.entry((on, kind, code)).or_default() += 1;
    }

    /// The orders that the log does not have exactly once.
    pub fn missing(&self, orders: &[DoneOrder]) -> Vec<String> {
        let times = |order: &DoneOrder| {
            let (kind, code) = order.deed.mark();
            self.told.get(&(order.on.clone(), kind, code)).copied().unwrap_or(0)
        };
        let wrong = orders.iter().map(|order| (order, times(order))).filter(|(_, times)| *times != 1);
        let words = |(order, times): (&DoneOrder, u64)| {
            let (_, code) = order.deed.mark();
            format!("order  {} was said to be {code}, and is so {times} times", order.on)
        };
        wrong.map(words).collect()
    }
}

/// The id in an `<approval-decided>`.
fn approval(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let id = text.split_once(" id=\"").and_then(|(_, rest)| rest.split_once('"'));
    id.map_or_else(String::new, |(id, _)| id.to_owned())
}

/// A record for tests: they choose its content, and its hashes are dummies.
#[cfg(test)]
pub(crate) fn record(thread: &str, kind: &str, code: &str, body: &str) -> LogLine {
    use systole_checker::record::{RecordHash, RecordId};

    LogLine {
        position: 1,
        thread: thread.into(),
        seq: 1,
        id: RecordId([0; 16]),
        kind: kind.into(),
        from: "core".into(),
        to: None,
        call: None,
        turn: None,
        ordinal: None,
        cause: None,
        key: None,
        origin: None,
        time_ms: 0,
        config: RecordHash([0; 32]),
        code: Some(code.into()),
        seal: systole_checker::record::PartHash::Salt([0; 16]),
        values: Vec::new(),
        head: RecordHash([0; 32]),
        body: body.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_the_log_has_not_or_has_twice_is_found() {
        let order = |on: &str, deed| DoneOrder { on: on.into(), deed };
        let orders = [
            order("sess-1", OrderAction::Cancelled),
            order("sess-2", OrderAction::Ended),
            order("a1", OrderAction::Approved),
            order("a2", OrderAction::Rejected),
        ];
        let mut deeds = OrderEffects::default();
        deeds.see(&record("sess-1", "terminal", "thread.cancelled", "<thread-cancelled/>"));
        deeds.see(&record("sess-2", "terminal", "ended", "<thread-ended/>"));
        let said = |id: &str| format!("<approval-decided id=\"{id}\"/>");
        deeds.see(&record("sess-3", "approval", "approved", &said("a1")));
        assert_eq!(deeds.missing(&orders), ["order  a2 was said to be rejected, and is so 0 times"]);
        deeds.see(&record("sess-3", "approval", "rejected", &said("a2")));
        assert_eq!(deeds.missing(&orders), Vec::<String>::new());
        deeds.see(&record("sess-3", "approval", "approved", &said("a1")));
        assert_eq!(deeds.missing(&orders), ["order  a1 was said to be approved, and is so 2 times"]);
    }
}
