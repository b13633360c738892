//! The one table of codes: what each code means, whether the corrected call may be sent at once, and the
//! fix. The reference, `explain` and tests are made from it. No other file spells a code.
//!
//! The examples are real messages: tests produce each one and write it to the file.

use std::fmt;

macro_rules! codes {
    ($($variant:ident $text:literal $again:literal $meaning:literal try $fix:literal;)*) => {
        /// What went wrong, as a stable name: people, prompts and stored logs depend on it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }
        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];
            /// The code's text, the same everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }
            /// Whether the corrected call may be sent now.
            pub const fn retry_allowed(self) -> bool {
                match self { $(Code::$variant => $again,)* }
            }
            /// One sentence that says what it means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* }
            }
            /// The fix, for people.
            pub const fn fix(self) -> &'static str {
                match self { $(Code::$variant => $fix,)* }
            }
            /// Reads a code. `None` if the text is not in the table.
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    NotBuilt "payload.not-built" false "the payload is known, but this version cannot answer it yet"
        try "leave it out, or a later version";
    Malformed "payload.malformed" true "the bytes are not one well-formed XML document"
        try "one element, every tag closed, &lt; and &amp; for < and & in text";
    Invalid "payload.invalid" true "the payload does not fit the schema that judges it"
        try "what the refusal gives under `try`; `<describe element=\"…\"/>` tells a listener the whole form";
    TooLarge "payload.too-large" true "a size or count limit is passed"
        try "a smaller payload, or `limits.message` up to 1MiB";
    UnknownFile "payload.file-unknown" true "a file is named, and its bytes were not sent before"
        try "send its bytes first: POST /v1/files, or `systole ask --file PATH`";
    UnfitFile "payload.file-type" true "a file is empty, too large, or not of the type that it is said to have"
        try "a PNG, JPEG, GIF or WebP picture, or a PDF, of at most 8 MiB";
    TooDeep "payload.too-deep" true "elements are nested deeper than the limit"
        try "fewer levels: a list of parts in place of parts within parts";
    ForbiddenNamespace "payload.forbidden-namespace" false "only the pump may send this core payload"
        try "a payload of your own or of a peer; of the core's only the primitives may be sent";
    ForbiddenConstruct "payload.forbidden-construct" true "a DOCTYPE, a processing instruction or another construct that is never allowed"
        try "plain elements, attributes and text, without what the refusal names";
    NoNamespace "payload.no-namespace" true "the payload's root element is in no namespace"
        try "xmlns=\"…\" on the root element, with the targetNamespace of the schema";
    Undeclared "payload.undeclared" true "a prefix is not declared"
        try "xmlns:PREFIX=\"…\" on the root element, or no prefix";
    IdConflict "payload.id-conflict" false "the key was used before, with other bytes"
        try "another key for another payload; the same bytes for the same key";
    NoSuchElement "payload.no-such-element" true "no schema here has a root element of this name"
        try "one of the elements that the refusal lists";
    NotAPeer "route.not-a-peer" true "none of the sender's peers accepts this element"
        try "an element that the refusal lists; or the listener under `peers` of its sender, or `entry: true`";
    Unavailable "route.unavailable" false "the addressee is not part of the running organism"
        try "the listener back in the file, and a new start";
    Ambiguous "route.ambiguous" true "more than one peer accepts this element; name one with `to`"
        try "an envelope with `<to>`, `send --to`, or `broadcast:` in the file";
    UnknownThread "thread.unknown" true "there is no such thread"
        try "`systole ps` lists the threads; `<thread>new</thread>` opens one; a listener spawns its own";
    EndedThread "thread.ended" false "the thread has ended; nothing can be added"
        try "a new thread: send it without `--thread`";
    BusyThread "thread.busy" true "too many messages wait behind the one that is being answered"
        try "wait for an answer, then send it again";
    RestingThread "thread.resting" true "the thread rests; there is nothing to steer"
        try "an ordinary payload, which opens the next call";
    UnpausedThread "thread.not-paused" false "the thread, the schedule, or everything, is not paused; there is nothing to resume"
        try "`systole ps` shows what is paused";
    ClosedCall "thread.call-over" false "the call of the thread is not open: it has its outcome, or never came"
        try "`systole tree THREAD`, which shows its calls";
    CancelledThread "thread.cancelled" false "the thread, or a call of it, was cancelled"
        try "a new thread; what is recorded can be read with `systole log`";
    ThreadLimit "thread.limit" false "no more threads may be opened, or timers set, here"
        try "end or cancel what is open; or a child thread for further work";
    DamagedThread "thread.damaged" false "the stored records of this thread do not verify"
        try "`systole doctor` says how far the damage goes; then a backup";
    FinalNotAlone "reply.final-not-alone" true "a final must be the only item beside notes"
        try "the final in a reply of its own, once every other item is answered";
    StaleLease "reply.stale-lease" false "the reply belongs to a delivery that is over or is not the sender's"
        try "nothing: the turn was settled without it; a longer `timeout` if that came too early";
    TooManyItems "reply.too-many-items" true "one reply has more items than the limit"
        try "fewer items at once, the rest in the next turn";
    FalseSender "reply.false-sender" false "an item named another sender; it was sent on under the true name"
        try "an envelope without `<from>`";
    WrongSubject "reply.wrong-subject" true "a message came on the wrong subject"
        try "the subject that the delivery's Systole-Reply header names; that of progress takes `<progress>` alone";
    ListenerFailed "listener.failed" false "the listener said that it failed, exited with an error, or answered with something invalid"
        try "what the listener says on stderr; `systole why THREAD` shows it";
    ListenerTimeout "listener.timeout" false "no reply came before the deadline"
        try "a longer `timeout` for the listener, or `<progress>` and `idle`";
    ListenerLost "listener.lost" false "the listener's process died while it worked on the delivery"
        try "what the program says on stderr before it dies; `systole why THREAD` shows it";
    ListenerSilent "listener.silent" false "the listener ended its turn without an answer it owed"
        try "an answer in every reply that owes one, or a `<failure>`";
    ListenerDown "listener.down" false "the listener's program does not stay up"
        try "run its program by hand, as the file has it; it is started again within 30 s";
    ListenerThrottled "listener.throttled" false "so many messages of this listener are refused that some are only counted"
        try "the program's output: it repeats the same mistake";
    UnknownOutcome "model.unknown-outcome" false "a model call was begun, and its result is unknown; it may have been paid"
        try "`on_unknown: retry` asks again; with `ask`, `systole approve ID` tries once more and `systole reject ID` closes the call";
    TokensBudget "budget.tokens" false "the tokens of models that this request may use are used up"
        try "a higher `budgets.tokens`, or less work in one message";
    MoneyBudget "budget.money" false "what models may cost for this request is used up"
        try "a higher `budgets.money`, or less work in one message";
    RequestsBudget "budget.requests" false "the requests to models that this message may make are used up"
        try "a higher `budgets.requests`, or less work in one message";
    DepthBudget "budget.depth" false "calls and threads are nested deeper than allowed"
        try "fewer calls within calls, or a higher `budgets.depth`";
    ChildrenBudget "budget.children" false "more children are open than allowed"
        try "wait for children to end, or a higher `budgets.children`";
    TimeBudget "budget.time" false "the time that this request may take is used up"
        try "a longer `budgets.wall`, or less work in one message";
    MessagesBudget "budget.messages" false "the turns or messages of this call are used up"
        try "a higher `budgets.messages` or `turns`, or fewer calls";
    RepeatedCall "loop.repeated-call" false "the same call was made too often; its answer is known"
        try "read the answer that is there, or ask for something else";
    PingPong "loop.ping-pong" false "two parties called each other too often without a new payload"
        try "end with a final, or bring something new";
    RejectedApproval "approval.rejected" true "a person said no; the note says why, and a fixed payload is asked about again"
        try "what the note says, in a new payload";
    ExpiredApproval "approval.expired" false "no person decided in time"
        try "send it again when a person is there; `approval.expires` waits longer";
    DecidedApproval "approval.decided" false "this request for approval has its outcome, or its call is over"
        try "nothing: `systole approve` lists what still waits";
    MismatchedApproval "approval.mismatch" false "the answer is bound to other bytes than those that wait"
        try "look at what waits now, then decide with its hash";
    UnknownApproval "approval.unknown" true "there never was such a request for approval"
        try "`systole approve` lists what waits";
    WrongRequestKind "approval.wrong-kind" false "an approval is approved, rejected or amended, and a question is answered by `choose`"
        try "the command that the refusal names";
    InvalidChoice "question.invalid-choice" true "the answer does not fit the question: it is not one of the choices, or is missing"
        try "one of the choices that the refusal lists; a note if there are none";
    UnknownTimer "timer.unknown" true "the sender has set no timer of this id, or it has fired or was cancelled"
        try "the id that `<timer-set>` gave";
    UnknownSchedule "schedule.unknown" true "the running organism has no schedule of this name"
        try "`systole schedules` lists them; a schedule begins when the organism runs with it";
    BusySchedule "schedule.overlap" true "what the schedule sent last is still at work"
        try "wait until its thread is answered, or `systole cancel` ends that";
    UnfitReload "reload.unfit" true "the configuration cannot be taken over while the organism runs"
        try "correct what the refusal names; `systole stop`, then `systole run`, if a key needs it";
    ChangedReload "reload.changed" true "the configuration is another one than the one that was looked at"
        try "look at it again, then decide";
    IngressRate "ingress.rate" true "this client has sent as much as the file allows in a time"
        try "wait as long as `Retry-After` says, then send it again with the same key; `clients.NAME.rate` is the limit";
    IngressQueue "ingress.queue" true "as many calls of this client wait for that listener as the file allows"
        try "wait until some are done, then send it again with the same key; `limits.queue` is the limit";
    IngressThrottled "ingress.throttled" true "so many messages of this client are refused that some are only counted"
        try "wait as long as `Retry-After` says, and fix what is refused";
    IngressUnavailable "ingress.unavailable" true "nothing can be stored at the moment; send it again later, with the same key"
        try "the same payload with the same key, a little later";
    IngressForbidden "ingress.forbidden" false "the client lacks the role that this needs"
        try "the role under `clients.NAME.roles`, or a client that has it";
    IngressUnauthorized "ingress.unauthorized" false "the credential is missing or not valid"
        try "`Authorization: Bearer TOKEN`, with the token of the run file or of `token_env`";
    RetryNotFailed "retry.not-failed" false "the last call of the thread has not failed: it is at work, it was answered, or it was tried again already"
        try "nothing: `systole ps` shows how the thread stands";
    RetrySettled "retry.settled" false "the last reply of the listener was taken, and it is what failed; no turn is left to go out again"
        try "`systole retry THREAD --anew`, which sends the request once more, as a new thread";
    RetrySuperseded "retry.superseded" false "a later message opened a call in the thread, or the request was sent anew; the failed call stays closed"
        try "`systole retry THREAD --anew`, which sends the request once more, as a new thread";
    RetryDecided "retry.decided" false "a person ended it: rejected, stopped or cancelled it, or ended the thread"
        try "`systole retry THREAD --anew`, if the person agrees; it sends the request once more, as a new thread";
    RetrySpent "retry.spent" false "a budget, the turns or the loop limit of the request ended it, and these are still used up"
        try "a higher limit in the file, then `systole retry THREAD --anew`";
    RetryMoved "retry.moved" false "the thread has more records than the preview that was confirmed"
        try "the preview once more, which shows the thread as it stands now";
    RetryEffects "retry.effects" false "what would start again may have had effects outside already, and they could happen twice"
        try "look whether it happened; `systole retry --again-with-effects` does it nevertheless, and records that";
    BusUnreachable "bus.unreachable" false "the broker is not there, or does not answer"
        try "a nats-server that runs at that address, and a way there from here";
    BusForbidden "bus.forbidden" false "the broker refuses the pump's login, or an action that the pump needs"
        try "credentials that the broker's configuration has, with the rights that the pump needs";
    BusUnfit "bus.unfit" false "the broker cannot be relied on: it is too old, has no JetStream, or has a foreign stream under the name of ours"
        try "what the message says; nats-server 2.12 or newer, with JetStream";
    BusDown "bus.down" false "the broker that the organism starts itself does not run"
        try "what the message says; nats-server 2.12 or newer on PATH";
    BusViolation "bus.violation" false "the broker refused an action that was not allowed, or a login"
        try "in the listener its own subjects, inbox prefix and key; `systole permissions` shows them";
    ProofMissing "proof.missing" false "a checkpoint of the log is not signed or not stored, or lacks what a witness of `proof.to` adds"
        try "what the message says; the next checkpoint tries it again";
    ConfigUnreadable "config.unreadable" false "the organism's file, or one it names, cannot be read as text"
        try "the path of a file that this user may read, saved as UTF-8";
    ConfigSyntax "config.syntax" false "the organism's file is not one plain YAML 1.2 document"
        try "plain YAML: blanks to indent, quotes around special signs, no anchors, aliases or tags";
    ConfigUnknownKey "config.unknown-key" false "a key is not known at its place"
        try "the nearest key, which the diagnostic names; docs/reference/organism-file.md has them all";
    ConfigMissing "config.missing" false "a required key is missing"
        try "the key, as the diagnostic shows it";
    ConfigKind "config.kind" false "a text, a list or a map is used where another of the three is expected"
        try "a value of the kind that the diagnostic names";
    ConfigValue "config.value" false "a value does not have the form it must have, or passes a limit"
        try "a value of the form that the diagnostic shows";
    ConfigDuplicate "config.duplicate" false "a key or a value appears twice"
        try "one of the two";
    ConfigUnknownName "config.unknown-name" false "a name is used that nothing in the file declares"
        try "a name that the file declares; the diagnostic shows the nearest";
    ConfigUnknownElement "config.unknown-element" false "no payload of this name is declared: not in the listener's schema, `payloads`, `schemas` or Systole's own vocabularies"
        try "a payload that is declared; the diagnostic shows the nearest";
    ConfigSchema "config.schema" false "a schema cannot be used: it is not XML, not in the profile or not its author's namespace, or a JSON Schema that is not JSON"
        try "what the diagnostic says of that line of the schema";
    ConfigOverlap "config.overlap" false "one element could be a note, an answer or a call, or is declared in several schemas, so that it is ambiguous"
        try "different elements for an answer, a call and a note";
    ConfigUnpinned "config.unpinned" false "an MCP server is not pinned or not installed, or something else is than the file and its pin name"
        try "systole mcp pin NAME, which asks the server for its tools and shows what changed";
    ConfigSource "config.source" false "a stored configuration cannot be read back"
        try "the version that wrote it, or a backup of the log";
    ConfigUnreached "config.unreached" false "a listener that no one can send to, or an organism that takes nothing from outside"
        try "`entry: true`, or its name under `peers` of its sender";
    ConfigUnusedElement "config.unused-element" false "a root element of a schema that no listener accepts or returns"
        try "the element under `accepts` or `returns` of a listener, or out of the schema";
    ConfigUnreadAnswer "config.unread-answer" false "a listener returns something, but no caller waits for its answer"
        try "leave `returns` out, or name the listener under `peers` of its caller";
    ConfigSeveralTakers "config.several-takers" false "an element may go to several listeners, and nothing says to which"
        try "`broadcast:` for it, or `<to>` in every item and message";
    ConfigShadowed "config.shadowed" false "an element of the file replaces Systole's own element of that name, for every listener that names it"
        try "another name for the element; without it, Systole's own element is meant";
    ConfigCircle "config.circle" false "listeners can call each other in a circle, which only the default budgets end"
        try "`budgets:` with the numbers that you mean";
    ConfigPrompt "config.prompt" false "parts of a prompt that may be a mistake: an empty section, no identity, markup of the protocol, invisible characters"
        try "the text as the model should read it";
    ConfigScript "config.script" false "a script has answers that no agent ever gives"
        try "the name of an agent; `say` with the action as XML instead of `call`";
    ConfigUnpriced "config.unpriced" false "a model without a price is used although there is a budget of money, which counts only what has a price"
        try "`price:` of the model; 0 if it costs nothing";
    ConfigForcedTool "config.forced-tool" false "a model must call a tool although it reasons first, which some providers refuse, or in every request, so that it never gives a final"
        try "`tool_choice: auto`, or a model without `thinking`; no forced call in `params`";
    ConfigSmallBudget "config.small-budget" false "a budget of tokens or money has no room for three requests of an agent to its model, by what each keeps until its answer is there"
        try "a larger budget, or a smaller `max_output` of the model";
    ConfigSkippedGoal "config.skipped-goal" false "a condition of a workflow compares the output of a goal that may be skipped; then the condition does not hold"
        try "the same `when` at the step that has the condition, if that is not meant";
    ConfigSandbox "config.sandbox" false "a folder of a sandbox is not there, or contains what must stay outside of it"
        try "a folder of its own, without anything that the organism is made of";
    ConfigSharedFolder "config.shared-folder" false "a program may write a folder of the system, of a person or of many programs"
        try "a folder for this program alone, as ./out";
    ConfigHiddenSdk "config.hidden-sdk" false "a program imports the SDK in ./sdk, and its sandbox does not let it read that folder"
        try "sandbox: {read: [./sdk]}";
    ConfigNoSandbox "config.no-sandbox" false "a program is to run in a sandbox, and this machine has none"
        try "a kernel with Landlock (Linux 5.13 or newer), or `sandbox: none`; systole doctor tries what is there";
}

/// An example message for each code: the text below `== CODE ==`, up to the next such line.
const EXAMPLES: &str = include_str!("examples.txt");

impl Code {
    /// The family: the part before the dot.
    pub fn family(self) -> &'static str {
        self.as_str().split('.').next().unwrap_or_default()
    }

    /// Whether an attempt that ended with it may have done its work all the same.
    pub const fn leaves_unknown(self) -> bool {
        matches!(self, Code::ListenerLost | Code::ListenerTimeout | Code::UnknownOutcome)
    }

    /// An example message with this code, as a test produced it.
    pub fn example(self) -> Option<&'static str> {
        let head = format!("== {} ==\n", self.as_str());
        let (_, after) = EXAMPLES.split_once(&head)?;
        Some(after.split("\n== ").next().unwrap_or_default().trim_end())
    }

    /// Whether it is a warning. A warning stops nothing; it points at a possible mistake in the file.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Code::ConfigUnreached
                | Code::ConfigUnusedElement
                | Code::ConfigUnreadAnswer
                | Code::ConfigSeveralTakers
                | Code::ConfigShadowed
                | Code::ConfigCircle
                | Code::ConfigPrompt
                | Code::ConfigScript
                | Code::ConfigUnpriced
                | Code::ConfigForcedTool
                | Code::ConfigSmallBudget
                | Code::ConfigSkippedGoal
                | Code::ConfigSharedFolder
                | Code::ConfigHiddenSdk
        )
    }
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
