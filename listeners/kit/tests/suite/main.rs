//! The kit's one test binary: a module per topic. Nothing here sleeps, reads a clock or opens a file or a socket.
//!
//! The modules stand under `cfg(test)` so that the lints treat what stands between the tests as test code too.

#[cfg(test)]
mod adversarial;
#[cfg(test)]
mod elements;
#[cfg(test)]
mod envelope;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod payload;
#[cfg(test)]
mod reply;
#[cfg(test)]
mod writer;
