//! Splits an Agentfile into lines, and each line into words, quoted texts and signs.
//!
//! Input: text. Output: lines in order, each with its number and its tokens, or with the reason why it has none.

use crate::limits;

/// A part of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A keyword or a name.
    Word(String),
    /// The text between quotes.
    Text(String),
    /// The path after FROM.
    Path(String),
    Number(String),
    /// The name after a `$`.
    Variable(String),
    Comma,
    Arrow,
    Other(char),
}

impl Token {
    /// A description of the token, for people.
    pub(super) fn message(&self) -> String {
        match self {
            Token::Word(word) => format!("`{}`", super::short(word, 32)),
            Token::Text(_) => "a text in quotes".to_owned(),
            Token::Path(path) => format!("the path `{}`", super::short(path, 32)),
            Token::Number(number) => format!("the number {}", super::short(number, 32)),
            Token::Variable(name) => format!("`${}`", super::short(name, 32)),
            Token::Comma => "a comma".to_owned(),
            Token::Arrow => "`->`".to_owned(),
            Token::Other(sign) => format!("`{sign}`"),
        }
    }
}

/// A line that is not empty.
pub(super) struct Line {
    pub(super) number: usize,
    /// Its beginning, for people.
    pub(super) written: String,
    /// The comment, if the line has nothing else.
    pub(super) comment: Option<String>,
    pub(super) tokens: Result<Vec<Token>, String>,
}

/// The unread rest of a text.
pub(super) struct Tokens<'t> {
    rest: &'t str,
    number: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text, number: 1 }
    }

    /// The next line that is not empty.
    pub(super) fn line(&mut self) -> Option<Line> {
        loop {
            let number = self.number;
            let line = self.rest.lines().next()?.trim();
            if line.is_empty() {
                self.end_line();
                continue;
            }
            if let Some(comment) = line.strip_prefix('#') {
                self.end_line();
                let comment = Some(comment.trim().to_owned());
                return Some(Line { number, written: String::new(), comment, tokens: Ok(Vec::new()) });
            }
            let written = super::short(line, limits::SHOWN_COLUMNS);
            let tokens = self.tokens();
            self.end_line();
            return Some(Line { number, written, comment: None, tokens });
        }
    }

    /// Moves past the end of the line.
    fn end_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        self.number += 1;
    }

    fn tokens(&mut self) -> Result<Vec<Token>, String> {
        let mut tokens = Vec::new();
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            let Some(first) = self.rest.chars().next() else { return Ok(tokens) };
            if matches!(first, '\n' | '#') {
                return Ok(tokens);
            }
            let is_path = matches!(tokens.last(), Some(Token::Word(word)) if word == "FROM");
            tokens.push(match first {
                '"' => Token::Text(self.text()?),
                _ if is_path => Token::Path(self.take_while(|c| !c.is_whitespace() && c != '#')),
                c if c.is_alphabetic() || c == '_' => Token::Word(self.take_while(is_of_name)),
                c if c.is_ascii_digit() => Token::Number(self.take_while(|c| c.is_ascii_digit())),
                '$' => {
                    self.skip(1);
                    Token::Variable(self.take_while(is_of_name))
                }
                ',' => self.sign(1, Token::Comma),
                '-' if self.rest.starts_with("->") => self.sign(2, Token::Arrow),
                other => self.sign(other.len_utf8(), Token::Other(other)),
            });
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn sign(&mut self, bytes: usize, token: Token) -> Token {
        self.skip(bytes);
        token
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    /// The quoted text at the start of the rest.
    fn text(&mut self) -> Result<String, String> {
        if let Some(rest) = self.rest.strip_prefix("\"\"\"") {
            let Some((text, rest)) = rest.split_once("\"\"\"") else {
                self.rest = "";
                return Err(
                    "the triple quotes are never closed, so the rest of the file is left out".to_owned()
                );
            };
            self.rest = rest;
            self.number += text.matches('\n').count();
            return Ok(text.to_owned());
        }
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.skip(at + 1);
                    return Ok(text);
                }
                '\n' => break,
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => {}
                    Some((_, sign @ ('\\' | '"'))) => text.push(sign),
                    Some((_, '\n')) | None => break,
                    Some((_, other)) => text.extend(['\\', other]),
                },
                other => text.push(other),
            }
        }
        Err("the quotes are not closed in this line; a text of several lines needs triple quotes".to_owned())
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(usize, Result<Vec<Token>, String>)> {
        let mut tokens = Tokens::of(text);
        std::iter::from_fn(|| tokens.line()).map(|line| (line.number, line.tokens)).collect()
    }

    #[test]
    fn lines_are_counted_over_texts_of_several_lines() {
        let word = |text: &str| Token::Word(text.to_owned());
        let found = all("\r\nGOAL a \"\"\"\none\ntwo\n\"\"\" -> x,y\r\n# no\nRUN r USING a # why\n");
        let text = Token::Text("\none\ntwo\n".to_owned());
        let goal = vec![word("GOAL"), word("a"), text, Token::Arrow, word("x"), Token::Comma, word("y")];
        let run = ["RUN", "r", "USING", "a"].map(word).to_vec();
        assert_eq!(found, [(2, Ok(goal)), (6, Ok(Vec::new())), (7, Ok(run))]);
    }

    #[test]
    fn quotes_that_are_not_closed_cost_their_line_and_triple_ones_the_rest() {
        let found = all("GOAL a \"one\nGOAL b \"two\\\"\"\nGOAL c \"\"\"three\nGOAL d \"four\"\n");
        assert!(found[0].1.is_err());
        assert_eq!(found[1].1.as_ref().unwrap()[2], Token::Text("two\"".to_owned()));
        assert!(found[2].1.as_ref().is_err_and(|why| why.contains("rest of the file")));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn what_stands_behind_from_is_a_path() {
        let found = all("AGENT a FROM agents/b-1.md REQUIRES \"fast\" @");
        let tokens = found[0].1.as_ref().unwrap();
        assert_eq!(tokens[3], Token::Path("agents/b-1.md".to_owned()));
        assert_eq!(tokens[5..], [Token::Text("fast".to_owned()), Token::Other('@')]);
    }
}
