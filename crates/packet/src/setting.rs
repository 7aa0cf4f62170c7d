//! Faults of settings.

use alloc::string::{String, ToString};
use core::fmt;

/// An invalid or suspicious setting. Callers that read files add the source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// The name of its field.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The reason, as the end of a sentence that begins with the value.
    pub reason: String,
    /// The nearest valid value, if any.
    pub nearest: Option<String>,
}

impl SettingFault {
    /// A fault of the setting `key`, whose value is `value`.
    pub fn new(
        key: &'static str,
        value: impl fmt::Display,
        reason: impl Into<String>,
    ) -> SettingFault {
        SettingFault { key, value: value.to_string(), reason: reason.into(), nearest: None }
    }

    /// Adds the nearest valid value.
    #[must_use]
    pub fn nearest(self, nearest: impl fmt::Display) -> SettingFault {
        SettingFault { nearest: Some(nearest.to_string()), ..self }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {} {}", self.key, self.value, self.reason)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for SettingFault {}
