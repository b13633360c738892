//! What is true of the log in a file alone: what it refuses, and what survives a crash.
