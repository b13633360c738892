//! The client against real servers, and against one that does what no server should.

mod hostile;
mod servers;
mod tools;
