package environment

import (
	"slices"
	"testing"
)

func TestCPUPlan(t *testing.T) {
	six := []int{0, 1, 4, 5, 6, 9} // a container's share of a bigger machine
	tests := []struct {
		cores             int
		generator, target []int
	}{
		{0, nil, nil},
		{1, nil, nil},
		{3, nil, nil},
		{4, []int{5}, []int{0, 1, 4}},
		{6, []int{9}, []int{0, 1, 4, 5, 6}},
		{64, []int{9}, []int{0, 1, 4, 5, 6}},
	}
	for _, tt := range tests {
		g, target := planOf(six, tt.cores)
		if !slices.Equal(g, tt.generator) || !slices.Equal(target, tt.target) {
			t.Errorf("%d cores: generator %v, target %v, want %v and %v", tt.cores, g, target, tt.generator, tt.target)
		}
	}
	if g, target := CPUPlan(1); g != nil || target != nil {
		t.Errorf("one core was divided into %v and %v", g, target)
	}
}
