//! The limits of schemas and of what is made of them: how much is read and tried, and how much is shown.

// Reading a schema

/// Bytes of a schema document, as of a message.
pub(crate) const SCHEMA_BYTES: usize = 1 << 20;
/// Nesting of elements, including the root; the gate has the same limit.
pub(crate) const DEPTH: usize = 64;
/// Nesting of objects and lists: an element in an ordered list takes three levels.
pub(crate) const JSON_DEPTH: usize = 3 * DEPTH;
/// The largest finite count, also of the items of a list: libxml2 keeps a counter state per count.
pub const OCCURS: u32 = 10_000;
/// Restrictions of restrictions in one chain.
pub(crate) const RESTRICTIONS: usize = 32;
/// Members of a union, with those of nested ones: unions of unions double.
pub(crate) const MEMBERS: usize = 64;
/// Steps of all patterns of a schema: a megabyte of them would take gigabytes.
pub(crate) const PATTERNS_STEPS: usize = 200_000;
/// Bytes of the text of a type: its words go into prompts, its regex is compiled.
pub(crate) const COMPACT_BYTES: usize = 4096;
/// Characters of a range: no one may send that many bytes.
pub(crate) const RANGE_CHARACTERS: u32 = 1 << 20;
/// Words that are searched before a new one is made: few names repeat close together.
pub(crate) const RECENT_WORDS: usize = 8;

// Patterns and numbers

/// Steps that a pattern may unfold into, and positions of its graph.
pub(crate) const PATTERN_STEPS: usize = 4_000;
/// Nesting of parentheses and subtractions.
pub(crate) const PATTERN_DEPTH: usize = 24;
/// States that are examined before a pattern counts as too tangled.
pub(crate) const TANGLED_STATES: usize = 400_000;
/// Copies of a repeat beyond the number of children, so that edits can add some.
pub(crate) const SPARE_REPEATS: usize = 8;
/// Letters of a sample that is searched for.
pub(crate) const SAMPLE: usize = 256;
/// Bytes of a value that patterns are tried on; for a longer one the judge's words must do.
pub(crate) const MATCHED_BYTES: usize = 16 << 10;
/// Digits of a number: the judge refuses more.
pub(crate) const DIGITS: usize = 24;
/// Digits of a year; the judge accepts a few more, and then decides alone.
pub(crate) const YEAR_DIGITS: usize = 9;
/// Digits of a decimal that survive every JSON reader: readers keep binary fractions.
pub(crate) const SAFE_DIGITS: usize = 15;
/// Digits that an exponent may unfold into.
pub(crate) const UNFOLDED_DIGITS: usize = 400;

// Trying

/// Bytes of an example: a type that needs more is better described in words.
pub(crate) const EXAMPLE_BYTES: usize = 64 << 10;
/// Elements that are tried before the search for an example gives up.
pub(crate) const EXAMPLE_TRIES: usize = 10_000;
/// Values that the branches of all choices of a payload may try, long texts by length.
pub(crate) const TRIED_VALUES: usize = 1_000_000;
/// States that are examined before the search for edits gives up.
pub(crate) const EDIT_STATES: usize = 20_000;
/// Items of a list that a suggestion fixes, or a sample contains.
pub(crate) const LISTED_ITEMS: usize = 100;

// Grammars

/// The largest count of characters in a grammar: a server refuses counts that unfold into too many rules.
pub(crate) const GRAMMAR_COUNT: usize = 500;
/// The largest count of elements or items in a grammar.
pub(crate) const GRAMMAR_ITEMS: usize = 100;
/// Digits behind the point of a number without a bound of its own: more are seldom meant.
pub(crate) const GRAMMAR_FRACTION: usize = 6;
/// Gaps of a set of characters that is written whole.
pub(crate) const GRAMMAR_RANGES: usize = 40;

// Types of other languages

/// The largest whole number that each smaller one is exact with in a binary fraction of 64 bits.
pub(crate) const EXACT_WHOLE: i128 = (1 << 53) - 1;
/// Gaps of a set of characters that a regular expression lists: one with more is left to the judge.
pub(crate) const TYPE_RANGES: usize = 60;
/// Letters of a line of the text about a class.
pub(crate) const TYPE_LINE: usize = 92;

// What is shown

/// Slips that are reported at once.
pub(crate) const SLIPS: usize = 20;
/// Letters of a quoted payload, of a list of allowed elements, of a sketch.
pub(crate) const SHOWN: usize = 400;
/// Letters of a piece of input that is quoted whole.
pub(crate) const QUOTED_INPUT: usize = 120;
/// Letters of a fragment of a schema that is quoted whole.
pub(crate) const QUOTED_SCHEMA: usize = 160;
/// Letters of a value that a description quotes, and of a label.
pub(crate) const QUOTED_VALUE: usize = 60;
/// Values of an enumeration that are listed.
pub(crate) const LISTED_VALUES: usize = 24;
/// Members of a union that are described, and names of which one is missing.
pub(crate) const LISTED_NAMES: usize = 12;
/// Values that a difference of two types names.
pub(crate) const CHANGED_VALUES: usize = 8;

// Forms

/// Fields of one form, posted or shown.
pub(crate) const FORM_FIELDS: usize = 4_000;
/// Fields after which further parts without values are offered as XML.
pub(crate) const FORM_OFFERED: usize = 600;
/// Places of one repeated part, and values of a choice; more are typed.
pub(crate) const FORM_ENTRIES: usize = 200;
/// Nesting of values.
pub(crate) const FORM_DEPTH: usize = 24;
/// Depth of parts without values that are fields; deeper ones are XML.
pub(crate) const FORM_SHOWN_DEPTH: usize = 8;
/// Depth of values of a payload that become fields; deeper elements become XML.
pub(crate) const FORM_FILLED_DEPTH: usize = 12;
/// Times that a type may be inside itself before it is offered as XML.
pub(crate) const FORM_REPEATS: usize = 2;
/// Letters of a text that gets an input of one line.
pub(crate) const FORM_LINE: usize = 120;
/// Bytes of a posted name.
pub(crate) const FORM_NAME_BYTES: usize = 1_000;
/// Bytes of all values together.
pub(crate) const FORM_BYTES: usize = 4 << 20;
