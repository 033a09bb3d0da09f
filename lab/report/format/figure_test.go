package format

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{Format(0), "0"}, {Format(0.0449), "0.045"}, {Format(0.99951), "1.00"}, {Format(1.234), "1.23"}, {Format(9.996), "10.0"},
		{Format(12.34), "12.3"}, {Format(99.96), "100"}, {Format(123.4), "123"}, {Format(999.6), "1,000"}, {Format(9812), "9,810"},
		{Format(1234567), "1,230,000"}, {Format(-1234), "-1,230"}, {Format(Unknown), Dash}, {Format(Value(math.Inf(1))), Dash},
		{Round(100), "100"}, {Round(0.5), "0.5"}, {Round(1000), "1,000"},
		{Count(1234567), "1,234,567"}, {Count(999), "999"}, {Count(-1000), "-1,000"},
		{Times(3.1), "3.10x"}, {Times(Unknown), Dash}, {Percent(0.001), "0.1%"}, {Percent(Unknown), Dash},
		{Size(512), "512 B"}, {Size(1536), "1.50 KiB"}, {Size(48 << 20), "48.0 MiB"}, {Size(Unknown), Dash},
		{Between(&Interval{2912, 3410}), "[2,910, 3,410]"}, {Between(nil), ""}, {BetweenRatios(&Interval{2.9, 3.4}), "[2.90, 3.40]"},
		{Command([]string{"dyno", "load", "-H", "X-Team: it's us", ""}), `dyno load -H 'X-Team: it'\''s us' ''`},
		{Plural(1, "run"), "1 run"}, {Plural(1200, "run"), "1,200 runs"},
		{Clock(time.Time{}), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestValueInJSON(t *testing.T) {
	got, err := json.Marshal([]any{Value(1.5), Unknown, Value(math.Inf(-1)), Value(50331648), Value(1e-9), &Interval{1, 2}, (*Interval)(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[1.5,null,null,50331648,0.000000001,[1,2],null]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
