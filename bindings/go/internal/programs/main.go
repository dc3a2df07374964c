// Programs runs programs that c_tests/abi/go_programs.py made, and prints hashes of their results as JSON. A program is
// a list of calls of the C API: the name of each, and its arguments without lengths and outputs. An argument that is a
// tensor is its number among the values so far.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"

	lx "lazyxla"
)

// functions has what programs call, by the names in C without lxla_.
var functions = map[string]any{
	"tensor_from_host": lx.TensorFromHost, "unary": lx.Unary, "binary": lx.Binary, "binary_scalar": lx.BinaryScalar,
	"binary_inplace": lx.BinaryInplace, "compare": lx.Compare, "select": lx.Select, "convert": lx.Convert,
	"reshape": lx.Reshape, "broadcast_to": lx.BroadcastTo, "transpose": lx.Transpose, "flip": lx.Flip, "roll": lx.Roll,
	"expand_dims": lx.ExpandDims, "concatenate": lx.Concatenate, "stack": lx.Stack, "split": lx.Split,
	"slice": lx.Slice, "slice_axis": lx.SliceAxis, "tile": lx.Tile, "reduce": lx.Reduce, "mean": lx.Mean,
	"variance": lx.Variance, "logsumexp": lx.Logsumexp, "argmax": lx.Argmax, "cumulative": lx.Cumulative,
	"sort_along": lx.SortAlong, "argsort": lx.Argsort, "topk": lx.Topk, "matmul": lx.Matmul, "einsum": lx.Einsum,
	"softmax": lx.Softmax, "activation": lx.Activation, "layer_norm": lx.LayerNorm, "norm": lx.Norm, "take": lx.Take,
	"tril": lx.Tril, "special": lx.Special, "qr": lx.Qr, "iota": lx.Iota, "tensor_full": lx.TensorFull,
	"tensor_snapshot": (*lx.Tensor).Snapshot,
}

type call struct {
	Name string
	Args []json.RawMessage
}

type program struct {
	Calls []call
}

// argument returns a value of a type of Go that JSON describes.
func argument(kind reflect.Type, given json.RawMessage, values []*lx.Tensor) (reflect.Value, error) {
	made := reflect.New(kind)
	switch to := made.Interface().(type) {
	case **lx.Tensor:
		var number int
		if err := json.Unmarshal(given, &number); err != nil {
			return made, err
		}
		if number >= 0 { // -1 is none
			*to = values[number]
		}
	case *[]*lx.Tensor:
		var numbers []int
		if err := json.Unmarshal(given, &numbers); err != nil {
			return made, err
		}
		for _, number := range numbers {
			*to = append(*to, values[number])
		}
	case **lx.Env: // null
	default:
		if err := json.Unmarshal(given, to); err != nil {
			return made, err
		}
	}
	return made.Elem(), nil
}

// run makes the calls of a program, and returns all tensors that they give.
func run(p program) ([]*lx.Tensor, error) {
	var values []*lx.Tensor
	for _, each := range p.Calls {
		function := reflect.ValueOf(functions[each.Name])
		if !function.IsValid() {
			return nil, fmt.Errorf("%s is not in the table of functions", each.Name)
		}
		if n := function.Type().NumIn(); n != len(each.Args) {
			return nil, fmt.Errorf("%s: %d arguments given; want %d", each.Name, len(each.Args), n)
		}
		in := make([]reflect.Value, len(each.Args))
		for i, given := range each.Args {
			var err error
			if in[i], err = argument(function.Type().In(i), given, values); err != nil {
				return nil, fmt.Errorf("%s: argument %d: %w", each.Name, i, err)
			}
		}
		for _, result := range function.Call(in) {
			switch got := result.Interface().(type) {
			case *lx.Tensor:
				values = append(values, got)
			case []*lx.Tensor:
				values = append(values, got...)
			case error:
				return nil, got
			}
		}
	}
	return values, nil
}

// digest returns dtype, shape and a hash of the bytes of a tensor.
func digest(x *lx.Tensor) string {
	dtype, dims := lx.Must(x.Dtype()), lx.Must(x.Shape())
	size := lx.Must(lx.DtypeSize(dtype))
	for _, each := range dims {
		size *= each
	}
	bytes := make([]byte, size)
	lx.Check(x.Read(bytes))
	hash := sha256.Sum256(bytes)
	return fmt.Sprintf("%s%v %s", dtype, dims, hex.EncodeToString(hash[:8]))
}

func results(path string) (all [][]string, err error) {
	defer lx.Catch(&err)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var programs []program
	lx.Check(json.Unmarshal(text, &programs))
	for i, each := range programs {
		values, err := run(each)
		if err != nil {
			return nil, fmt.Errorf("program %d: %w", i, err)
		}
		lx.Check(lx.Sync(values))
		made := []string{}
		for _, x := range values {
			made = append(made, digest(x))
		}
		for _, x := range values {
			x.Release()
		}
		all = append(all, made)
	}
	return all, nil
}

func main() {
	all, err := results(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}
