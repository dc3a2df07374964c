//! What a random program does. Numbers choose among what there is when the action's turn comes, so that a program from
//! which actions were taken out is still a program: that is how failures are shrunk.

use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Action {
    FromHost { dtype: u8, shape: u8, seed: u32 },
    Full { dtype: u8, shape: u8, value: u8 },
    Iota { dtype: u8, shape: u8, axis: u8 },
    Unary { op: u8, x: u16 },
    Binary { op: u8, x: u16, y: u16 },
    BinaryInPlace { op: u8, x: u16, y: u16 },
    Scalar { op: u8, x: u16, value: i8, left: bool },
    ScalarInPlace { op: u8, x: u16, value: i8 },
    Compare { op: u8, x: u16, y: u16 },
    Select { pred: u16, x: u16, y: u16 },
    Convert { x: u16, dtype: u8 },
    Reshape { x: u16, shape: u8 },
    BroadcastTo { x: u16, shape: u8 },
    Transpose { x: u16, turn: u8 },
    Reduce { op: u8, x: u16, axes: u8, keep: bool },
    Matmul { x: u16, y: u16 },
    Slice { x: u16, cut: u32 },
    Concatenate { x: u16, y: u16, z: u16, axis: u8 },
    Take { x: u16, indices: u16, axis: u8 },
    Pad { x: u16, low: i8, high: i8, interior: u8 },
    UpdateSlice { x: u16, y: u16, at: i8 },
    DynamicSlice { x: u16, at: i8 },
    Snapshot { x: u16 },
    Assign { x: u16, y: u16 },
    Write { x: u16, seed: u32 },
    Release { x: u16 },
    Read { x: u16 },
    Sync { x: u16, y: u16 },
    Step,
    Save { x: u16, y: u16 },
    Move { x: u16 },
    Lend { x: u16 },
    Apply { x: u16, y: u16, op: u8 },
    Branch { pred: u16, x: u16, y: u16 },
    Scan { x: u16, reverse: bool },
}

/// An action; common ones come more often.
pub fn action() -> impl Strategy<Value = Action> {
    use Action::*;
    let t = any::<u16>;
    let b = any::<u8>;
    let i = any::<i8>;
    let n = any::<u32>;
    prop_oneof![
        6 => (b(), b(), n()).prop_map(|(dtype, shape, seed)| FromHost { dtype, shape, seed }),
        1 => (b(), b(), b()).prop_map(|(dtype, shape, value)| Full { dtype, shape, value }),
        1 => (b(), b(), b()).prop_map(|(dtype, shape, axis)| Iota { dtype, shape, axis }),
        3 => (b(), t()).prop_map(|(op, x)| Unary { op, x }),
        6 => (b(), t(), t()).prop_map(|(op, x, y)| Binary { op, x, y }),
        6 => (b(), t(), t()).prop_map(|(op, x, y)| BinaryInPlace { op, x, y }),
        3 => (b(), t(), i(), any::<bool>()).prop_map(|(op, x, value, left)| Scalar { op, x, value, left }),
        6 => (b(), t(), i()).prop_map(|(op, x, value)| ScalarInPlace { op, x, value }),
        1 => (b(), t(), t()).prop_map(|(op, x, y)| Compare { op, x, y }),
        1 => (t(), t(), t()).prop_map(|(pred, x, y)| Select { pred, x, y }),
        1 => (t(), b()).prop_map(|(x, dtype)| Convert { x, dtype }),
        1 => (t(), b()).prop_map(|(x, shape)| Reshape { x, shape }),
        1 => (t(), b()).prop_map(|(x, shape)| BroadcastTo { x, shape }),
        1 => (t(), b()).prop_map(|(x, turn)| Transpose { x, turn }),
        2 => (b(), t(), b(), any::<bool>()).prop_map(|(op, x, axes, keep)| Reduce { op, x, axes, keep }),
        1 => (t(), t()).prop_map(|(x, y)| Matmul { x, y }),
        1 => (t(), n()).prop_map(|(x, cut)| Slice { x, cut }),
        1 => (t(), t(), t(), b()).prop_map(|(x, y, z, axis)| Concatenate { x, y, z, axis }),
        1 => (t(), t(), b()).prop_map(|(x, indices, axis)| Take { x, indices, axis }),
        1 => (t(), i(), i(), b()).prop_map(|(x, low, high, interior)| Pad { x, low, high, interior }),
        2 => (t(), t(), i()).prop_map(|(x, y, at)| UpdateSlice { x, y, at }),
        1 => (t(), i()).prop_map(|(x, at)| DynamicSlice { x, at }),
        3 => t().prop_map(|x| Snapshot { x }),
        3 => (t(), t()).prop_map(|(x, y)| Assign { x, y }),
        1 => (t(), n()).prop_map(|(x, seed)| Write { x, seed }),
        6 => t().prop_map(|x| Release { x }),
        3 => t().prop_map(|x| Read { x }),
        3 => (t(), t()).prop_map(|(x, y)| Sync { x, y }),
        6 => Just(Step),
        1 => (t(), t()).prop_map(|(x, y)| Save { x, y }),
        1 => t().prop_map(|x| Move { x }),
        2 => t().prop_map(|x| Lend { x }),
        2 => (t(), t(), b()).prop_map(|(x, y, op)| Apply { x, y, op }),
        1 => (t(), t(), t()).prop_map(|(pred, x, y)| Branch { pred, x, y }),
        1 => (t(), any::<bool>()).prop_map(|(x, reverse)| Scan { x, reverse }),
    ]
}
