//! A call of a view, and what was said in it.

use systole_wire::ask::MessageSpot;

use super::preceding_words::BoughtTokens;
use crate::pump::state::{Call, ItemAnswer, ItemState};
use crate::pump::turn_records;
use crate::types::composition::ViewScope;
use crate::types::ids::{CallPath, Digest, Name, ThreadId};

/// The owner of a view, and its moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewOwner {
    /// The thread.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// Its listener.
    pub listener: Name,
    /// How much the listener sees.
    pub sees: ViewScope,
    /// The last record that counts: the record after which the turn that looks was due.
    pub up_to: u64,
}

/// What was said in one call, turn by turn; the request comes first.
pub(super) struct ViewedCall {
    pub(super) path: CallPath,
    pub(super) caller: Name,
    pub(super) listener: Name,
    /// Whether it is a call of the view's listener, and shown as such.
    pub(super) is_own: bool,
    pub(super) turns: Vec<ViewedTurn>,
    pub(super) bought: BoughtTokens,
}

impl ViewedCall {
    /// The receiver of what was said at that place; `to` is what its record says.
    pub(super) fn find_whom(&self, spot: MessageSpot, to: Option<&Name>) -> Name {
        match spot {
            // A note is for its writer.
            MessageSpot::Said { .. } => to.unwrap_or(&self.listener).clone(),
            _ => self.listener.clone(),
        }
    }
}

/// The records of a turn in the order of the view.
pub(super) type ViewedTurn = Vec<(MessageSpot, u64)>;

/// What is kept of a record that may become a message.
pub(super) struct NotedWords {
    pub(super) from: Name,
    pub(super) to: Option<Name>,
    pub(super) leaf: Digest,
    pub(super) characters: u64,
    pub(super) is_note: bool,
    pub(super) names: Vec<Digest>,
}

/// The position of a call in the order of the view.
pub(super) type CallOrder = (Vec<(u32, u32, u32)>, CallPath);

pub(super) fn make_key(path: &CallPath) -> CallOrder {
    (path.steps(), path.clone())
}

/// What the view shows before the due turn's reply and after what was already told of the call: at first the request,
/// later the last reply with its answers, and the inbox if the due turn has shown it. A refused item has no record of
/// its own.
pub(super) fn turn_before(call: &Call, is_shown: bool) -> ViewedTurn {
    if call.settled == 0 {
        return vec![(MessageSpot::Request, call.request)];
    }
    let turn = call.settled;
    let own = |item: &&ItemState| item.answer != ItemAnswer::Seq(item.seq);
    let items = turn_records::list_items(call).into_iter().filter(own);
    let said = items.map(|item| (MessageSpot::Said { turn, ordinal: item.ordinal }, item.seq));
    let answers =
        turn_records::list_answers(call).map(|(ordinal, seq)| (MessageSpot::Answer { turn, ordinal }, seq));
    let inbox = if is_shown { turn_records::list_inbox(call) } else { Vec::new() };
    said.chain(answers)
        .chain(inbox.into_iter().map(|seq| (MessageSpot::Inbox { turn: turn + 1 }, seq)))
        .collect()
}
