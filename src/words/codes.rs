//! The one table of codes: what each means, whether the same call, mended, may be sent at once, and
//! the mend. Pages and tests are made from it; nothing else in the house spells a code.

use std::fmt;

macro_rules! codes {
    ($($variant:ident $text:literal $again:literal $meaning:literal;)*) => {
        /// What went wrong, as a name that people, prompts and stored logs depend on.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }
        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];
            /// The code as it is written everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }
            /// Whether the same call, mended, may be sent now.
            pub const fn retry_allowed(self) -> bool {
                match self { $(Code::$variant => $again,)* }
            }
            /// One sentence on what it means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* }
            }
            /// Reads a code; none for a text that is not in the table.
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    NotBuilt "payload.not-built" false "the payload is known, but this version cannot answer it yet";
    Malformed "payload.malformed" true "the bytes are not one well-formed XML document";
    Invalid "payload.invalid" true "the payload does not fit the schema that judges it";
    TooLarge "payload.too-large" true "a size or count limit is passed";
    TooDeep "payload.too-deep" true "elements are nested deeper than the limit";
    ForbiddenNamespace "payload.forbidden-namespace" false "only the pump may send this core payload";
    ForbiddenConstruct "payload.forbidden-construct" true "a DOCTYPE, a processing instruction or another construct that is never taken";
    NoNamespace "payload.no-namespace" true "the payload's root element stands in no namespace";
    Undeclared "payload.undeclared" true "a prefix is used that nothing declares";
    IdConflict "payload.id-conflict" false "the key was used before, with other bytes";
    NoSuchElement "payload.no-such-element" true "no schema here has a root element of this name";
    NotAPeer "route.not-a-peer" true "none of the sender's peers accepts this element";
    Unavailable "route.unavailable" false "the addressee is not part of the running organism";
    Ambiguous "route.ambiguous" true "more than one peer accepts this element; name one with `to`";
    UnknownThread "thread.unknown" true "there is no such thread";
    EndedThread "thread.ended" false "the thread has ended; nothing can be added";
    BusyThread "thread.busy" true "too many messages wait behind the one that is being answered";
    RestingThread "thread.resting" true "the thread rests; there is nothing to steer";
    CancelledThread "thread.cancelled" false "the thread, or the call that waited, was cancelled";
    ThreadLimit "thread.limit" false "no more threads may be opened, or timers set, here";
    DamagedThread "thread.damaged" false "the stored records of this thread do not verify";
    FinalNotAlone "reply.final-not-alone" true "a final must be the only item beside notes";
    StaleLease "reply.stale-lease" false "the reply belongs to a delivery that is over or is not the sender's";
    TooManyItems "reply.too-many-items" true "one reply has more items than the limit";
    FalseSender "reply.false-sender" false "an item gave another's name as its sender's; it went on under the true one";
    ListenerFailed "listener.failed" false "the listener said, or its exit code said, that it failed";
    ListenerTimeout "listener.timeout" false "no reply came before the deadline";
    ListenerLost "listener.lost" false "the listener's process died with the delivery in hand";
    ListenerSilent "listener.silent" false "the listener ended its turn without an answer it owed";
    ListenerDown "listener.down" false "the listener's program does not stay up";
    ListenerThrottled "listener.throttled" false "more of what this listener says is refused than is recorded one by one";
    UnknownOutcome "model.unknown-outcome" false "a model call was begun, and nobody can know what came of it; it may have been paid";
    TokensBudget "budget.tokens" false "the tokens of models that this request may use are used up";
    MoneyBudget "budget.money" false "what models may cost for this request is used up";
    DepthBudget "budget.depth" false "calls and threads are nested deeper than allowed";
    ChildrenBudget "budget.children" false "more children are open than allowed";
    TimeBudget "budget.time" false "the time that this request may take is used up";
    MessagesBudget "budget.messages" false "the turns or messages of this call are used up";
    RepeatedCall "loop.repeated-call" false "the same call was made too often; its answer is known";
    PingPong "loop.ping-pong" false "two parties went round too often without a new payload";
    RejectedApproval "approval.rejected" true "a person said no; the note says why, and a mended payload is asked about again";
    ExpiredApproval "approval.expired" false "no person decided in time";
    DecidedApproval "approval.decided" false "this request for approval has its outcome, or its call is over";
    MismatchedApproval "approval.mismatch" false "the answer is bound to other bytes than those that wait";
    UnknownApproval "approval.unknown" true "there never was such a request for approval";
    UnknownTimer "timer.unknown" true "the sender has set no timer of this id, or it has fired or was cancelled";
    IngressThrottled "ingress.throttled" true "more of this client's messages are refused than are recorded one by one";
    IngressUnavailable "ingress.unavailable" true "nothing can be stored at the moment; send it again later, with the same key";
    IngressForbidden "ingress.forbidden" false "the client has not the role that this needs";
    IngressUnauthorized "ingress.unauthorized" false "the credential is missing or not valid";
    ConfigUnreadable "config.unreadable" false "the organism's file, or one it names, cannot be read as text";
    ConfigSyntax "config.syntax" false "the organism's file is not one plain YAML 1.2 document";
    ConfigUnknownKey "config.unknown-key" false "a key stands where no such key is known";
    ConfigNotBuilt "config.not-built" false "a key or value is known, but this version cannot act on it yet";
    ConfigMissing "config.missing" false "a key that must be there is not";
    ConfigKind "config.kind" false "a text, a list or a map stands where another of the three is expected";
    ConfigValue "config.value" false "a value does not have the form it must have, or passes a limit";
    ConfigDuplicate "config.duplicate" false "a key or a value stands twice";
    ConfigUnknownName "config.unknown-name" false "a name is used that nothing in the file declares";
    ConfigUnknownElement "config.unknown-element" false "no payload of this name is declared: not in the listener's schema, `payloads`, `schemas` or the vocabularies of the house";
    ConfigSchema "config.schema" false "a schema cannot be used: it is not XML, not in the profile or not its author's namespace";
    ConfigOverlap "config.overlap" false "one element could be a note, an answer or a call, or stands in several schemas, so that nobody could tell which";
    ConfigSource "config.source" false "a stored configuration cannot be read back";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        assert_eq!(Code::parse("payload.nonsense"), None);
    }
}
