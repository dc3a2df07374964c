// Programs that return pairs: a value, and what it should be.

func.func @elementwise() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>, tensor<3xi32>, tensor<3xi32>) {
  %x = stablehlo.constant dense<[1.0, -2.0, 4.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %sum = stablehlo.add %x, %y : tensor<3xf32>
  %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %product = stablehlo.multiply %sum, %x : tensor<3xf32>
  %size = stablehlo.abs %product : tensor<3xf32>
  %chosen = stablehlo.select %less, %size, %y : tensor<3xi1>, tensor<3xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %limited = stablehlo.clamp %one, %chosen, %three : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %wanted = stablehlo.constant dense<[3.0, 2.0, 3.0]> : tensor<3xf32>
  %less_wanted = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %whole = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<3xi32>
  %shifted = stablehlo.shift_left %whole, %two : tensor<3xi32>
  %shifted_wanted = stablehlo.constant dense<[4, -8, 16]> : tensor<3xi32>
  return %limited, %wanted, %less, %less_wanted, %shifted, %shifted_wanted : tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>, tensor<3xi32>, tensor<3xi32>
}

func.func @sums_of_preds_are_disjunctions() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<i1>, tensor<i1>) {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %or = stablehlo.add %a, %b : tensor<4xi1>
  %or_wanted = stablehlo.constant dense<[false, true, true, true]> : tensor<4xi1>
  %and = stablehlo.multiply %a, %b : tensor<4xi1>
  %and_wanted = stablehlo.constant dense<[false, false, false, true]> : tensor<4xi1>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %any = stablehlo.reduce(%a init: %no) applies stablehlo.add across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  return %or, %or_wanted, %and, %and_wanted, %any, %yes : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<i1>, tensor<i1>
}

func.func @comparisons_in_total_order() -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %a = stablehlo.constant dense<[-0.0, 0x7FC00000, 0xFFC00000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0.0, 1.0, 1.0]> : tensor<3xf32>
  %total = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %total_wanted = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %plain = stablehlo.compare LT, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %plain_wanted = stablehlo.constant dense<false> : tensor<3xi1>
  return %total, %total_wanted, %plain, %plain_wanted : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}

func.func @complex_numbers() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>) {
  %a = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %z = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>
  %square = chlo.square %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %real = stablehlo.real %square : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %imag = stablehlo.imag %square : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %real_wanted = stablehlo.constant dense<[-3.0, -9.0]> : tensor<2xf32>
  %imag_wanted = stablehlo.constant dense<[4.0, 0.0]> : tensor<2xf32>
  // The real part alone says what the pred is.
  %pred = stablehlo.convert %z : (tensor<2xcomplex<f32>>) -> tensor<2xi1>
  %pred_wanted = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  return %real, %real_wanted, %imag, %imag_wanted, %pred, %pred_wanted : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>
}

// Infinite parts where the difference of the squares would be NaN, and 0 where the parts have one size.
func.func @squares_of_large_complex_numbers() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = stablehlo.constant dense<[1.0e30, 3.0e38, 5.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[2.0e30, -3.0e38, -5.0]> : tensor<3xf32>
  %z = stablehlo.complex %a, %b : tensor<3xcomplex<f32>>
  %square = chlo.square %z : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %real = stablehlo.real %square : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %imag = stablehlo.imag %square : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %real_wanted = stablehlo.constant dense<[0xFF800000, 0.0, 0.0]> : tensor<3xf32>
  %imag_wanted = stablehlo.constant dense<[0x7F800000, 0xFF800000, -50.0]> : tensor<3xf32>
  return %real, %real_wanted, %imag, %imag_wanted : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

func.func @extremes_of_complex_numbers() -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %a = stablehlo.constant dense<[(1.0, 5.0), (2.0, 3.0), (2.0, 4.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<[(2.0, 3.0), (1.0, 5.0), (2.0, 3.0)]> : tensor<3xcomplex<f32>>
  %max = stablehlo.maximum %a, %b : tensor<3xcomplex<f32>>
  %max_wanted = stablehlo.constant dense<[(2.0, 3.0), (2.0, 3.0), (2.0, 4.0)]> : tensor<3xcomplex<f32>>
  %min = stablehlo.minimum %a, %b : tensor<3xcomplex<f32>>
  %min_wanted = stablehlo.constant dense<[(1.0, 5.0), (1.0, 5.0), (2.0, 3.0)]> : tensor<3xcomplex<f32>>
  return %max, %max_wanted, %min, %min_wanted : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}

// Of -2^63 * -2^63, -1 * 3, 0x0123456789ABCDEF * 0x7EDCBA9876543210; and of 2^64 - 1 by itself, 2^63 by 2.
func.func @high_products_of_64_bits() -> (tensor<3xi64>, tensor<3xi64>, tensor<2xui64>, tensor<2xui64>) {
  %a = stablehlo.constant dense<[-9223372036854775808, -1, 81985529216486895]> : tensor<3xi64>
  %b = stablehlo.constant dense<[-9223372036854775808, 3, 9141386507638288912]> : tensor<3xi64>
  %signed = chlo.mulhi %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  %signed_wanted = stablehlo.constant dense<[4611686018427387904, -1, 40628384478392394]> : tensor<3xi64>
  %c = stablehlo.constant dense<[18446744073709551615, 9223372036854775808]> : tensor<2xui64>
  %d = stablehlo.constant dense<[18446744073709551615, 2]> : tensor<2xui64>
  %unsigned = chlo.mulhi %c, %d : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  %unsigned_wanted = stablehlo.constant dense<[18446744073709551614, 1]> : tensor<2xui64>
  return %signed, %signed_wanted, %unsigned, %unsigned_wanted : tensor<3xi64>, tensor<3xi64>, tensor<2xui64>, tensor<2xui64>
}

func.func @bits() -> (tensor<2x4xui8>, tensor<2x4xui8>, tensor<2xui32>, tensor<2xui32>, tensor<f32>, tensor<f32>) {
  %x = stablehlo.constant dense<[1, 66051]> : tensor<2xui32>
  %bytes = stablehlo.bitcast_convert %x : (tensor<2xui32>) -> tensor<2x4xui8>
  %bytes_wanted = stablehlo.constant dense<[[1, 0, 0, 0], [3, 2, 1, 0]]> : tensor<2x4xui8>
  %back = stablehlo.bitcast_convert %bytes : (tensor<2x4xui8>) -> tensor<2xui32>
  %y = stablehlo.constant dense<1.0009765625> : tensor<f32>
  %reduced = stablehlo.reduce_precision %y, format = e8m7 : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  return %bytes, %bytes_wanted, %back, %x, %reduced, %one : tensor<2x4xui8>, tensor<2x4xui8>, tensor<2xui32>, tensor<2xui32>, tensor<f32>, tensor<f32>
}

func.func @shapes() -> (tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x3x2xi32>, tensor<2x3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<4xi32>, tensor<4xi32>) {
  %x = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %transposed = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %transposed_wanted = stablehlo.constant dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>
  %y = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  // Axes of the operand in another order.
  %wide = stablehlo.broadcast_in_dim %y, dims = [2, 1] : (tensor<2x3xi32>) -> tensor<2x3x2xi32>
  %wide_wanted = stablehlo.constant dense<[[[0, 3], [1, 4], [2, 5]], [[0, 3], [1, 4], [2, 5]]]> : tensor<2x3x2xi32>
  %reversed = stablehlo.reverse %y, dims = [0] : tensor<2x3xi32>
  %reversed_wanted = stablehlo.constant dense<[[3, 4, 5], [0, 1, 2]]> : tensor<2x3xi32>
  %flat = stablehlo.reshape %y : (tensor<2x3xi32>) -> tensor<6xi32>
  %zero = stablehlo.constant dense<9> : tensor<i32>
  %cut = stablehlo.slice %flat [1:6:3] : (tensor<6xi32>) -> tensor<2xi32>
  // One value between the elements, one before them, none of the last one's end.
  %padded = stablehlo.pad %cut, %zero, low = [1], high = [0], interior = [1] : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  %padded_wanted = stablehlo.constant dense<[9, 1, 9, 4]> : tensor<4xi32>
  return %transposed, %transposed_wanted, %wide, %wide_wanted, %reversed, %reversed_wanted, %padded, %padded_wanted : tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x3x2xi32>, tensor<2x3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<4xi32>, tensor<4xi32>
}

func.func @slices_at_computed_indices() -> (tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>) {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %far = stablehlo.constant dense<9> : tensor<i32>
  // Starts are limited, so that the slice is within the array.
  %slice = stablehlo.dynamic_slice %x, %far, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  %slice_wanted = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %updated = stablehlo.dynamic_update_slice %x, %slice, %one : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  %updated_wanted = stablehlo.constant dense<[1, 3, 4, 4]> : tensor<4xi32>
  return %slice, %slice_wanted, %updated, %updated_wanted : tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>
}

func.func @gathers_and_scatters() -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x1xi32>, tensor<2x1xi32>) {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %rows = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %taken = "stablehlo.gather"(%x, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<3x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  %taken_wanted = stablehlo.constant dense<[[5, 6], [1, 2]]> : tensor<2x2xi32>
  %same = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %added = "stablehlo.scatter"(%x, %same, %taken) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %sum = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<3x2xi32>
  %added_wanted = stablehlo.constant dense<[[1, 2], [9, 12], [5, 6]]> : tensor<3x2xi32>
  %written = "stablehlo.scatter"(%x, %rows, %taken) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<3x2xi32>
  %batch = stablehlo.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
  %places = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %each = "stablehlo.gather"(%batch, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x1x3xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
  %each_wanted = stablehlo.constant dense<[[3], [4]]> : tensor<2x1xi32>
  return %taken, %taken_wanted, %added, %added_wanted, %written, %x, %each, %each_wanted : tensor<2x2xi32>, tensor<2x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x1xi32>, tensor<2x1xi32>
}

func.func @products() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<i1>, tensor<i1>, tensor<f32>, tensor<f32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %b = stablehlo.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xbf16>
  // The first axes are contracted; the result is wider.
  %product = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xf32>
  %product_wanted = stablehlo.constant dense<[[26.0, 30.0], [38.0, 44.0]]> : tensor<2x2xf32>
  %c = stablehlo.constant dense<[[100, 100], [1, 2]]> : tensor<2x2xi8>
  %d = stablehlo.constant dense<[[100, 100], [3, 4]]> : tensor<2x2xi8>
  %sums = stablehlo.dot_general %c, %d, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2xi32>
  %sums_wanted = stablehlo.constant dense<[20000, 11]> : tensor<2xi32>
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %q = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %some = stablehlo.dot %p, %q : (tensor<2xi1>, tensor<2xi1>) -> tensor<i1>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %e = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E4M3FN>
  %f = stablehlo.constant dense<[0.5, 4.0]> : tensor<2xf8E5M2>
  %mixed = stablehlo.dot_general %e, %f, contracting_dims = [0] x [0] : (tensor<2xf8E4M3FN>, tensor<2xf8E5M2>) -> tensor<f32>
  %mixed_wanted = stablehlo.constant dense<8.5> : tensor<f32>
  return %product, %product_wanted, %sums, %sums_wanted, %some, %yes, %mixed, %mixed_wanted : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<i1>, tensor<i1>, tensor<f32>, tensor<f32>
}

func.func @factorizations() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  %l_wanted = stablehlo.constant dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0], [5.0]]> : tensor<2x1xf32>
  %x = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %x_wanted = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %z = stablehlo.constant dense<[(1.0, 0.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %transformed = stablehlo.fft %z, type = FFT, length = [2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %transformed_wanted = stablehlo.constant dense<[(1.0, 1.0), (1.0, -1.0)]> : tensor<2xcomplex<f32>>
  return %l, %l_wanted, %x, %x_wanted, %transformed, %transformed_wanted : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
}

func.func @convolutions() -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[10.0]], [[1.0]]]> : tensor<2x1x1xf32>
  %same = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>
  %same_wanted = stablehlo.constant dense<[[[10.0], [21.0], [32.0]]]> : tensor<1x3x1xf32>
  %y = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %each = stablehlo.constant dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>
  %groups = stablehlo.convolution(%y, %each) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>
  %groups_wanted = stablehlo.constant dense<[[[10.0, 200.0], [30.0, 400.0]]]> : tensor<1x2x2xf32>
  return %same, %same_wanted, %groups, %groups_wanted : tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}

func.func @batch_normalizations() -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
  %x = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %scale = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %offset = stablehlo.constant dense<[5.0]> : tensor<1xf32>
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)
  %wanted = stablehlo.constant dense<[[3.0], [7.0]]> : tensor<2x1xf32>
  %mean_wanted = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %again = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  return %y, %wanted, %mean, %mean_wanted, %again, %wanted : tensor<2x1xf32>, tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2x1xf32>
}

func.func @reductions() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<i32>, tensor<i32>) {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %sum_wanted = stablehlo.constant dense<[6, 15]> : tensor<2xi32>
  %more = stablehlo.reduce(%x init: %ten) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %more_wanted = stablehlo.constant dense<[16, 25]> : tensor<2xi32>
  %ones = stablehlo.reduce(%x init: %zero) applies stablehlo.xor across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %ones_wanted = stablehlo.constant dense<[0, 7]> : tensor<2xi32>
  %nothing = stablehlo.reduce(%ten init: %ten) applies stablehlo.xor across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %sum, %sum_wanted, %more, %more_wanted, %ones, %ones_wanted, %nothing, %zero : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<i32>, tensor<i32>
}

func.func @joint_reductions() -> (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) {
  %x = stablehlo.constant dense<[1.0, 7.0, 7.0]> : tensor<3xf32>
  %places = stablehlo.iota dim = 0 : tensor<3xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %found:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [0] : (tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %better = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %is_nan = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %takes = stablehlo.or %better, %is_nan : tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %earlier = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = stablehlo.and %equal, %earlier : tensor<i1>
    %takes_index = stablehlo.or %takes, %both : tensor<i1>
    %value = stablehlo.select %takes, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %takes_index, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  %seven = stablehlo.constant dense<7.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  return %found#0, %seven, %found#1, %one : tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>
}

func.func @windows() -> (tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sums = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %sum = stablehlo.add %b, %a : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  %sums_wanted = stablehlo.constant dense<[3, 7]> : tensor<2xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %greatest = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %greater = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %greater : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %greatest_wanted = stablehlo.constant dense<[2, 3, 4, 3]> : tensor<4xi32>
  %scattered = "stablehlo.select_and_scatter"(%x, %sums, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %is = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %is : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %sum = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  %scattered_wanted = stablehlo.constant dense<[0, 3, 0, 7]> : tensor<4xi32>
  return %sums, %sums_wanted, %greatest, %greatest_wanted, %scattered, %scattered_wanted : tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

func.func @computations_of_elements() -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %mapped = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %product = stablehlo.multiply %a, %b : tensor<i32>
    %more = stablehlo.add %product, %one : tensor<i32>
    stablehlo.return %more : tensor<i32>
  }) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %wanted = stablehlo.constant dense<[[2, 5], [10, 17]]> : tensor<2x2xi32>
  return %mapped, %wanted : tensor<2x2xi32>, tensor<2x2xi32>
}

func.func @sorts() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) {
  %x = stablehlo.constant dense<[3.0, 0x7FC00000, 1.0, 2.0]> : tensor<4xf32>
  %places = stablehlo.iota dim = 0 : tensor<4xi32>
  %sorted:2 = "stablehlo.sort"(%x, %places) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %wanted = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : tensor<4xf32>
  %places_wanted = stablehlo.constant dense<[2, 3, 0, 1]> : tensor<4xi32>
  return %sorted#0, %wanted, %sorted#1, %places_wanted : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
}

func.func @barriers_and_casts() -> (tensor<i32>, tensor<i32>, tensor<index>, tensor<i64>) {
  %x = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.constant dense<2> : tensor<i64>
  %passed:2 = stablehlo.optimization_barrier %x, %y : tensor<i32>, tensor<i64>
  %index = "builtin.unrealized_conversion_cast"(%passed#1) : (tensor<i64>) -> tensor<index>
  return %passed#0, %x, %index, %y : tensor<i32>, tensor<i32>, tensor<index>, tensor<i64>
}

func.func @sizes_that_are_known() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<3x2xi32>, tensor<3x2xi32>) {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %three = stablehlo.get_dimension_size %x, dim = 0 : (tensor<3xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %rows = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>
  %columns = stablehlo.reshape %three : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %columns, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %wide = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %sized = stablehlo.set_dimension_size %wide, %two, dim = 0 : (tensor<?x?xf32>, tensor<i32>) -> tensor<2x3xf32>
  %wide_wanted = stablehlo.constant dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
  %shape_wanted = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %turned = stablehlo.reverse %shape, dims = [0] : tensor<2xi32>
  %counted = stablehlo.dynamic_iota %turned, dim = 0 : (tensor<2xi32>) -> tensor<3x2xi32>
  %counted_wanted = stablehlo.constant dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>
  %fits = stablehlo.compare EQ, %three, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%fits, %three) {api_version = 2 : i32, error_message = "never", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  return %sized, %wide_wanted, %shape, %shape_wanted, %counted, %counted_wanted : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<3x2xi32>, tensor<3x2xi32>
}

func.func @functions_of_chlo() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = stablehlo.constant dense<[1.0, 5.0, 3.0]> : tensor<3xf32>
  %values, %places = chlo.top_k(%x, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %values_wanted = stablehlo.constant dense<[5.0, 3.0]> : tensor<2xf32>
  %places_wanted = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %erf = chlo.erf %zero : tensor<2xf32> -> tensor<2xf32>
  %row = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %sums = chlo.broadcast_add %values, %row {broadcast_dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %sums_wanted = stablehlo.constant dense<[[6.0, 7.0], [4.0, 5.0]]> : tensor<2x2xf32>
  return %values, %values_wanted, %places, %places_wanted, %erf, %zero, %sums, %sums_wanted : tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @composites() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %x = stablehlo.constant dense<0.0> : tensor<f32>
  %own = stablehlo.composite "chlo.erf" %x {decomposition = @wrong, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  %other = stablehlo.composite "mine.one" %x {decomposition = @one} : (tensor<f32>) -> tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  return %own, %x, %other, %one : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

func.func private @one(%x: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %more = stablehlo.add %x, %one : tensor<f32>
  return %more : tensor<f32>
}

func.func private @wrong(%x: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.constant dense<7.0> : tensor<f32>
  return %one : tensor<f32>
}

func.func @calls_of_targets() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %l, %info = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  %l_wanted = stablehlo.constant dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %good = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<[[2.0], [5.0]]> : tensor<2x1xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%l, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %x_wanted = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %y = stablehlo.constant dense<[1.0, 3.0, 2.0]> : tensor<3xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %top = stablehlo.custom_call @ApproxTopK(%y, %least) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
  %top_wanted = stablehlo.constant dense<[3.0, 2.0]> : tensor<2xf32>
  %placed = stablehlo.custom_call @Sharding(%top) {mhlo.sharding = "{replicated}"} : (tensor<2xf32>) -> tensor<2xf32>
  return %l, %l_wanted, %info, %good, %x, %x_wanted, %top, %top_wanted, %placed, %top_wanted : tensor<2x2xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func private @greater(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %is = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %is : tensor<i1>
}

func.func @loops_and_branches() -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %last:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %total = stablehlo.add %sum, %next : tensor<i32>
    stablehlo.return %next, %total : tensor<i32>, tensor<i32>
  }
  %fifteen = stablehlo.constant dense<15> : tensor<i32>
  %chosen = "stablehlo.case"(%last#0) ({
    stablehlo.return %zero : tensor<i32>
  }, {
    %twice = stablehlo.add %last#1, %last#1 : tensor<i32>
    stablehlo.return %twice : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %thirty = stablehlo.constant dense<30> : tensor<i32>
  return %last#1, %fifteen, %chosen, %thirty : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

func.func @one_device() -> (tensor<2xf32>, tensor<2xf32>, tensor<ui32>, tensor<ui32>) {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sum = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %id = stablehlo.partition_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  return %sum, %x, %id, %zero : tensor<2xf32>, tensor<2xf32>, tensor<ui32>, tensor<ui32>
}

func.func @products_are_as_wide_as_their_stated_type() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<ui32>, tensor<ui32>, tensor<bf16>, tensor<bf16>) {
  %a = stablehlo.constant dense<1.0> : tensor<17xf8E4M3FN>
  %r = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<17xf8E4M3FN>, tensor<17xf8E4M3FN>) -> tensor<f32>
  %seventeen = stablehlo.constant dense<17.0> : tensor<f32>
  %large = stablehlo.constant dense<256.0> : tensor<2xf8E4M3FN>
  %s = stablehlo.dot_general %large, %large, contracting_dims = [0] x [0] : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) -> tensor<f32>
  %s_wanted = stablehlo.constant dense<131072.0> : tensor<f32>
  %b = stablehlo.constant dense<100> : tensor<3xi8>
  %t = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<ui32>
  %t_wanted = stablehlo.constant dense<30000> : tensor<ui32>
  %h = stablehlo.constant dense<256.0> : tensor<2xf16>
  %u = stablehlo.dot_general %h, %h, contracting_dims = [0] x [0] : (tensor<2xf16>, tensor<2xf16>) -> tensor<bf16>
  %u_wanted = stablehlo.constant dense<131072.0> : tensor<bf16>
  return %r, %seventeen, %s, %s_wanted, %t, %t_wanted, %u, %u_wanted : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<ui32>, tensor<ui32>, tensor<bf16>, tensor<bf16>
}

func.func @reductions_in_a_wider_type() -> (tensor<f32>, tensor<f32>) {
  %x = stablehlo.constant dense<1.0> : tensor<300xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<300xbf16>, tensor<bf16>) -> tensor<f32>
  %wanted = stablehlo.constant dense<300.0> : tensor<f32>
  return %r, %wanted : tensor<f32>, tensor<f32>
}

func.func @sorts_of_the_last_axis() -> (tensor<1x3xi32>, tensor<1x3xi32>) {
  %x = stablehlo.constant dense<[[3, 1, 2]]> : tensor<1x3xi32>
  %sorted = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<1x3xi32>) -> tensor<1x3xi32>
  %wanted = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  return %sorted, %wanted : tensor<1x3xi32>, tensor<1x3xi32>
}

func.func @threefry_has_its_known_answers() -> (tensor<3xui32>, tensor<3xui32>, tensor<3xui32>, tensor<3xui32>) {
  %k0 = stablehlo.constant dense<[0, 0xFFFFFFFF, 0x13198A2E]> : tensor<3xui32>
  %k1 = stablehlo.constant dense<[0, 0xFFFFFFFF, 0x03707344]> : tensor<3xui32>
  %c0 = stablehlo.constant dense<[0, 0xFFFFFFFF, 0x243F6A88]> : tensor<3xui32>
  %c1 = stablehlo.constant dense<[0, 0xFFFFFFFF, 0x85A308D3]> : tensor<3xui32>
  %r:2 = stablehlo.custom_call @cu_threefry2x32_ffi(%k0, %k1, %c0, %c1) {mhlo.backend_config = {}} : (tensor<3xui32>, tensor<3xui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>)
  %x = stablehlo.constant dense<[0x6B200159, 0x1CB996FC, 0xC4923A9C]> : tensor<3xui32>
  %y = stablehlo.constant dense<[0x99BA4EFE, 0xBB002BE7, 0x483DF7A0]> : tensor<3xui32>
  return %r#0, %x, %r#1, %y : tensor<3xui32>, tensor<3xui32>, tensor<3xui32>, tensor<3xui32>
}

func.func @shapes_of_an_approximate_top_k_are_behind_its_operands() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[1.0, 4.0, 2.0]> : tensor<3xf32>
  %i = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi32>
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %nowhere = stablehlo.constant dense<-1> : tensor<i32>
  %k = stablehlo.constant dense<2> : tensor<i32>
  %shape = stablehlo.constant dense<2> : tensor<1xi32>
  %r:2 = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %i, %none, %nowhere, %k, %shape, %shape) {called_computations = [@first_greater], indices_of_shape_operands = dense<[5, 6]> : tensor<2xi64>, mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  %values = stablehlo.constant dense<[4.0, 2.0]> : tensor<2xf32>
  %places = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %r#0, %values, %r#1, %places : tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>
}

func.func private @first_greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %is = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %is : tensor<i1>
}

// A call, a conditional and a custom call that return tuples, with one in another.
func.func @tuples() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<f32>, tensor<f32>) {
  %x = stablehlo.constant dense<[[0.0, 2.0], [4.0, 8.0]]> : tensor<2x2xf32>
  %r = call @factorized(%x) : (tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>>
  %lu = stablehlo.get_tuple_element %r[0] : (tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>>) -> tensor<2x2xf32>
  %rest = stablehlo.get_tuple_element %r[1] : (tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>>) -> tuple<tensor<2xi32>, tensor<f32>>
  %pivots = stablehlo.get_tuple_element %rest[0] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<2xi32>
  %chosen = stablehlo.get_tuple_element %rest[1] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<f32>
  %lu_wanted = stablehlo.constant dense<[[4.0, 8.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %pivots_wanted = stablehlo.constant dense<1> : tensor<2xi32>
  %chosen_wanted = stablehlo.constant dense<7.0> : tensor<f32>
  return %lu, %lu_wanted, %pivots, %pivots_wanted, %chosen, %chosen_wanted : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<f32>, tensor<f32>
}

func.func private @factorized(%x: tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>> {
  %r = stablehlo.custom_call @LuDecomposition(%x) : (tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>>
  %lu = stablehlo.get_tuple_element %r[0] : (tuple<tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2x2xf32>
  %pivots = stablehlo.get_tuple_element %r[1] : (tuple<tensor<2x2xf32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %seven = stablehlo.constant dense<7.0> : tensor<f32>
  %c = "stablehlo.if"(%yes) ({
    %t = stablehlo.tuple %seven, %yes : tuple<tensor<f32>, tensor<i1>>
    stablehlo.return %t : tuple<tensor<f32>, tensor<i1>>
  }, {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %t = stablehlo.tuple %one, %yes : tuple<tensor<f32>, tensor<i1>>
    stablehlo.return %t : tuple<tensor<f32>, tensor<i1>>
  }) : (tensor<i1>) -> tuple<tensor<f32>, tensor<i1>>
  %first = stablehlo.get_tuple_element %c[0] : (tuple<tensor<f32>, tensor<i1>>) -> tensor<f32>
  %rest = stablehlo.tuple %pivots, %first : tuple<tensor<2xi32>, tensor<f32>>
  %made = stablehlo.tuple %lu, %rest : tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>>
  return %made : tuple<tensor<2x2xf32>, tuple<tensor<2xi32>, tensor<f32>>>
}
