//! How much of a thought a client has. The words of a thought are on no record while they are said, so their count goes with
//! the id of the event before them. Who comes again hears them from the beginning, and gets what is new.

/// What was said of a thought on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SaidThought {
    /// The bytes that the client has.
    said: usize,
    /// Those of them that come again.
    again: usize,
}

impl SaidThought {
    /// A thought of which the client has so many bytes.
    pub fn after(bytes: usize) -> SaidThought {
        SaidThought { said: bytes, again: bytes }
    }

    /// What of these words is new to the client: words that go on, or the whole thought as the record has it.
    pub fn take<'w>(&mut self, words: &'w str, is_live: bool) -> &'w str {
        if !is_live {
            return words.get(std::mem::take(self).said..).unwrap_or_default();
        }
        let known = words.len().min(self.again);
        self.again -= known;
        let new = words.get(known..).unwrap_or_default();
        self.said = self.said.saturating_add(new.len());
        new
    }

    /// What goes with an id.
    pub fn describe(self) -> String {
        if self.said == 0 { String::new() } else { format!("~{}", self.said) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g11_a_thought_is_said_once() {
        let mut said = SaidThought::default();
        assert_eq!((said.describe().as_str(), said.take("I th", true)), ("", "I th"));
        assert_eq!((said.describe().as_str(), said.take("I think.", false)), ("~4", "ink."));
        let mut again = SaidThought::after(5);
        assert_eq!((again.take("I th", true), again.take("ink.", true)), ("", "nk."));
        assert_eq!(again.describe(), "~8");
        for (bytes, rest) in [(2, "think."), (99, ""), (0, "I think.")] {
            assert_eq!(SaidThought::after(bytes).take("I think.", false), rest);
            assert_eq!(SaidThought::after(bytes).take("I think.", true), rest);
        }
        assert_eq!(SaidThought::after(1).take("ä", true), "", "a number that was made up");
    }
}
