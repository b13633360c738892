//! The names of an organism's streams and subjects. It knows no broker.
//!
//! A name may have dots, which separate the words of a subject and are not allowed in a stream's name. They are
//! written as `_`, which no name has. So two names never become one, and a subject has as many words as its form
//! says.

use systole_core::types::ids::Name;

/// A name as one word of a subject.
pub fn to_token(name: &Name) -> String {
    name.as_str().replace('.', "_")
}

/// The names of an organism's streams and subjects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerSubjects {
    organism: String,
}

impl BrokerSubjects {
    /// The names for that organism.
    pub fn new(organism: &Name) -> BrokerSubjects {
        BrokerSubjects { organism: to_token(organism) }
    }

    /// The stream for deliveries that are out.
    pub fn bus_stream(&self) -> String {
        format!("SYSTOLE_{}_BUS", self.organism)
    }

    /// Every subject of deliveries.
    pub fn deliveries(&self) -> String {
        format!("o.{}.dlv.*", self.organism)
    }

    /// Deliveries to one listener.
    pub fn name_delivery(&self, listener: &Name) -> String {
        format!("o.{}.dlv.{}", self.organism, to_token(listener))
    }

    /// The subject of the fence before the deliveries to a listener. Each delivery names the fence that it expects;
    /// after a new fence, deliveries for an old one are refused. A name begins with a letter, so no listener hears of
    /// it.
    pub fn name_fence(&self, listener: &Name) -> String {
        format!("o.{}.dlv._fence_{}", self.organism, to_token(listener))
    }

    /// Where a listener sends its words about a delivery, for any partition or for one.
    pub fn name_said(&self, listener: &Name, partition: &str) -> String {
        format!("o.{}.in.{}.{partition}", self.organism, to_token(listener))
    }

    /// Where a client sends its messages. No name has a dot there, so it is never a listener's subject.
    pub fn name_asked(&self, client: &Name) -> String {
        format!("o.{}.in.{}", self.organism, to_token(client))
    }

    /// Where all clients send their messages.
    pub(super) fn all_asked(&self) -> String {
        format!("o.{}.in.*", self.organism)
    }

    /// Where a listener reports progress.
    pub fn name_live(&self, listener: &Name) -> String {
        format!("o.{}.live.{}", self.organism, to_token(listener))
    }

    /// Where a listener hears that an answer is no longer wanted.
    pub fn name_cancels(&self, listener: &Name) -> String {
        format!("o.{}.cancel.{}", self.organism, to_token(listener))
    }

    /// Where the broker reports that the worker of a delivery gave no sign of life.
    pub fn name_silence(&self, listener: &Name) -> String {
        let stream = self.bus_stream();
        format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.{}", to_token(listener))
    }

    /// Where the broker reports that of all listeners.
    pub fn silences(&self) -> String {
        format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{}.*", self.bus_stream())
    }

    /// The stream that keeps those reports.
    pub fn silence_stream(&self) -> String {
        format!("SYSTOLE_{}_SILENCE", self.organism)
    }

    /// The subject for trying the broker. A name begins with a letter, so no listener hears of it.
    pub(super) fn check(&self) -> String {
        format!("o.{}.dlv._check", self.organism)
    }

    /// The stream of the log, if the log is kept at the broker.
    pub fn log_stream(&self) -> String {
        format!("SYSTOLE_{}_LOG", self.organism)
    }

    /// Every subject of that log.
    pub(super) fn logs(&self) -> String {
        format!("o.{}.log.*", self.organism)
    }

    /// The subject of one partition of that log.
    pub(super) fn name_log(&self, partition: u32) -> String {
        format!("o.{}.log.{partition}", self.organism)
    }

    /// The bucket for what is too large for one message of that log.
    pub fn bucket(&self) -> String {
        format!("SYSTOLE_{}_BLOBS", self.organism)
    }

    /// The stream of that bucket.
    pub fn apart_stream(&self) -> String {
        format!("OBJ_{}", self.bucket())
    }

    /// The subject of the description of an object in that bucket.
    pub(super) fn name_object(&self, name: &str) -> String {
        format!("$O.{}.M.{}", self.bucket(), encode_base64url(name.as_bytes()))
    }

    /// The subject of the parts of one stored object.
    pub(super) fn name_parts(&self, put: &str) -> String {
        format!("$O.{}.C.{put}", self.bucket())
    }

    /// Where the owner of a partition shows that it is alive.
    pub fn name_life(&self, partition: u32) -> String {
        format!("o.{}.life.{partition}", self.organism)
    }

    /// The subject that pumps use to share the source of delivery tokens; no listener hears of it.
    pub(super) fn secret(&self) -> String {
        format!("o.{}.dlv._secret", self.organism)
    }

    /// The subject of a follower's mark; no listener hears of it.
    pub fn name_mark(&self, follower: &Name) -> String {
        format!("o.{}.dlv._follower_{}", self.organism, to_token(follower))
    }

    /// Where the broker reports whom it did not let in, if its configuration forwards that here.
    pub fn name_refused(&self) -> String {
        format!("o.{}.refused.*", self.organism)
    }

    /// The prefix of the pump's inboxes. A listener's begin with `_INBOX_LISTENER`, and no name has a `_`.
    pub fn name_inbox(organism: &Name) -> String {
        format!("_INBOX_pump_{}", to_token(organism))
    }

    /// The prefix of an auditor's inboxes.
    pub fn name_auditor_inbox() -> &'static str {
        "_INBOX__auditor"
    }

    /// The prefix of JetStream's interface for an auditor. The broker answers `$JS.API` for the account that asks,
    /// and an auditor's account keeps nothing.
    pub fn name_auditor_api(organism: &Name) -> String {
        format!("JS.{}.API", to_token(organism))
    }
}

/// Bytes as an object store writes a name into a subject: base64 with `-` and `_`, padded with `=`.
fn encode_base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |bits: u32| DIGITS.get(bits as usize & 63).map_or('=', |digit| char::from(*digit));
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            out.push(if at <= three.len() { digit(bits >> (18 - 6 * at)) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_dots_is_one_word() {
        let organism = Name::parse("acme.shop").unwrap();
        let subjects = BrokerSubjects::new(&organism);
        assert_eq!(subjects.bus_stream(), "SYSTOLE_acme_shop_BUS");
        assert_eq!(subjects.deliveries(), "o.acme_shop.dlv.*");
        assert_eq!(subjects.name_delivery(&Name::parse("web.search").unwrap()), "o.acme_shop.dlv.web_search");
        assert_ne!(subjects, BrokerSubjects::new(&Name::parse("acme-shop").unwrap()));
        assert_eq!(BrokerSubjects::name_inbox(&organism), "_INBOX_pump_acme_shop");
        assert_eq!(BrokerSubjects::name_auditor_api(&organism), "JS.acme_shop.API");
        // This is why no name becomes another name's word.
        assert!(Name::parse("acme_shop").is_err());
    }
    #[test]
    fn a_name_is_written_as_an_object_store_writes_it() {
        for (bytes, written) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff, 0xbf], "-_-_"),
        ] {
            assert_eq!(encode_base64url(bytes), written);
        }
    }
}
