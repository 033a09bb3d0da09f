package corpus

import (
	"strconv"
	"strings"
	"testing"

	"dyno/lab/workload"
)

func once(requests ...workload.Request) workload.Load {
	return workload.Load{Requests: requests, Once: true}
}

func numbered(n int) *Rows {
	r := &Rows{columns: []string{"n"}}
	for i := range n {
		r.rows = append(r.rows, []string{strconv.Itoa(i)})
	}
	return r
}

// Each copy in a body takes its own row, in order; rows that do not fill a last body are not
// sent.
func TestOnceInArrays(t *testing.T) {
	c := build(t, Spec{Rows: numbered(8), Load: once(workload.Request{Body: workload.Body{Text: `{"i":${n},"n":${row.n}}`, Copies: 3, Array: true}})})
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
	c := build(t, Spec{Rows: numbered(2), Load: of(workload.Request{Body: workload.Body{Text: "${n}$${key}${row.n}", Copies: 2}})})
	if got := string(c.Requests[1].Body); got != "0${key}1\n1${key}1\n" {
		t.Errorf("%q", got)
	}
}

// Classes share the rows: no row is in two requests, whatever the mix.
func TestOnceInAMix(t *testing.T) {
	c := build(t, Spec{Rows: numbered(500), Load: once(
		workload.Request{Name: "a", Path: "/a/${row.n}"}, workload.Request{Name: "b", Path: "/b", Headers: map[string]string{"X-N": "${row.n}"}}, workload.Request{Name: "c", Path: "/c"},
	)})
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
	for _, l := range []workload.Load{{Kind: workload.GRPC}, {URL: "ws://h/"}, {Headers: map[string]string{"content-type": "application/json"}}} {
		l.Requests = of(workload.Request{Body: workload.Body{Text: `{"n":"${row.n}"}`}}).Requests
		if got := string(build(t, Spec{Rows: rows, Load: l}).Requests[0].Body); got != `{"n":"\""}` {
			t.Errorf("%s", got)
		}
	}
}

func TestOnceWithBodies(t *testing.T) {
	c := build(t, Spec{Load: once(workload.Request{Body: workload.Body{Corpus: "f"}}), Bodies: map[string][][]byte{"f": {[]byte("x"), []byte("y")}}})
	if len(c.Requests) != 2 || string(c.Requests[1].Body) != "y" {
		t.Errorf("%d requests: %s", len(c.Requests), c.Requests[1].Body)
	}
}

func TestOnceNeedsRows(t *testing.T) {
	for what, s := range map[string]Spec{
		"nothing can be sent once":                     {Rows: numbered(2), Load: once(workload.Request{})},
		"a request takes 3 rows, and the feeder has 2": {Rows: numbered(2), Load: once(workload.Request{Body: workload.Body{Text: "${row.n}", Copies: 3}})},
	} {
		if _, err := Build(s); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}
