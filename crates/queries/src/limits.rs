//! The limits of the questions: how much of a log each reads and remembers, and how much it shows.

pub(crate) use systole_core::types::limits::{
    LOG_PAGE, LOG_PAGE_FIRST, QUEUE_CALLS, WAIT_MOST_MS, is_queued, is_with_broker,
};
pub(crate) use systole_log::limits::KNOWN_THREADS;
pub(crate) use systole_show::limits::{INDENT, NAME_COLUMNS};

// What is read

/// The newest records that a question about a whole log reads: some seconds.
pub const NEWEST_RECORDS: u64 = 50_000;
/// The newest records that are searched for the state of listeners and the last start.
pub(crate) const RECENT_RECORDS: u64 = 4096;
/// The newest records that are searched for the messages of an edge.
pub const EDGE_RECORDS: u64 = 20_000;
/// Calls with effects outside that a preview of a retry names.
pub(crate) const EFFECTS_NAMED: usize = 10;
/// Threads below a step that are searched for what it changed.
pub(crate) const STEP_THREADS: usize = 1_000;
/// Bytes of the changes of a step that are shown with its output: one change set has at most 900 KiB.
pub(crate) const STEP_CHANGES_BYTES: usize = 1 << 20;
/// Hex digits of the proof in the key of a request that is sent anew: 64 bits are not guessed.
pub(crate) const PROOF_DIGITS: usize = 16;
/// Roots that are looked at because they have the request of one root anew.
pub(crate) const SENT_ANEW: usize = 1_000;
/// Records before the end of a thread that are searched for its order: those of one commit.
pub(crate) const COMMIT_RECORDS: u64 = 256;
/// Records of one tree: a few seconds of reading, more than a person reads on a screen.
pub(crate) const TREE_RECORDS: u64 = 200_000;
/// Records of a tree whose lanes are drawn.
pub const LANE_RECORDS: usize = 20_000;
/// Threads of a tree whose lanes are drawn.
pub const LANE_THREADS: usize = 500;
/// Records of a thread that are compared with those of another.
pub const COMPARED_RECORDS: usize = 2_000;
/// Lines of a part that is compared line by line: a longer one is shown as replaced.
pub(crate) const COMPARED_LINES: usize = 600;
/// Lines that an edit may name: no file that is edited has more.
pub(crate) const EDIT_LINES: usize = 2_000_000;
/// Links of one chain: a call has at most a thousand turns, and each adds one.
pub(crate) const CHAIN_LINKS: usize = 100_000;
/// Threads of one tree that is read for its cost.
pub(crate) const COST_THREADS: usize = 100_000;
/// Threads below a run that are looked at one by one.
pub(crate) const RUN_THREADS: usize = 10_000;
/// Threads of a tree that are looked at.
pub(crate) const PART_THREADS: usize = 64;
/// Requests without a decision that are looked at for one part.
pub(crate) const LOOKED_AT: usize = 2_000;
/// Threads that are looked at for the newest roots: children are between them.
pub(crate) const ROOTS_LOOKED_AT: usize = 10_000;
/// Threads with one beginning: if more match, it was too short.
pub(crate) const BEGINNINGS: usize = 1000;
/// Newest records of a thread that are searched for its outcome, and for refusals.
pub(crate) const OUTCOME_RECORDS: usize = 128;
/// Records of one span of the search file, which are read at once.
pub(crate) const SEARCH_SPAN: usize = 128;
/// Positions per question to the search file.
pub(crate) const SEARCH_HITS: usize = 256;
/// Characters of a word that count: longer ones are mostly encoded bytes.
pub(crate) const WORD_LETTERS: usize = 64;
/// The newest refusals that are kept.
pub(crate) const KEPT_REFUSALS: usize = 100;
/// Pairs of code and listener that are told apart.
pub(crate) const TROUBLE_PAIRS: usize = 200;
/// Ways that are told apart: names are few, but a log may have had a thousand clients.
pub(crate) const WAYS: usize = 1000;
/// Milliseconds after its expiry that a request may be decided, as a clock was set: a day.
pub(crate) const CLOCK_MS: u64 = 86_400_000;

/// Milliseconds of an hour, for which the index has sums.
pub(crate) const HOUR_MS: u64 = 3_600_000;

// What is shown of a payload

/// Columns of a payload, or of the words of a first cause: a few lines of a terminal.
pub const GLANCE_COLUMNS: usize = 400;
/// Fields of a payload.
pub(crate) const GLANCE_FIELDS: usize = 64;
/// Bytes of one value: of the rest only the size is kept.
pub(crate) const VALUE_BYTES: usize = 4 * GLANCE_COLUMNS;
/// Columns of the name of an element or a lane.
pub(crate) const ELEMENT_COLUMNS: usize = 40;
/// Columns below which no value is cut while whole fields can be left out.
pub(crate) const SHORT_COLUMNS: usize = 16;
/// Columns of an answer or an output: two lines.
pub(crate) const OUTPUT_COLUMNS: usize = 200;
/// Columns of the message from outside: some lines of a terminal.
pub const REQUEST_COLUMNS: usize = 280;
/// Lines for the words of one record, of a part of a refusal, of a failure.
pub(crate) const WORD_LINES: usize = 3;
/// Equal lines that are shown before and after a difference.
pub const LINES_AROUND: usize = 2;
/// Lines of a difference that are shown.
pub(crate) const DIFFERENCE_LINES: usize = 60;
/// Digits of a hash that are enough to name it.
pub(crate) const HASH_DIGITS: usize = 12;

// Lists and columns

/// Candidates that are named.
pub(crate) const NAMED_BEGINNINGS: usize = 8;
/// Ways that are shown on a screen.
pub(crate) const NAMED_WAYS: usize = 12;
/// Records and models of one turn on a screen.
pub(crate) const NAMED_OF_TURN: usize = 6;
/// Children that are named below a root.
pub(crate) const NAMED_CHILDREN: usize = 64;
/// Columns at the end of a line among which a blank breaks it.
pub(crate) const BREAK_COLUMNS: usize = 24;
/// Columns of a thread's id when records of several threads are shown.
pub(crate) const THREAD_COLUMNS: usize = 20;
/// Columns of the id of a root.
pub(crate) const ROOT_COLUMNS: usize = 17;
/// Columns of the id of a child, and of a step's name with its indent.
pub(crate) const CHILD_COLUMNS: usize = 28;
/// Columns of a state.
pub(crate) const STATE_COLUMNS: usize = 9;
/// Columns of a duration.
pub(crate) const SINCE_COLUMNS: usize = 9;
/// Columns that words need to fit on the line of their thread.
pub(crate) const WORDS_COLUMNS: usize = 30;
/// Columns for the words of a wait.
pub(crate) const WAIT_COLUMNS: usize = 120;
/// Columns for a tree's lines on the left, so that words have room on the right.
pub(crate) const TREE_COLUMNS: usize = 32;
/// The indent of continued lines of a trail.
pub(crate) const TRAIL_INDENT: usize = 6;

// Pictures, in units of their drawing

/// The gap between two columns of boxes.
pub(crate) const GRAPH_GAP: usize = 72;
/// The gap between two boxes of a column.
pub(crate) const GRAPH_ROOM: usize = 22;
/// The height of a lane, and the space inside a box.
pub(crate) const GRAPH_LANE: usize = 12;
/// The margin around everything.
pub(crate) const GRAPH_MARGIN: usize = 20;
/// The width of a letter in the fonts, with some reserve.
pub(crate) const GRAPH_LETTER: usize = 8;
/// The height of a line.
pub(crate) const GRAPH_LINE: usize = 18;
/// Letters of a line of a box: a longer one is cut; its title has the whole text.
pub(crate) const GRAPH_COLUMNS: usize = 44;
/// The whole width of lanes, in hundredths of a percent.
pub(crate) const LANES_WIDTH: u64 = 10_000;
/// The least width of a bar.
pub(crate) const LANE_BAR: u64 = 15;
/// The height of a name.
pub(crate) const LANE_NAME: u64 = 18;
/// The height of a row of bars below it.
pub(crate) const LANE_ROW: u64 = 16;
/// The gap between lanes.
pub(crate) const LANE_GAP: u64 = 8;
/// The height of the axis.
pub(crate) const LANE_AXIS: u64 = 22;
/// Rows of bars of one lane: more calls at once share the last row.
pub(crate) const LANE_ROWS: usize = 8;
/// Bars of a picture: the table has all.
pub(crate) const LANE_BARS: usize = 4_000;
/// Parts of the axis.
pub(crate) const LANE_PARTS: u64 = 4;
/// Parts of the working time of which a wait may fill one.
pub(crate) const WAIT_SHARE: u64 = 6;
/// Items of one part of a long answer at most.
pub(crate) const MOST_ENTRIES: usize = 1_000;
