package layout

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// drawStruct makes a struct of up to most fields of any kind that a layout can depend on.
func drawStruct(t *rapid.T, most, depth int) *types.Struct {
	n := rapid.IntRange(1, most).Draw(t, "fields")
	vars := make([]*types.Var, n)
	for i := range vars {
		vars[i] = types.NewVar(token.NoPos, nil, "f"+strconv.Itoa(i), drawType(t, depth))
	}
	return types.NewStruct(vars, nil)
}

func drawType(t *rapid.T, depth int) types.Type {
	basic := []types.BasicKind{types.Bool, types.Int16, types.Int32, types.Int64, types.Complex128, types.String, types.Uintptr, types.Float64}
	kind := rapid.IntRange(0, 11).Draw(t, "kind")
	switch {
	case kind < len(basic):
		return types.Typ[basic[kind]]
	case kind == 8:
		return types.NewSlice(types.Typ[types.Byte])
	case kind == 9 || depth == 0:
		return types.NewStruct(nil, nil) // of no size
	case kind == 10:
		return types.NewArray(drawType(t, depth-1), rapid.Int64Range(0, 5).Draw(t, "length"))
	}
	return drawStruct(t, 3, depth-1)
}

// The order is a permutation, never makes a struct larger, and no other permutation makes it
// smaller.
func TestBestOrder(t *testing.T) {
	for _, arch := range []string{"amd64", "386", "arm"} {
		sizes := types.SizesFor("gc", arch)
		rapid.Check(t, func(t *rapid.T) {
			s := drawStruct(t, 6, 2)
			order := bestOrder(s, sizes)
			if sorted := slices.Sorted(slices.Values(order)); len(sorted) != s.NumFields() || sorted[0] != 0 || sorted[len(sorted)-1] != len(sorted)-1 || len(slices.Compact(sorted)) != s.NumFields() {
				t.Fatalf("%v is not a permutation of %d fields", order, s.NumFields())
			}
			best := reordered(s, order)
			size := sizes.Sizeof(best)
			if size > sizes.Sizeof(s) {
				t.Fatalf("%d bytes became %d in the order %v", sizes.Sizeof(s), size, order)
			}
			checkAligned(t, best, sizes)
			permute(slices.Clone(order), 0, func(other []int) {
				if smaller := sizes.Sizeof(reordered(s, other)); smaller < size {
					t.Fatalf("%s: %d bytes in the order %v, %d in %v", arch, size, order, smaller, other)
				}
			})
		})
	}
}

func checkAligned(t *rapid.T, s *types.Struct, sizes types.Sizes) {
	fields := slices.Collect(s.Fields())
	end := int64(0)
	for i, offset := range sizes.Offsetsof(fields) {
		if offset < end || offset%sizes.Alignof(fields[i].Type()) != 0 {
			t.Fatalf("field %d lies at %d, after %d", i, offset, end)
		}
		end = offset + sizes.Sizeof(fields[i].Type())
	}
}

func permute(order []int, from int, visit func([]int)) {
	if from == len(order) {
		visit(order)
		return
	}
	for i := from; i < len(order); i++ {
		order[from], order[i] = order[i], order[from]
		permute(order, from+1, visit)
		order[from], order[i] = order[i], order[from]
	}
}
