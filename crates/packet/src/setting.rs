//! What is wrong with a setting, or worth knowing of it.

use alloc::string::{String, ToString};
use core::fmt;

/// One setting that cannot be, or of which one should know. Whoever reads settings from a file adds the place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// Which one: the name of its field.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// Why not, as the end of a sentence that begins with the value.
    pub reason: String,
    /// The nearest value that would be right, where there is one.
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
