//! Elements of constants.

use super::message;
use crate::text::{attribute, read};
use crate::{Attribute, Data, Dense};
use std::sync::Arc;

#[track_caller]
fn dense(text: &str) -> Arc<Dense> {
    match attribute(text).unwrap_or_else(|error| panic!("{error} in {text}")) {
        Attribute::Dense(dense) => dense,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_bytes(text: &str, is_splat: bool, bytes: &[u8]) {
    let data = &dense(text).data;
    assert_eq!((matches!(data, Data::Splat(_)), data.bytes()), (is_splat, bytes), "{text}");
}

#[test]
fn elements_are_packed() {
    let floats: Vec<u8> = [1.0f32, -2.5, f32::INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_bytes("dense<[1.0, -2.5, 0x7F800000]> : tensor<3xf32>", false, &floats);
    assert_bytes("dense<[[1, -1], [255, 0]]> : tensor<2x2xi8>", false, &[1, 255, 255, 0]);
    assert_bytes("dense<[true, false]> : tensor<2xi1>", false, &[1, 0]);
    assert_bytes("dense<[1, 2]> : tensor<2xindex>", false, &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_bytes("dense<[1, -8]> : tensor<2xi4>", false, &[1, 0xF8]);
    assert_bytes("dense<[1.0, -1.0]> : tensor<2xbf16>", false, &[0x80, 0x3F, 0x80, 0xBF]);
    assert_bytes("dense<[1.0, -0.0]> : tensor<2xf8E4M3FN>", false, &[0x38, 0x80]);
    assert_bytes("dense<[0.0, 1.0]> : tensor<2xf8E8M0FNU>", false, &[0, 127]);
    let complex: Vec<u8> = [1.0f32, 2.0, 0.0, -1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_bytes("dense<[(1.0, 2.0), (0.0, -1.0)]> : tensor<2xcomplex<f32>>", false, &complex);
    assert_bytes("dense<> : tensor<0xf32>", false, &[]);
}

#[test]
fn one_element_stands_for_all() {
    assert_bytes("dense<1.5> : tensor<1000000000000xf32>", true, &1.5f32.to_le_bytes());
    assert_bytes("dense<\"0x0000C03F\"> : tensor<1000000000000xf32>", true, &1.5f32.to_le_bytes());
    assert_bytes("dense<[7, 7]> : tensor<2xi16>", true, &[7, 0]);
    assert_bytes("dense<7> : tensor<i16>", true, &[7, 0]);
    assert_bytes("dense<true> : tensor<9xi1>", true, &[1]);
    assert_bytes("dense<\"0xFF\"> : tensor<9xi1>", true, &[1]);
    assert_bytes("dense<\"0x01\"> : tensor<8xi1>", true, &[1]);
    assert_bytes("dense<(0.0, 0.0)> : tensor<3xcomplex<f32>>", true, &[0; 8]);
    assert_bytes("dense<1.0> : tensor<0xf32>", false, &[]);
}

#[test]
fn elements_are_given_by_their_bytes() {
    assert_bytes("dense<\"0x01000200\"> : tensor<2xi16>", false, &[1, 0, 2, 0]);
    assert_bytes("dense<\"0x0100FF\"> : tensor<3xi1>", false, &[1, 0, 1]);
    // Nine bits in two bytes, as versions of MLIR until 2025 wrote them.
    assert_bytes("dense<\"0x0501\"> : tensor<9xi1>", false, &[1, 0, 1, 0, 0, 0, 0, 0, 1]);
    let text = "func.func @f() {
        %0 = stablehlo.constant dense_resource<a> : tensor<2xi16>
        %1 = stablehlo.constant dense_resource<a> : tensor<4xi8>
        return }
        {-# dialect_resources: { builtin: { a: \"0x0400000001000200\", \"b c\": \"0x04000000\" } },
            external_resources: { x: { y: true } } #-}";
    let module = read(text).unwrap();
    for (operation, expected) in super::body(&module, 0).iter().zip([[1, 0, 2, 0], [1, 0, 2, 0]]) {
        let Attribute::Dense(dense) = super::attribute(operation, "value") else { panic!() };
        assert_eq!(dense.data.bytes(), expected);
    }
}

#[test]
fn elements_of_unknown_types_stay_text() {
    let text = "func.func @f() { %0 = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf6E2M3FN> return }";
    let module = read(text).unwrap();
    let operation = &super::body(&module, 0)[0];
    let expected = Attribute::Other("dense<[0.5, 1.0]> : tensor<2xf6E2M3FN>".into());
    assert_eq!(super::attribute(operation, "value"), &expected);
    assert_eq!(module.ty(operation.results[0]).to_string(), "tensor<2xf6E2M3FN>");
}

#[test]
fn elements_of_2_and_4_bits_have_a_byte() {
    let text = "func.func @f() { %0 = stablehlo.constant dense<[-8, 7, 15]> : tensor<3xi4>
        %1 = stablehlo.constant dense<[0.5, -6.0]> : tensor<2xf4E2M1FN>
        %2 = stablehlo.constant dense<3> : tensor<2xui2> return }";
    let module = read(text).unwrap();
    let wanted: [&[u8]; 3] = [&[0xF8, 7, 0xFF], &[1, 0xF], &[3]];
    for (operation, wanted) in super::body(&module, 0).iter().zip(wanted) {
        let Attribute::Dense(dense) = super::attribute(operation, "value") else { panic!() };
        assert_eq!(dense.data.bytes(), wanted);
    }
}

#[test]
fn literals_that_do_not_match_their_types_are_refused() {
    for (literal, part) in [
        ("dense<[1, 2]> : tensor<3xi32>", "a list of 2 elements where the type has 3"),
        ("dense<[[1], [2]]> : tensor<2xi32>", "expected an element of type i32"),
        ("dense<[1, 2]> : tensor<2x1xi32>", "expected \"[\""),
        ("dense<\"0x0000\"> : tensor<3xf32>", "2 bytes of elements for the type tensor<3xf32>"),
        ("dense<\"0x000\"> : tensor<1xf16>", "pairs of hexadecimal digits"),
        ("dense<\"01\"> : tensor<1xi8>", "hexadecimal digits"),
        ("dense<1.0> : tensor<2xi32>", "expected an element of type i32"),
        ("dense<1> : tensor<2xf32>", "is not an element of type f32"),
        ("dense<1.0e+999> : tensor<2xf64>", "is not an element of type f64"),
        ("dense<300> : tensor<2xi8>", "\"300\" is not an element of type i8"),
        ("dense<-1> : tensor<2xui8>", "is not an element of type ui8"),
        ("dense<2> : tensor<2xi1>", "is not an element of type i1"),
        ("dense<true> : tensor<2xi8>", "is not an element of type i8"),
        ("dense<1> : tensor<?xi8>", "cannot be the type of a literal"),
        ("dense<\"0x00\"> : tensor<9223372036854775807x9223372036854775807xi8>", "cannot be the type of a literal"),
        ("dense<> : tensor<2xi8>", "a literal without elements"),
        ("dense_resource<a> : tensor<2xi8>", "the resource \"a\" is not defined"),
    ] {
        let text = format!("func.func @f() {{\n  %0 = stablehlo.constant {literal}\n  return }}");
        let message = message(&text);
        assert!(message.contains(part) && message.starts_with("line 2, column "), "{literal}: {message}");
    }
}
