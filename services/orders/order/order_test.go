package order

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "1": "1", "101.25": "101.25", "0.00000001": "0.00000001", "1.500": "1.5", "-2.75": "-2.75", "007": "7",
		"92233720368.54775807": "92233720368.54775807", "-92233720368.54775808": "-92233720368.54775808", "1.000000000000": "1",
	} {
		if got, err := ParseDecimal(text); err != nil || got.String() != want {
			t.Errorf("%s: %v %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-", "1e3", "+1", "--1", "1.-5", " 1", "1,5", "0.000000001", "92233720368.54775808", "99999999999999999999", "NaN", "0x1"} {
		if got, err := ParseDecimal(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDecimalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Decimal(rapid.Int64Range(math.MinInt64, math.MaxInt64).Draw(t, "d"))
		if got, err := ParseDecimal(d.String()); err != nil || got != d {
			t.Fatalf("%d as %s: %d %v", int64(d), d, int64(got), err)
		}
	})
}

func TestNames(t *testing.T) {
	for s := New; s <= Cancelled; s++ {
		if got, ok := ParseStatus(s.String()); !ok || got != s {
			t.Errorf("%d: %s is %d", s, s, got)
		}
	}
	if _, ok := ParseStatus(""); ok || Status(9).String() != "UNKNOWN" {
		t.Error("what does not exist has a name")
	}
}
