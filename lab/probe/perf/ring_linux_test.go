package perf

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	inKernel := laidOut(0xffffffff81000000, contextKernel, 0xffffffff81000000, contextUser, 0x401000, 0x402000)
	computing := laidOut(0x403000, contextUser, 0x403000, 0x404000)
	b := append(append([]byte{}, inKernel...), computing...)
	want := []sample{{true, []uint64{0x401000, 0x402000}}, {false, []uint64{0x403000, 0x404000}}}
	if got := parse(b); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parse(b[:len(b)-1]); len(got) != 1 {
		t.Errorf("what is cut off was read: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(laidOut(1, contextUser, 2, 3))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range parse(b) {
			if len(s.stack) == 0 {
				t.Fatal("a sample without a stack")
			}
		}
	})
}
