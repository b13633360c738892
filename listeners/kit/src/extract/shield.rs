//! Code in the content of a block, as far as it keeps the block from ending: fences, and backticks in one line.
//!
//! Quoted markup is still markup for XML; only the end tag of the block itself does not count. Code belongs to the
//! element in whose text it begins, and ends with that element. So a fence that is only half inside a value protects
//! nothing around it. This module never removes text. Bytes come in; whether code is open goes out.

/// An open fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShieldFence {
    sign: u8,
    length: usize,
    /// The number of open elements around its text.
    depth: usize,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEdge {
    /// Only this many blanks so far.
    Start(usize),
    /// This many characters that may become a fence.
    Run { sign: u8, length: usize },
    /// The text after three or more such characters.
    Tail { sign: u8, length: usize, is_blank: bool },
    /// Text.
    Line,
}

/// The code that is open at this point of a block.
#[derive(Debug, Clone)]
pub(super) struct CodeShield {
    edge: LineEdge,
    fence: Option<ShieldFence>,
    /// A fence whose element ended before the fence did. A bare line of its characters closes it and opens none.
    orphan: Option<(u8, usize)>,
    /// The backticks in a row at this point.
    run: usize,
    /// Whether a letter or digit comes right before them.
    in_word: bool,
    /// The number of backticks that opened the code in this line; 0 if none is open.
    ticks: usize,
}

impl CodeShield {
    /// The state at the beginning of a text.
    pub(super) fn new() -> Self {
        Self { edge: LineEdge::Start(0), fence: None, orphan: None, run: 0, in_word: false, ticks: 0 }
    }

    /// Whether the next bytes have no meaning until a backtick or a line break comes.
    pub(super) fn is_calm(&self) -> bool {
        self.edge == LineEdge::Line && self.run == 0
    }

    /// Whether there are only blanks since the beginning of the line or the previous tag.
    pub(super) fn is_at_edge(&self) -> bool {
        matches!(self.edge, LineEdge::Start(_))
    }

    /// Whether a fence is open.
    pub(super) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// The number of backticks that opened the code in this line; 0 if none is open.
    pub(super) fn ticks(&self) -> usize {
        self.ticks
    }

    /// Reads a byte of text inside `depth` elements.
    pub(super) fn feed(&mut self, byte: u8, depth: usize) {
        match self.edge {
            LineEdge::Line => self.begin_line(byte),
            LineEdge::Start(blanks) => match byte {
                b' ' if blanks < 3 => self.edge = LineEdge::Start(blanks + 1),
                b'`' | b'~' => self.edge = LineEdge::Run { sign: byte, length: 1 },
                b'\n' => self.edge = LineEdge::Start(0),
                b'\r' => {}
                _ => self.begin_line(byte),
            },
            LineEdge::Run { sign, length } if byte == sign => {
                self.edge = LineEdge::Run { sign, length: length + 1 };
            }
            LineEdge::Run { sign, length } if length < 3 => {
                self.run = if sign == b'`' { length } else { 0 };
                self.begin_line(byte);
            }
            LineEdge::Run { sign, length } => self.read_tail(sign, length, true, byte, depth),
            LineEdge::Tail { sign, length, is_blank } => self.read_tail(sign, length, is_blank, byte, depth),
        }
    }

    fn begin_line(&mut self, byte: u8) {
        self.edge = LineEdge::Line;
        if byte == b'`' {
            self.run += 1;
            return;
        }
        // A backtick between two letters is an apostrophe.
        if self.run == 1 && self.in_word && byte.is_ascii_alphanumeric() {
            self.run = 0;
        }
        self.end_run();
        self.in_word = byte.is_ascii_alphanumeric();
        if byte == b'\n' {
            (self.edge, self.ticks) = (LineEdge::Start(0), 0);
        }
    }

    /// Sets which byte comes before the next one, after bytes without meaning were passed over.
    pub(super) fn skip_to(&mut self, byte: Option<u8>) {
        self.in_word = byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run > 0 && self.ticks == 0 {
            self.ticks = run;
        } else if run == self.ticks {
            self.ticks = 0;
        }
    }

    fn read_tail(&mut self, sign: u8, length: usize, is_blank: bool, byte: u8, depth: usize) {
        match byte {
            b'\n' => {
                self.settle_fence(sign, length, is_blank, depth);
                (self.edge, self.ticks) = (LineEdge::Start(0), 0);
            }
            // A fence of backticks has none after them, so this is code in a line.
            b'`' if sign == b'`' => {
                self.run = length;
                self.end_run();
                self.begin_line(byte);
            }
            _ => {
                let is_blank = is_blank && byte.is_ascii_whitespace();
                self.edge = LineEdge::Tail { sign, length, is_blank };
            }
        }
    }

    /// A line was a fence.
    fn settle_fence(&mut self, sign: u8, length: usize, is_blank: bool, depth: usize) {
        let ends = |of: u8, least: usize| is_blank && of == sign && length >= least;
        match (self.fence, self.orphan) {
            (Some(fence), _) => self.fence = Some(fence).filter(|it| !ends(it.sign, it.length)),
            (None, Some((of, least))) if ends(of, least) => self.orphan = None,
            (None, _) => (self.fence, self.orphan) = (Some(ShieldFence { sign, length, depth }), None),
        }
    }

    /// A tag begins. A fence may close right before it.
    pub(super) fn begin_tag(&mut self) {
        let (sign, length) = match self.edge {
            LineEdge::Run { sign, length } | LineEdge::Tail { sign, length, is_blank: true } => {
                (sign, length)
            }
            _ => {
                self.end_run();
                return;
            }
        };
        if self.fence.is_some_and(|fence| fence.sign == sign && length >= fence.length) {
            self.fence = None;
        } else if sign == b'`' {
            self.run = length;
            self.end_run();
        }
        self.edge = LineEdge::Line;
    }

    /// A tag has ended, and `depth` elements are open.
    pub(super) fn end_tag(&mut self, depth: usize) {
        (self.edge, self.run, self.ticks) = (LineEdge::Start(0), 0, 0);
        if let Some(fence) = self.fence.filter(|fence| depth < fence.depth) {
            self.orphan = Some((fence.sign, fence.length));
            self.fence = None;
        }
    }

    /// An apparent end tag in code, or an apparent tag, was text in a line.
    pub(super) fn continue_line(&mut self) {
        (self.edge, self.run) = (LineEdge::Line, 0);
    }

    /// The code in this line has closed.
    pub(super) fn close_ticks(&mut self) {
        self.ticks = 0;
    }
}
