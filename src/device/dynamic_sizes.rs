//! The option `dynamic_sizes`: the bounds for which programs are compiled whose sizes change.

use base::error;
use base::error::Result;
use std::fmt;

/// Smallest bound that the library chooses.
const LEAST: i64 = 16;
/// Bounds in each doubling of [`DynamicSizes::Buckets`].
const STEPS: i64 = 4;

/// Bounds of sizes that change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DynamicSizes {
    /// Four bounds in each doubling, from 16: 16, 20, 24, 28, 32, 40, ...
    Buckets,
    /// Powers of two, from 16.
    Powers,
    /// These bounds, ascending; beyond the last one, [`DynamicSizes::Buckets`].
    List(Vec<i64>),
}

impl DynamicSizes {
    /// Reads a value of the option; None if it is `off`.
    pub fn parse(value: &str) -> Result<Option<DynamicSizes>> {
        let wrong = || {
            error!(
                InvalidArgument,
                "value: {value:?} is not a value of dynamic_sizes; want off, buckets, powers, or ascending bounds of at \
                 least 1 as 128,256,1024"
            )
        };
        let parsed = match value {
            "off" => return Ok(None),
            "buckets" => DynamicSizes::Buckets,
            "powers" => DynamicSizes::Powers,
            list => {
                let bounds = list.split(',').map(|bound| bound.trim().parse().map_err(|_| wrong()));
                let bounds = bounds.collect::<Result<Vec<i64>>>()?;
                if bounds[0] < 1 || bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(wrong());
                }
                DynamicSizes::List(bounds)
            }
        };
        Ok(Some(parsed))
    }

    /// The smallest bound that is not below a size; the size itself if there is none.
    pub fn bound(&self, size: i64) -> i64 {
        match self {
            DynamicSizes::List(bounds) if size <= bounds[bounds.len() - 1] => {
                bounds[bounds.partition_point(|&bound| bound < size)]
            }
            DynamicSizes::Powers => power(size),
            _ => bucket(size),
        }
    }
}

/// The smallest power of two from 16 on that is not below a size.
fn power(size: i64) -> i64 {
    let next = (size.max(LEAST) as u64).checked_next_power_of_two();
    next.and_then(|next| i64::try_from(next).ok()).unwrap_or(size)
}

fn bucket(size: i64) -> i64 {
    let above = power(size);
    if above == LEAST {
        return LEAST;
    }
    // The half of it is a bound below the size.
    let step = above / 2 / STEPS;
    size.checked_add(step - 1).map_or(size, |size| size / step * step)
}

impl fmt::Display for DynamicSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DynamicSizes::Buckets => write!(f, "buckets"),
            DynamicSizes::Powers => write!(f, "powers"),
            DynamicSizes::List(bounds) => {
                write!(f, "{}", bounds.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_next_ones() {
        let of = |value: &str, sizes: &[i64]| {
            let option = DynamicSizes::parse(value).unwrap().unwrap();
            assert_eq!(option.to_string(), value);
            sizes.iter().map(|&size| option.bound(size)).collect::<Vec<i64>>()
        };
        assert_eq!(of("buckets", &[0, 1, 16, 17, 20, 21, 31, 33, 40, 41]), [16, 16, 16, 20, 20, 24, 32, 40, 40, 48]);
        assert_eq!(of("buckets", &[64, 65, 1000, i64::MAX]), [64, 80, 1024, i64::MAX]);
        assert_eq!(of("powers", &[0, 16, 17, 33, 1 << 62, i64::MAX]), [16, 16, 32, 64, 1 << 62, i64::MAX]);
        assert_eq!(of("3,100", &[0, 3, 4, 100, 101]), [3, 3, 100, 100, 112]);
    }

    #[test]
    fn other_values_are_refused() {
        assert_eq!(DynamicSizes::parse("off").unwrap(), None);
        for value in ["", "on", "0,4", "4,4", "8,4", "4,", "-1", "4;8"] {
            let refused = DynamicSizes::parse(value).unwrap_err();
            assert!(refused.message.contains(&format!("{value:?}")), "{refused}");
        }
    }
}
