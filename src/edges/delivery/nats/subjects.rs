//! What the subjects of a listener are called. A name may have dots, and a subject's parts must not: whoever may publish
//! to everything below `a` would else be heard as `a.b` as well. Names come in; subjects go out.

use crate::words::ids::Name;

/// The subjects of one listener of one organism, with an embedded log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subjects {
    /// The stream of deliveries.
    pub(super) stream: String,
    /// The consumer, which has the listener's name.
    pub(super) consumer: String,
    /// Where its deliveries are.
    pub(super) deliveries: String,
    /// Where cancels are.
    pub(super) cancel: String,
    /// Where its progress comes.
    pub(super) live: String,
    /// Where the broker says that a worker gave no sign of life.
    pub(super) silent: String,
    said: String,
}

impl Subjects {
    pub(super) fn of(organism: &Name, listener: &Name) -> Subjects {
        // No name has an underscore.
        let part = listener.as_str().replace('.', "_");
        let stream = crate::edges::nats::stream_of(organism);
        let below = |what: &str| ["o.", organism.as_str(), ".", what, ".", &part].concat();
        Subjects {
            deliveries: below("dlv"),
            cancel: below("cancel"),
            live: below("live"),
            said: below("in"),
            silent: ["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.", &stream, ".", &part].concat(),
            consumer: part,
            stream,
        }
    }

    /// Where its words come, of whatever partition.
    pub(super) fn said(&self) -> String {
        [&self.said, ".*"].concat()
    }

    /// Where the words about a delivery are to go. An embedded log has one partition.
    pub(super) fn reply(&self) -> String {
        [&self.said, ".0"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_listener_lies_below_another() {
        let of = |name: &str| Subjects::of(&Name::parse("shop").unwrap(), &Name::parse(name).unwrap());
        assert_eq!(of("a.b").reply(), "o.shop.in.a_b.0");
        assert_eq!(of("a").said(), "o.shop.in.a.*");
        assert_eq!(of("a.b").consumer, "a_b");
    }
}
