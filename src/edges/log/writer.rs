//! The thread of the writer.
