//! Tools of MCP servers as elements of Systole. It depends on the kit alone and knows neither the pump nor the log.

pub mod schema;
