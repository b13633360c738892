//! systole
fn main() {}
