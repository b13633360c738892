//! Parses an Agentfile: one statement per line, beginning with a keyword. Only a text between triple quotes may span
//! several lines.
//!
//! Input: text. Output: statements, and a note about each line that is not one. No names are looked up here.

use systole_kit::schema::find_nearest;

use super::ConversionNote;
use super::tokens::{Token, Tokens};

/// The keyword of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keyword {
    Name,
    Input,
    Agent,
    Goal,
    Converge,
    Run,
    Loop,
    Supervised,
    Unsupervised,
    Security,
}

/// All keywords with their spelling and permitted clauses.
const KEYWORDS: [(&str, Keyword, &[&str]); 10] = [
    ("NAME", Keyword::Name, &[]),
    ("INPUT", Keyword::Input, &["DEFAULT"]),
    ("AGENT", Keyword::Agent, &["FROM", "->", "REQUIRES", "SUPERVISED", "UNSUPERVISED"]),
    ("GOAL", Keyword::Goal, &["FROM", "->", "USING", "SUPERVISED", "UNSUPERVISED"]),
    ("CONVERGE", Keyword::Converge, &["FROM", "->", "USING", "WITHIN", "SUPERVISED", "UNSUPERVISED"]),
    ("RUN", Keyword::Run, &["USING", "SUPERVISED", "UNSUPERVISED"]),
    ("LOOP", Keyword::Loop, &["USING", "WITHIN", "SUPERVISED", "UNSUPERVISED"]),
    ("SUPERVISED", Keyword::Supervised, &[]),
    ("UNSUPERVISED", Keyword::Unsupervised, &[]),
    ("SECURITY", Keyword::Security, &[]),
];

/// Who checks the result of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Supervision {
    Agent,
    Person,
    Off,
}

/// The greatest number of passes of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Within {
    Passes(String),
    Variable(String),
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its beginning, for people.
    pub(super) written: String,
    /// The comments above it.
    pub(super) comments: Vec<String>,
    pub(super) keyword: Keyword,
    /// The name after the keyword. Empty if the keyword takes none.
    pub(super) name: String,
    /// The text between quotes.
    pub(super) text: Option<String>,
    /// The file that holds the text.
    pub(super) from: Option<String>,
    pub(super) default: Option<String>,
    /// The fields after `->`.
    pub(super) gives: Vec<String>,
    pub(super) using: Vec<String>,
    pub(super) within: Option<Within>,
    pub(super) requires: Option<String>,
    pub(super) supervision: Option<Supervision>,
}

/// The statements of a text, in order.
pub(super) fn read(text: &str, notes: &mut Vec<ConversionNote>) -> Vec<Statement> {
    let (mut statements, mut comments) = (Vec::new(), Vec::new());
    let mut tokens = Tokens::of(text);
    while let Some(line) = tokens.line() {
        if let Some(comment) = line.comment {
            comments.push(comment);
            continue;
        }
        let comments = std::mem::take(&mut comments);
        let (number, written) = (line.number, line.written);
        let mut note =
            |why: String| notes.push(ConversionNote { line: number, written: written.clone(), why });
        match line.tokens {
            Err(why) => note(why),
            Ok(tokens) if tokens.is_empty() => {}
            Ok(tokens) => match statement(number, &written, &tokens, &mut note) {
                Ok(statement) => statements.push(Statement { comments, ..statement }),
                Err(why) => note(why),
            },
        }
    }
    statements
}

fn statement(
    line: usize,
    written: &str,
    tokens: &[Token],
    note: &mut dyn FnMut(String),
) -> Result<Statement, String> {
    let Some((Token::Word(first), rest)) = tokens.split_first() else {
        return Err("a line begins with a keyword, as GOAL".to_owned());
    };
    let Some((_, keyword, clauses)) = KEYWORDS.iter().find(|(word, ..)| word == first) else {
        let upper = first.to_uppercase();
        let near = find_nearest(&upper, KEYWORDS.iter().map(|(word, ..)| *word));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(format!("`{}` is not a keyword{hint}", super::short(first, 32)));
    };
    let mut made = Statement {
        line,
        written: written.to_owned(),
        comments: Vec::new(),
        keyword: *keyword,
        name: String::new(),
        text: None,
        from: None,
        default: None,
        gives: Vec::new(),
        using: Vec::new(),
        within: None,
        requires: None,
        supervision: None,
    };
    let mut rest = Rest { tokens: rest, word: first };
    match keyword {
        Keyword::Supervised => {
            made.supervision = Some(rest.supervision());
        }
        Keyword::Unsupervised => made.supervision = Some(Supervision::Off),
        // The statement is not used, so the rest of it is not parsed.
        Keyword::Security => return Ok(made),
        _ => made.name = rest.name()?,
    }
    if matches!(keyword, Keyword::Agent | Keyword::Goal | Keyword::Converge)
        && let Some(Token::Text(text)) = rest.tokens.first()
    {
        made.text = Some(text.clone());
        rest.skip();
    }
    while let Some(clause) = rest.clause()? {
        let word = clause.as_str();
        if !clauses.contains(&word) {
            note(format!("{word} is not known after {first}; it and everything after it are left out"));
            return Ok(made);
        }
        match word {
            "FROM" => made.from = Some(rest.text("a path")?),
            "DEFAULT" => made.default = Some(rest.value()?),
            "->" => made.gives = rest.names()?,
            "USING" => made.using = rest.names()?,
            "REQUIRES" => made.requires = Some(rest.text("a text in quotes")?),
            "WITHIN" => made.within = Some(rest.within()?),
            "SUPERVISED" => made.supervision = Some(rest.supervision()),
            _ => made.supervision = Some(Supervision::Off),
        }
    }
    whole(&made, first)?;
    Ok(made)
}

/// Checks that the statement is complete.
fn whole(made: &Statement, word: &str) -> Result<(), String> {
    let has_words = made.text.is_some() || made.from.is_some();
    match made.keyword {
        Keyword::Agent | Keyword::Goal | Keyword::Converge if !has_words => {
            Err(format!("{word} needs a text in quotes, or FROM with a file"))
        }
        Keyword::Run | Keyword::Loop if made.using.is_empty() => {
            Err(format!("{word} needs USING with the names of goals"))
        }
        Keyword::Converge | Keyword::Loop if made.within.is_none() => {
            Err(format!("{word} needs WITHIN with the largest number of passes"))
        }
        _ => Ok(()),
    }
}

/// The unread tokens of a statement, and the keyword before them.
struct Rest<'t> {
    tokens: &'t [Token],
    word: &'t str,
}

impl<'t> Rest<'t> {
    fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn skip(&mut self) {
        self.next();
    }

    /// The keyword of the next clause. `None` at the end.
    fn clause(&mut self) -> Result<Option<String>, String> {
        let clause = match self.next() {
            None => return Ok(None),
            Some(Token::Arrow) => "->".to_owned(),
            Some(Token::Word(word)) => word.clone(),
            Some(other) => return Err(format!("{} where a clause such as USING belongs", other.message())),
        };
        const CLAUSES: [&str; 8] =
            ["->", "DEFAULT", "FROM", "REQUIRES", "SUPERVISED", "UNSUPERVISED", "USING", "WITHIN"];
        if CLAUSES.contains(&clause.as_str()) {
            return Ok(Some(clause));
        }
        let near = find_nearest(&clause.to_uppercase(), CLAUSES.into_iter()).map(str::to_owned);
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Err(format!("`{}` is not a clause{hint}", super::short(&clause, 32)))
    }

    fn name(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word.clone()),
            other => Err(format!("{} needs a name, and has {}", self.word, message(other))),
        }
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = Vec::new();
        loop {
            match self.next() {
                Some(Token::Word(name)) if names.contains(name) => {}
                Some(Token::Word(name)) => names.push(name.clone()),
                other => return Err(format!("a name is missing: there is {}", message(other))),
            }
            if self.tokens.first() != Some(&Token::Comma) {
                return Ok(names);
            }
            self.skip();
        }
    }

    fn text(&mut self, what: &str) -> Result<String, String> {
        match self.next() {
            Some(Token::Text(text) | Token::Path(text)) => Ok(text.clone()),
            other => Err(format!("{what} is missing: there is {}", message(other))),
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Text(text) | Token::Word(text) | Token::Number(text)) => Ok(text.clone()),
            other => Err(format!("DEFAULT needs a value, and has {}", message(other))),
        }
    }

    fn within(&mut self) -> Result<Within, String> {
        match self.next() {
            Some(Token::Number(number)) => Ok(Within::Passes(number.clone())),
            Some(Token::Variable(name)) => Ok(Within::Variable(name.clone())),
            other => Err(format!("WITHIN needs a number, and has {}", message(other))),
        }
    }

    fn supervision(&mut self) -> Supervision {
        match self.tokens.first() {
            Some(Token::Word(word)) if word == "HUMAN" => {
                self.skip();
                Supervision::Person
            }
            _ => Supervision::Agent,
        }
    }
}

fn message(token: Option<&Token>) -> String {
    token.map_or_else(|| "nothing".to_owned(), Token::message)
}
