package workload

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func lookupIn(fields map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := fields[name]
		return v, ok
	}
}

func TestExpand(t *testing.T) {
	lookup := lookupIn(map[string]string{"target.listen": "127.0.0.1:80", "rate": "5", "empty": "", "odd": "${rate}$$"})
	for _, c := range []struct{ in, want, err string }{
		{in: "", want: ""},
		{in: "plain", want: "plain"},
		{in: "http://${target.listen}/x", want: "http://127.0.0.1:80/x"},
		{in: "${rate}${empty}${rate}", want: "55"},
		{in: "${odd}", want: "${rate}$$"}, // inserted values are not expanded
		{in: "costs $5 and $", want: "costs $5 and $"},
		{in: "$$", want: "$"},
		{in: "$$$$", want: "$$"},
		{in: "$${rate}", want: "${rate}"},
		{in: "$$${rate}", want: "$5"},
		{in: `{"id":"${id}","k":"${key}","r":"${row.name}","x":"${random:256}","run":"${run}"}`,
			want: `{"id":"${id}","k":"${key}","r":"${row.name}","x":"${random:256}","run":"${run}"}`},
		{in: "$${id}", want: "$${id}"}, // the load's template reads the escape
		{in: "$$${id}", want: "$${id}", err: ""},
		{in: "$${", want: "${"},
		{in: "${what}", err: "${what}"},
		{in: "${sink.listen}", err: "${sink.listen}"},
		{in: "a ${x", err: "without an end"},
		{in: "${}", err: "names nothing"},
	} {
		got, err := Expand(c.in, lookup)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.in, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: %q, %v; want an error about %s", c.in, got, err, c.err)
		case got != c.want:
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// TestExpandEscapes checks that any text can be written: with every $ doubled, it expands to
// itself.
func TestExpandEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("$${}ab.:"))).Draw(t, "text")
		got, err := Expand(strings.ReplaceAll(text, "$", "$$"), lookupIn(nil))
		if err != nil || got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

// TestExpandKeepsTheLoads checks that Expand leaves the load's placeholders, and a $$ before them,
// as they are.
func TestExpandKeepsTheLoads(t *testing.T) {
	parts := rapid.SampledFrom([]string{"${id}", "${key}", "$${id}", "$${row.x}", "${random:9}", "text", "${known}", "{", "}", "$5"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(parts).Draw(t, "parts"), "")
		lookup := lookupIn(map[string]string{"known": "K"})
		once, err := Expand(text, lookup)
		if err != nil {
			t.Skip("an odd text")
		}
		if want := strings.ReplaceAll(text, "${known}", "K"); once != want {
			t.Errorf("%q became %q", text, once)
		}
	})
}

// FuzzExpand checks that expansion ends, and that placeholders replaced by nothing do not make a
// text longer.
func FuzzExpand(f *testing.F) {
	f.Add("http://${target.listen}/${id}$$")
	f.Add("$${random:5}")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Expand(text, func(string) (string, bool) { return "", true })
		if err == nil && len(out) > len(text) {
			t.Errorf("%q grew to %q", text, out)
		}
	})
}
