//! How streams and subjects of an organism are called. It knows no broker.
//!
//! A name may have dots, which part the words of a subject and may not stand in a stream's name. They are written as `_`,
//! which no name has: so two names never become one, and a subject has as many words as its form says.

use systole_core::types::ids::Name;

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
        format!("SYSTOLE_{}_BUS", self.organism)
    }

    /// Every subject of deliveries.
    pub fn deliveries(&self) -> String {
        format!("o.{}.dlv.*", self.organism)
    }

    /// Deliveries to one listener.
    pub fn delivery(&self, listener: &Name) -> String {
        format!("o.{}.dlv.{}", self.organism, token(listener))
    }

    /// Where the fence before the deliveries to a listener stands: each says which one it expects, and of a new one the
    /// old ones' deliveries are refused. A name begins with a letter, so no listener hears of it.
    pub fn fence(&self, listener: &Name) -> String {
        format!("o.{}.dlv._fence_{}", self.organism, token(listener))
    }

    /// Where a listener says something about a delivery, of any partition or of one.
    pub fn said(&self, listener: &Name, partition: &str) -> String {
        format!("o.{}.in.{}.{partition}", self.organism, token(listener))
    }

    /// Where a client sends what it has to say. No name has a dot there, so it is none of a listener's.
    pub fn asked(&self, client: &Name) -> String {
        format!("o.{}.in.{}", self.organism, token(client))
    }

    /// Where every client does.
    pub(super) fn all_asked(&self) -> String {
        format!("o.{}.in.*", self.organism)
    }

    /// Where a listener says how far it is.
    pub fn live(&self, listener: &Name) -> String {
        format!("o.{}.live.{}", self.organism, token(listener))
    }

    /// Where a listener is told that an answer is no longer wanted.
    pub fn cancels(&self, listener: &Name) -> String {
        format!("o.{}.cancel.{}", self.organism, token(listener))
    }

    /// Where the broker says that whoever works on a delivery gave no sign of life.
    pub fn silence(&self, listener: &Name) -> String {
        let stream = self.bus_stream();
        format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.{}", token(listener))
    }

    /// The subject under which the broker is tried. A name begins with a letter, so no listener hears of it.
    pub(super) fn check(&self) -> String {
        format!("o.{}.dlv._check", self.organism)
    }

    /// The stream that the log lies in, where it is kept at the broker.
    pub fn log_stream(&self) -> String {
        format!("SYSTOLE_{}_LOG", self.organism)
    }

    /// Every subject of that log.
    pub(super) fn logs(&self) -> String {
        format!("o.{}.log.*", self.organism)
    }

    /// The subject of one partition of that log.
    pub(super) fn log(&self, partition: u32) -> String {
        format!("o.{}.log.{partition}", self.organism)
    }

    /// Where what is too large for one message of that log is kept.
    pub fn bucket(&self) -> String {
        format!("SYSTOLE_{}_BLOBS", self.organism)
    }

    /// The stream in which that lies.
    pub fn apart_stream(&self) -> String {
        format!("OBJ_{}", self.bucket())
    }

    /// Under which subject it is said what is kept under a name there.
    pub(super) fn kept_as(&self, name: &str) -> String {
        format!("$O.{}.M.{}", self.bucket(), base64url(name.as_bytes()))
    }

    /// The subject of the parts of what was put there in one go.
    pub(super) fn parts(&self, put: &str) -> String {
        format!("$O.{}.C.{put}", self.bucket())
    }

    /// Where the pump that has a partition shows that it lives.
    pub fn life(&self, partition: u32) -> String {
        format!("o.{}.life.{partition}", self.organism)
    }

    /// The subject under which pumps share what delivery tokens are made from; no listener hears of it.
    pub(super) fn secret(&self) -> String {
        format!("o.{}.dlv._secret", self.organism)
    }

    /// Where the broker says whom it did not let in, where its configuration brings that here.
    pub fn refused(&self) -> String {
        format!("o.{}.refused.*", self.organism)
    }

    /// What the pump's inboxes begin with. A listener's begin with `_INBOX_LISTENER`, and no name has a `_`.
    pub fn inbox(organism: &Name) -> String {
        format!("_INBOX_pump_{}", token(organism))
    }

    /// What an auditor's inboxes begin with.
    pub fn inbox_of_auditors() -> &'static str {
        "_INBOX__auditor"
    }

    /// What JetStream's interface is called for an auditor. The broker answers what begins with `$JS.API` for the account
    /// that asks, and an auditor's keeps nothing.
    pub fn api_of_auditors(organism: &Name) -> String {
        format!("JS.{}.API", token(organism))
    }
}

/// Bytes as an object store writes a name into a subject: base64 with `-` and `_`, filled up with `=`.
fn base64url(bytes: &[u8]) -> String {
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
        let subjects = Subjects::of(&organism);
        assert_eq!(subjects.bus_stream(), "SYSTOLE_acme_shop_BUS");
        assert_eq!(subjects.deliveries(), "o.acme_shop.dlv.*");
        assert_eq!(subjects.delivery(&Name::parse("web.search").unwrap()), "o.acme_shop.dlv.web_search");
        assert_ne!(subjects, Subjects::of(&Name::parse("acme-shop").unwrap()));
        assert_eq!(Subjects::inbox(&organism), "_INBOX_pump_acme_shop");
        assert_eq!(Subjects::api_of_auditors(&organism), "JS.acme_shop.API");
        // That no name becomes another's word rests on this.
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
            assert_eq!(base64url(bytes), written);
        }
    }
}
