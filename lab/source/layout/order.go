package layout

import (
	"cmp"
	"go/types"
	"slices"
)

// bestOrder returns the fields' indexes in an order that makes the struct smallest: by alignment,
// largest first, so that no gaps are needed; fields of size zero first, since one at the end takes
// a byte (so that its address stays inside). Otherwise the order is unchanged.
func bestOrder(s *types.Struct, sizes types.Sizes) []int {
	order := make([]int, s.NumFields())
	for i := range order {
		order[i] = i
	}
	rank := func(i int) (int, int64) {
		t := s.Field(i).Type()
		if sizes.Sizeof(t) == 0 {
			return 0, -sizes.Alignof(t)
		}
		return 1, -sizes.Alignof(t)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		sizedA, alignA := rank(a)
		sizedB, alignB := rank(b)
		return cmp.Or(cmp.Compare(sizedA, sizedB), cmp.Compare(alignA, alignB))
	})
	return order
}

// reordered is the struct with its fields in another order.
func reordered(s *types.Struct, order []int) *types.Struct {
	fields := make([]*types.Var, len(order))
	for i, from := range order {
		fields[i] = s.Field(from)
	}
	return types.NewStruct(fields, nil)
}

// padded reports whether the struct has padding on purpose, which another order would undo.
func padded(s *types.Struct) bool {
	for f := range s.Fields() {
		named, isNamed := types.Unalias(f.Type()).(*types.Named)
		if isNamed && named.Obj().Name() == "CacheLinePad" {
			return true
		}
		if array, ok := under(f.Type()).(*types.Array); ok && f.Name() == "_" && array.Len() > 0 {
			return true
		}
	}
	return false
}
