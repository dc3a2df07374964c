//! Sliding windows over an array.

use super::attributes::attributes;

attributes! {
    /// A window along one axis.
    #[derive(Copy)]
    pub struct Window {
        /// Number of elements.
        pub size: i64,
        /// Distance between the starts of consecutive windows.
        pub stride: i64,
        /// Dilation of the array: distance between its elements after holes are inserted; 1 inserts none.
        pub base_dilation: i64,
        /// Dilation of the window: distance between its elements.
        pub dilation: i64,
        /// Padding before the array. A negative value removes elements.
        pub low: i64,
        /// Padding after the array. A negative value removes elements.
        pub high: i64,
    }
}

impl Window {
    /// A window of one element at each position.
    pub const ONE: Window = Window { size: 1, stride: 1, base_dilation: 1, dilation: 1, low: 0, high: 0 };

    /// Size of an axis with `dim` elements after dilation and padding. None if it is negative or overflows.
    pub fn padded(&self, dim: i64) -> Option<i64> {
        let dilated = if dim == 0 { 0 } else { (dim - 1).checked_mul(self.base_dilation)?.checked_add(1)? };
        dilated.checked_add(self.low)?.checked_add(self.high).filter(|size| *size >= 0)
    }

    /// Size of an axis with `dim` elements after dilation and the padding that adds elements, or of the dilated window if
    /// that is larger. None if it overflows.
    pub fn extent(&self, dim: i64) -> Option<i64> {
        let padded = Window { low: self.low.max(0), high: self.high.max(0), ..*self }.padded(dim)?;
        Some(padded.max(self.span()?))
    }

    /// Whether the padding removes elements.
    pub fn cuts(&self) -> bool {
        self.low < 0 || self.high < 0
    }

    /// Number of elements from the window's first to its last, after dilation. None if it overflows.
    pub fn span(&self) -> Option<i64> {
        (self.size - 1).checked_mul(self.dilation)?.checked_add(1)
    }

    /// Number of windows on an axis with `dim` elements after dilation and padding. None if a size is invalid.
    pub fn count(&self, dim: i64) -> Option<i64> {
        let (padded, span) = (self.padded(dim)?, self.span()?);
        Some(if padded < span { 0 } else { (padded - span) / self.stride + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_counted() {
        let count = |window: Window, dim| window.count(dim).unwrap();
        let three = Window { size: 3, ..Window::ONE };
        assert_eq!((count(three, 5), count(three, 2), count(three, 0)), (3, 0, 0));
        assert_eq!(count(Window { stride: 2, ..three }, 6), 2);
        assert_eq!(count(Window { dilation: 2, ..three }, 5), 1);
        assert_eq!(count(Window { base_dilation: 2, ..three }, 5), 7);
        assert_eq!(count(Window { low: 2, high: 2, ..three }, 0), 2);
        assert_eq!(count(Window { low: -1, ..three }, 5), 2);
        assert_eq!(Window { low: -1, ..three }.count(0), None);
        assert_eq!(Window { high: i64::MAX, ..three }.count(5), None);
    }
}
