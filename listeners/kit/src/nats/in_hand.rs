//! Which deliveries a worker has in hand, and which were called back. A cancel has its own subject, so it may come
//! before its delivery.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use crate::limits;

/// The deliveries of one worker.
#[derive(Default)]
pub(super) struct InHand {
    /// By the sender, a slot hears of a cancel.
    held: HashMap<String, watch::Sender<bool>>,
    called_back: VecDeque<String>,
}

impl InHand {
    /// A slot takes a delivery.
    pub(super) fn add(&mut self, delivery: &str, tell: watch::Sender<bool>) {
        if self.called_back.iter().any(|one| one == delivery) {
            tell.send_replace(true);
        }
        self.held.insert(delivery.to_owned(), tell);
    }

    /// A slot is done with it.
    pub(super) fn remove(&mut self, delivery: &str) {
        self.held.remove(delivery);
    }

    /// Those that are not answered, with commas.
    pub(super) fn name_open(&self) -> String {
        let mut names: Vec<&str> = self.held.keys().map(String::as_str).collect();
        names.sort_unstable();
        names.join(", ")
    }

    /// It is called back.
    pub(super) fn call_back(&mut self, delivery: String) {
        if let Some(tell) = self.held.get(&delivery) {
            tell.send_replace(true);
            return;
        }
        if self.called_back.len() == limits::REMEMBERED {
            self.called_back.pop_front();
        }
        self.called_back.push_back(delivery);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_reaches_its_delivery_before_and_after_it_comes() {
        let mut in_hand = InHand::default();
        let taken = |delivery: &str, in_hand: &mut InHand| {
            let (tell, told) = watch::channel(false);
            in_hand.add(delivery, tell);
            told
        };
        let is_called_back = |mut told: watch::Receiver<bool>| *told.borrow_and_update();
        let late = taken("d1", &mut in_hand);
        in_hand.call_back("d1".to_owned());
        assert!(is_called_back(late));
        in_hand.call_back("d2".to_owned());
        assert!(is_called_back(taken("d2", &mut in_hand)), "its cancel came first");
        assert!(!is_called_back(taken("d3", &mut in_hand)));
        assert_eq!(in_hand.name_open(), "d1, d2, d3");
        in_hand.remove("d3");
        for n in 0..2 * limits::REMEMBERED {
            in_hand.call_back(format!("x{n}"));
        }
        assert_eq!(in_hand.called_back.len(), limits::REMEMBERED);
    }
}
