//! How streams and subjects of an organism are called. It knows no broker.
//!
//! A name may have dots, which part the words of a subject and may not stand in a stream's name. They are written as `_`,
//! which no name has: so two names never become one, and a subject has as many words as its form says.

use crate::words::ids::Name;

/// A name as one word of a subject.
pub fn token(name: &Name) -> String {
    name.as_str().replace('.', "_")
}

/// What an organism's streams and subjects are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subjects {
    organism: String,
}

impl Subjects {
    /// Those of that organism.
    pub fn of(organism: &Name) -> Subjects {
        Subjects { organism: token(organism) }
    }

    /// The stream that holds deliveries which are out.
    pub fn bus_stream(&self) -> String {
        ["SYSTOLE_", &self.organism, "_BUS"].concat()
    }

    /// Every subject of deliveries.
    pub fn deliveries(&self) -> String {
        ["o.", &self.organism, ".dlv.*"].concat()
    }

    /// Deliveries to one listener.
    pub fn delivery(&self, listener: &Name) -> String {
        ["o.", &self.organism, ".dlv.", &token(listener)].concat()
    }

    /// Where the fence before the deliveries to a listener stands: each says which one it expects, and of a new one the
    /// old ones' deliveries are refused. A name begins with a letter, so no listener hears of it.
    pub fn fence(&self, listener: &Name) -> String {
        ["o.", &self.organism, ".dlv._fence_", &token(listener)].concat()
    }

    /// Where a listener says something about a delivery, of any partition or of one.
    pub fn said(&self, listener: &Name, partition: &str) -> String {
        ["o.", &self.organism, ".in.", &token(listener), ".", partition].concat()
    }

    /// Where a client sends what it has to say. No name has a dot there, so it is none of a listener's.
    pub fn asked(&self, client: &Name) -> String {
        ["o.", &self.organism, ".in.", &token(client)].concat()
    }

    /// Where every client does.
    pub(super) fn all_asked(&self) -> String {
        ["o.", &self.organism, ".in.*"].concat()
    }

    /// Where a listener says how far it is.
    pub fn live(&self, listener: &Name) -> String {
        ["o.", &self.organism, ".live.", &token(listener)].concat()
    }

    /// Where a listener is told that an answer is no longer wanted.
    pub fn cancels(&self, listener: &Name) -> String {
        ["o.", &self.organism, ".cancel.", &token(listener)].concat()
    }

    /// Where the broker says that whoever works on a delivery gave no sign of life.
    pub fn silence(&self, listener: &Name) -> String {
        let stream = self.bus_stream();
        ["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.", &stream, ".", &token(listener)].concat()
    }

    /// The subject under which the broker is tried. A name begins with a letter, so no listener hears of it.
    pub(super) fn check(&self) -> String {
        ["o.", &self.organism, ".dlv._check"].concat()
    }

    /// The stream that the log lies in, where it is kept at the broker.
    pub fn log_stream(&self) -> String {
        ["SYSTOLE_", &self.organism, "_LOG"].concat()
    }

    /// Every subject of that log.
    pub(super) fn logs(&self) -> String {
        ["o.", &self.organism, ".log.*"].concat()
    }

    /// The subject of one partition of that log.
    pub(super) fn log(&self, partition: u32) -> String {
        ["o.", &self.organism, ".log.", &partition.to_string()].concat()
    }

    /// Where what is too large for one message of that log is kept.
    pub fn bucket(&self) -> String {
        ["SYSTOLE_", &self.organism, "_BLOBS"].concat()
    }

    /// Where the pump that has a partition shows that it lives.
    pub fn life(&self, partition: u32) -> String {
        ["o.", &self.organism, ".life.", &partition.to_string()].concat()
    }

    /// The subject under which pumps share what delivery tokens are made from; no listener hears of it.
    pub(super) fn secret(&self) -> String {
        ["o.", &self.organism, ".dlv._secret"].concat()
    }

    /// What the pump's inboxes begin with. A listener's begin with `_INBOX_LISTENER`, and no name has a `_`.
    pub fn inbox(organism: &Name) -> String {
        ["_INBOX_pump_", &token(organism)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_dots_is_one_word() {
        let organism = Name::parse("acme.shop").unwrap();
        let subjects = Subjects::of(&organism);
        assert_eq!(subjects.bus_stream(), "SYSTOLE_acme_shop_BUS");
        assert_eq!(subjects.deliveries(), "o.acme_shop.dlv.*");
        assert_eq!(subjects.delivery(&Name::parse("web.search").unwrap()), "o.acme_shop.dlv.web_search");
        assert_ne!(subjects, Subjects::of(&Name::parse("acme-shop").unwrap()));
        assert_eq!(Subjects::inbox(&organism), "_INBOX_pump_acme_shop");
        // That no name becomes another's word rests on this.
        assert!(Name::parse("acme_shop").is_err());
    }
}
