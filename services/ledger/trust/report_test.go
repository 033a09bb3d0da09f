package trust

import "testing"

func TestLevels(t *testing.T) {
	for l := L0; l <= L4; l++ {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("%v is read as %v: %v", l, got, err)
		}
	}
	if s := Level(9).String(); s != "Level(9)" {
		t.Error(s)
	}
}

// A report lists at most maxFailures, and counts all.
func TestManyFailures(t *testing.T) {
	f := failures{}
	for i := range maxFailures + 10 {
		f.add(i, 1, "first")
		f.add(i, 1, "second")
	}
	list := f.list()
	if f.count != maxFailures+10 {
		t.Errorf("%d are counted", f.count)
	}
	if len(list) != maxFailures || list[1] != (Failure{1, 1, "first"}) {
		t.Errorf("%d are listed, the second is %+v", len(list), list[1])
	}
	if err := (&Report{Ledgers: 1, Failed: list}).Err(); err == nil {
		t.Error("failures are no error")
	}
}
