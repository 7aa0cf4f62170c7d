//! A JSON document with paths: every error names its place and what was expected there.

use serde_json::Value;

/// A value, and its path from the root of the document.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    /// Returns the whole document; `file` is its name in errors.
    pub(super) fn root(value: &'a Value, file: &str) -> Node<'a> {
        Node { value, path: format!("{file}:") }
    }

    /// Formats `path: expected this, not that`.
    pub(super) fn expected(&self, expected: &str) -> String {
        let mut found = self.value.to_string();
        if found.chars().count() > 60 {
            found = found.chars().take(57).collect::<String>() + "...";
        }
        format!("{} expected {expected}, not {found}", self.path)
    }

    /// Formats `path: what`.
    pub(super) fn error(&self, what: &str) -> String {
        format!("{} {what}", self.path)
    }

    pub(super) fn field(&self, key: &str) -> Result<Node<'a>, String> {
        let object = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let value = object.get(key).ok_or_else(|| self.error(&format!("there is no {key:?}")))?;
        Ok(Node { value, path: format!("{} {key}", self.path) })
    }

    /// Returns a field, unless it is missing or null.
    pub(super) fn optional(&self, key: &str) -> Option<Node<'a>> {
        self.field(key).ok().filter(|node| !node.value.is_null())
    }

    pub(super) fn items(&self) -> Result<Vec<Node<'a>>, String> {
        let items = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let node = |(index, value)| Node { value, path: format!("{}[{index}]", self.path) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    /// Returns the items of an array of `N`.
    pub(super) fn tuple<const N: usize>(&self) -> Result<[Node<'a>; N], String> {
        let expected = |_| self.expected(&format!("an array of {N}"));
        self.items()?.try_into().map_err(expected)
    }

    pub(super) fn text(&self) -> Result<&'a str, String> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    pub(super) fn number(&self) -> Result<u64, String> {
        self.value.as_u64().ok_or_else(|| self.expected("a number"))
    }

    pub(super) fn boolean(&self) -> Result<bool, String> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// Returns a text; `None` for null.
    pub(super) fn text_or_null(&self) -> Result<Option<&'a str>, String> {
        if self.value.is_null() { Ok(None) } else { self.text().map(Some) }
    }

    /// Returns sign and magnitude of a hexadecimal number, with or without 0x and sign.
    pub(super) fn hexadecimal(&self) -> Result<(bool, u128), String> {
        let text = self.text()?;
        let (negative, digits) =
            text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        match u128::from_str_radix(digits, 16) {
            Ok(magnitude) => Ok((negative, magnitude)),
            Err(_) => Err(self.expected("a hexadecimal number of at most 128 bits")),
        }
    }

    pub(super) fn unsigned(&self) -> Result<u128, String> {
        match self.hexadecimal()? {
            (false, value) => Ok(value),
            (true, _) => Err(self.expected("a hexadecimal number without sign")),
        }
    }

    /// Returns a hexadecimal string as bytes, in order, one for each two digits.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, String> {
        let text = self.text()?;
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let expected = || self.expected("a string of hexadecimal digits");
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(expected());
        }
        let even = if digits.len() % 2 == 0 { digits.to_owned() } else { format!("0{digits}") };
        (0..even.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&even[at..at + 2], 16).map_err(|_| expected()))
            .collect()
    }
}
