package corpus

import (
	"strconv"
	"strings"
	"testing"
)

func numbered(n int) *Rows {
	r := &Rows{columns: []string{"n"}}
	for i := range n {
		r.rows = append(r.rows, []string{strconv.Itoa(i)})
	}
	return r
}

// Each copy in a body takes a row of its own, in order; rows that do not fill a body are left over.
func TestOnceInArrays(t *testing.T) {
	copies := []string{`{"i":0,"n":${row.n}}`, `{"i":1,"n":${row.n}}`, `{"i":2,"n":${row.n}}`}
	c := build(t, Spec{Rows: numbered(8), Once: true, Classes: []Class{{Method: "POST", Path: "/", Copies: copies, Array: true}}})
	var got []string
	for _, r := range c.Requests {
		got = append(got, string(r.Body))
	}
	want := `[{"i":0,"n":0},{"i":1,"n":1},{"i":2,"n":2}] [{"i":0,"n":3},{"i":1,"n":4},{"i":2,"n":5}]`
	if strings.Join(got, " ") != want || c.Supply == nil {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCopiesAreLinesAndShareARow(t *testing.T) {
	c := build(t, Spec{Rows: numbered(2), Classes: []Class{{Path: "/", Copies: []string{"a${row.n}", "b${row.n}"}}}})
	if got := string(c.Requests[1].Body); got != "a1\nb1\n" {
		t.Errorf("%q", got)
	}
}

// Classes share the rows: none is in two requests, whatever the mix.
func TestOnceInAMix(t *testing.T) {
	c := build(t, Spec{Rows: numbered(500), Once: true, Classes: []Class{
		{Name: "a", Path: "/a/${row.n}"}, {Name: "b", Path: "/b", Header: map[string]string{"X-N": "${row.n}"}}, {Name: "c", Path: "/c"},
	}})
	next := 0
	for _, r := range c.Requests {
		n := r.Header.Get("X-N")
		if r.Class == 0 {
			n = strings.TrimPrefix(r.Path, "/a/")
		}
		if r.Class == 2 {
			continue
		}
		if n != strconv.Itoa(next) {
			t.Fatalf("row %s was sent where %d was next", n, next)
		}
		next++
	}
	if next != 500 {
		t.Errorf("%d of 500 rows are sent", next)
	}
}

// Rows are escaped in a body that is JSON, whether or not a header says so.
func TestRowsInJSON(t *testing.T) {
	rows := &Rows{columns: []string{"n"}, rows: [][]string{{`"`}}}
	for _, c := range []Class{{JSON: true}, {Header: map[string]string{"content-type": "application/json"}}} {
		c.Path, c.Body = "/", `{"n":"${row.n}"}`
		if got := string(build(t, Spec{Rows: rows, Classes: []Class{c}}).Requests[0].Body); got != `{"n":"\""}` {
			t.Errorf("%s", got)
		}
	}
}

func TestOnceWithBodies(t *testing.T) {
	c := build(t, Spec{Once: true, Classes: []Class{{Path: "/", Bodies: [][]byte{[]byte("x"), []byte("y")}}}})
	if len(c.Requests) != 2 || string(c.Requests[1].Body) != "y" {
		t.Errorf("%d requests: %s", len(c.Requests), c.Requests[1].Body)
	}
}

func TestOnceNeedsRows(t *testing.T) {
	for what, s := range map[string]Spec{
		"nothing can be sent once":                     {Rows: numbered(2), Once: true, Classes: []Class{{Path: "/"}}},
		"a request takes 3 rows, and the feeder has 2": {Rows: numbered(2), Once: true, Classes: []Class{{Path: "/", Copies: []string{"${row.n}", "${row.n}", "${row.n}"}}}},
	} {
		if _, err := Build(s); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}
