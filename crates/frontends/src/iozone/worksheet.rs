//! A worksheet in Excel's oldest binary format (BIFF2), which is what `-b` of IOzone writes: labels and numbers in
//! cells.
//!
//! The records are those of Microsoft's "Excel 97-2007 Binary File Format" for BIFF2: a type and a length of 2 bytes
//! each, little-endian, then the content. Not here: what stands in the cells.

/// Beginning of a worksheet.
const BOF: u16 = 0x0009;
/// End of it.
const EOF: u16 = 0x000a;
/// A cell with a number.
const NUMBER: u16 = 0x0003;
/// A cell with a text.
const LABEL: u16 = 0x0004;

/// What `BOF` says: version 2, a worksheet.
const A_WORKSHEET: [u8; 4] = [0x02, 0x00, 0x10, 0x00];

/// A label has its length in one byte.
const LONGEST_LABEL: usize = 255;

/// A worksheet that is being written.
#[derive(Debug)]
pub struct Worksheet(Vec<u8>);

impl Worksheet {
    /// An empty one.
    pub fn new() -> Self {
        let mut sheet = Self(Vec::new());
        sheet.record(BOF, &A_WORKSHEET);
        sheet
    }

    /// True for a file that begins as this or IOzone's own worksheets do.
    pub fn is_one(beginning: &str) -> bool {
        beginning.as_bytes().starts_with(&[0x09, 0x00, 0x04, 0x00, 0x02, 0x00, 0x10, 0x00])
    }

    /// Puts `text` into a cell; what is beyond its 255th byte is left out.
    pub fn label(&mut self, row: u16, column: u16, text: &str) {
        // One byte is one character there: what is none is shown as a question mark.
        let text: Vec<u8> =
            text.chars().take(LONGEST_LABEL).map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect();
        let mut content = cell(row, column);
        content.push(text.len() as u8);
        content.extend(text);
        self.record(LABEL, &content);
    }

    /// Puts `value` into a cell.
    pub fn number(&mut self, row: u16, column: u16, value: f64) {
        let mut content = cell(row, column);
        content.extend(value.to_le_bytes());
        self.record(NUMBER, &content);
    }

    /// The whole file.
    pub fn finish(mut self) -> Vec<u8> {
        self.record(EOF, &[]);
        self.0
    }

    fn record(&mut self, kind: u16, content: &[u8]) {
        self.0.extend(kind.to_le_bytes());
        self.0.extend((content.len() as u16).to_le_bytes());
        self.0.extend(content);
    }
}

/// Where a cell is, and that nothing is special about how it looks.
fn cell(row: u16, column: u16) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend(row.to_le_bytes());
    content.extend(column.to_le_bytes());
    content.extend([0; 3]);
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_their_type_length_and_place() {
        let mut sheet = Worksheet::new();
        sheet.label(1, 2, "kB é");
        sheet.number(3, 4, 64.0);
        let bytes = sheet.finish();
        let expected = [
            &[0x09, 0, 4, 0, 2, 0, 0x10, 0][..],
            &[0x04, 0, 12, 0, 1, 0, 2, 0, 0, 0, 0, 4, b'k', b'B', b' ', b'?'],
            &[0x03, 0, 15, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x40],
            &[0x0a, 0, 0, 0],
        ];
        assert_eq!(bytes, expected.concat());
        assert!(Worksheet::is_one(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn a_label_is_cut_at_what_its_length_can_say() {
        let mut sheet = Worksheet::new();
        sheet.label(0, 0, &"x".repeat(300));
        let bytes = sheet.finish();
        assert_eq!(bytes.len(), 8 + 4 + 8 + 255 + 4);
        assert!(!Worksheet::is_one("a thesis"));
    }
}
