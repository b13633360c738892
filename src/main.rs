//! The one binary: reads its arguments, runs one command, says how it ended.
fn main() {}
