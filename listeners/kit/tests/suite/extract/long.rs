//! What an event says beyond what the corpus shows: the way back from a payload to the text.
