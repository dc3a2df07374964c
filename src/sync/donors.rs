//! Which parameters a program may consume. Decided before the key, and part of it.

use crate::types::TensorType;

/// Of the parameters that nobody needs afterwards (`candidates`, ascending), those whose memory an output can take over:
/// first those that meet an output of their own type, then those that meet one of as many bytes. The engine would not
/// give up the others; they are simply freed after the run. Keeping them out of the key saves a compile.
pub fn useful(candidates: &[usize], parameters: &[&TensorType], outputs: &[&TensorType]) -> Vec<usize> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut free: Vec<&TensorType> = outputs.to_vec();
    free.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    let mut taken = vec![false; free.len()];
    let mut useful = Vec::new();
    let mut left = Vec::new();
    for &candidate in candidates {
        let wanted = key(parameters[candidate]);
        let from = free.partition_point(|ty| key(ty) < wanted);
        let place = (from..free.len()).take_while(|&i| key(free[i]) == wanted).find(|&i| !taken[i]);
        match place {
            Some(i) => {
                taken[i] = true;
                useful.push(candidate);
            }
            None => left.push(candidate),
        }
    }
    for candidate in left {
        let bytes = parameters[candidate].size_bytes();
        if let Some(i) = (0..free.len()).find(|&i| !taken[i] && free[i].size_bytes() == bytes) {
            taken[i] = true;
            useful.push(candidate);
        }
    }
    useful.sort_unstable();
    useful
}

/// Orders types so that equal ones stand together.
fn key(ty: &TensorType) -> (u8, &[i64]) {
    (ty.dtype as u8, &ty.dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn a_donor_needs_an_output_of_its_bytes() {
        let f = |n| TensorType::new(DType::F32, &[n]);
        let (a, b, c, s) = (f(4), f(4), f(8), TensorType::new(DType::S32, &[2, 2]));
        let parameters = [&a, &b, &c, &s];
        assert_eq!(useful(&[0, 1, 2, 3], &parameters, &[&a]), [0]);
        assert_eq!(useful(&[0, 1, 2, 3], &parameters, &[&a, &a, &a]), [0, 1, 3]);
        assert_eq!(useful(&[1, 2, 3], &parameters, &[&s, &f(8)]), [2, 3]);
        assert_eq!(useful(&[3], &parameters, &[&a]), [3]);
        assert_eq!(useful(&[], &parameters, &[&a]), [0; 0]);
        assert_eq!(useful(&[0], &parameters, &[]), [0; 0]);
    }

    #[test]
    fn an_own_type_goes_before_equal_bytes() {
        let (f, s) = (TensorType::new(DType::F32, &[4]), TensorType::new(DType::S32, &[4]));
        assert_eq!(useful(&[0, 1], &[&s, &f], &[&f]), [1]);
    }
}
