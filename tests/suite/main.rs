//! The one suite of the root crate: a module per topic, one binary to build and to run.

#[cfg(test)]
mod log_contract;
#[cfg(test)]
mod log_faults;
#[cfg(test)]
mod log_file;
#[cfg(test)]
mod log_format;
#[cfg(test)]
mod log_records;
#[cfg(test)]
mod log_writer;
