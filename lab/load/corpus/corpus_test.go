package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"dyno/lab/workload"
)

func build(t *testing.T, s Spec) *Corpus {
	t.Helper()
	c, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func of(requests ...workload.Request) workload.Load { return workload.Load{Requests: requests} }

func TestSequenceNumbersAndRun(t *testing.T) {
	c := build(t, Spec{Run: "cafe0001", Load: of(workload.Request{Method: "POST", Path: "/x", Body: workload.Body{Text: `{"id":"${run}-${id}","again":"${id}"}`}})})
	if len(c.Requests) != 1 {
		t.Fatalf("%d requests where nothing varies", len(c.Requests))
	}
	r := c.Requests[0]
	for _, at := range r.IDs {
		PutID(r.Body[at:], 0xabc)
	}
	if want := `{"id":"cafe0001-0000000000000abc","again":"0000000000000abc"}`; string(r.Body) != want {
		t.Errorf("body %s, want %s", r.Body, want)
	}
}

func TestRowsAreTakenInTurnAndEscaped(t *testing.T) {
	rows, err := ReadCSV(strings.NewReader("name,n\n\"a\"\"b\",1\nc,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := build(t, Spec{Rows: rows, Load: of(workload.Request{Path: "/${row.n}", Headers: map[string]string{"Content-Type": "application/json", "X-N": "${row.1}"}, Body: workload.Body{Text: `"${row.name}"`}})})
	for i, want := range []struct{ path, body, n string }{{"/1", `"a\"b"`, "1"}, {"/2", `"c"`, "2"}, {"/1", `"a\"b"`, "1"}} {
		r := c.Requests[i]
		if r.Path != want.path || string(r.Body) != want.body || r.Header.Get("X-N") != want.n {
			t.Errorf("request %d: %s %s %s, want %+v", i, r.Path, r.Body, r.Header.Get("X-N"), want)
		}
	}
}

// A row's value is escaped for the path before the question mark, and for the query after it.
func TestRowsInPathsAreEscaped(t *testing.T) {
	rows := &Rows{columns: []string{"a"}, rows: [][]string{{"x y/ü?&=#"}}}
	c := build(t, Spec{Rows: rows, Load: of(workload.Request{Path: "/p/${row.a}/q?k=${row.a}&l=${row.a}"})})
	u, err := url.ParseRequestURI(c.Requests[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if u.Path != "/p/x y/ü?&=#/q" || u.Query().Get("k") != rows.rows[0][0] || u.Query().Get("l") != rows.rows[0][0] {
		t.Errorf("%s is read as %q, %v", c.Requests[0].Path, u.Path, u.Query())
	}
}

func TestFilesAreBounded(t *testing.T) {
	for name, read := range map[string]func(io.Reader) error{
		"ndjson": func(r io.Reader) error { return second(ReadNDJSON(r)) },
		"bodies": func(r io.Reader) error { return second(ReadBodies(r)) },
	} {
		if err := read(endless{}); !errors.Is(err, errTooLong) {
			t.Errorf("%s: a file without end gives error %v", name, err)
		}
	}
}

// endless is a file of long, blank lines.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, blankLine), nil }

var blankLine = strings.Repeat(" ", 32<<10) + "\n"

func TestNDJSONRows(t *testing.T) {
	rows, err := ReadNDJSON(strings.NewReader("{\"a\":\"x\",\"b\":3}\n\n{\"b\":{\"c\":1},\"a\":null}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows.columns, rows.rows); got != `[a b] [[x 3] [ {"c":1}]]` {
		t.Errorf("got %s", got)
	}
}

func TestOneKeyARequest(t *testing.T) {
	c := build(t, Spec{Load: workload.Load{Keys: &workload.Keys{Count: 1000}, Requests: []workload.Request{{Path: "/", Body: workload.Body{Text: "${key} ${key}"}}}}})
	seen := map[string]bool{}
	for _, r := range c.Requests {
		a, b, _ := strings.Cut(string(r.Body), " ")
		if a != b {
			t.Fatalf("two keys in one request: %s", r.Body)
		}
		seen[a] = true
	}
	if len(seen) < 990 {
		t.Errorf("%d of 1,000 keys were drawn in %d requests", len(seen), len(c.Requests))
	}
}

func TestZipfShares(t *testing.T) {
	const keys, exponent = 100, 0.8
	c := build(t, Spec{Seed: 1, Load: workload.Load{Keys: &workload.Keys{Count: keys, Zipf: exponent}, Requests: []workload.Request{{Path: "/", Body: workload.Body{Text: "${key}"}}}}})
	sum := 0.0
	for k := 1; k <= keys; k++ {
		sum += math.Pow(float64(k), -exponent)
	}
	counts := map[string]int{}
	for _, r := range c.Requests {
		counts[string(r.Body)]++
	}
	n := float64(len(c.Requests))
	for _, k := range []int{0, 1, 10} {
		p := math.Pow(float64(k+1), -exponent) / sum
		got, want := float64(counts[fmt.Sprintf("key-%d", k)]), n*p
		if math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("key-%d was drawn %v times, want about %v", k, got, want)
		}
	}
}

// Random texts have the requested length, and each letter occurs about as often as any other.
func TestRandomText(t *testing.T) {
	const n = 62 * 10_000
	rng := rand.New(rand.NewPCG(1, 2))
	count := map[byte]int{}
	for _, c := range appendRandom(nil, n, rng) {
		count[c]++
	}
	for c, times := range count {
		if times < 9_500 || times > 10_500 { // 5 standard deviations
			t.Errorf("%c occurs %d times in %d", c, times, n)
		}
	}
	for length := range 20 {
		if got := appendRandom([]byte("a"), length, rng); len(got) != 1+length || len(count) != 62 {
			t.Errorf("%q; %d letters", got, len(count))
		}
	}
}

func TestWeights(t *testing.T) {
	c := build(t, Spec{Seed: 1, Load: of(workload.Request{Name: "read", Weight: 3, Path: "/"}, workload.Request{Name: "write", Path: "/"})})
	reads := 0.0
	for _, r := range c.Requests {
		if r.Class == 0 {
			reads++
		}
	}
	if share := reads / float64(len(c.Requests)); math.Abs(share-0.75) > 0.02 {
		t.Errorf("%v of the requests are reads, want 0.75", share)
	}
}

func TestPrebuiltBodies(t *testing.T) {
	bodies, err := ReadBodies(strings.NewReader("one\n\ntwo\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := build(t, Spec{Load: of(workload.Request{Path: "/", Body: workload.Body{Corpus: "f"}}), Bodies: map[string][][]byte{"f": bodies}})
	if len(c.Requests) != 2 || string(c.Requests[0].Body) != "one" || string(c.Requests[1].Body) != "two" {
		t.Errorf("got %+v", c.Requests)
	}
}

func TestSameSeedSameCorpus(t *testing.T) {
	s := Spec{Seed: 7, Load: workload.Load{Keys: &workload.Keys{Count: 50}, Requests: []workload.Request{{Path: "/${random:5}", Body: workload.Body{Text: "${key}"}}}}}
	a, b := build(t, s), build(t, s)
	for i := range a.Requests {
		if a.Requests[i].Path != b.Requests[i].Path || string(a.Requests[i].Body) != string(b.Requests[i].Body) {
			t.Fatalf("request %d differs", i)
		}
	}
}

func TestErrors(t *testing.T) {
	one := func(r workload.Request) Spec { return Spec{Load: of(r)} }
	for _, tt := range []struct {
		spec Spec
		want string
	}{
		{one(workload.Request{Body: workload.Body{Text: "ab${ky}"}}), "column 3: unknown placeholder ${ky}; known are ${id}"},
		{one(workload.Request{Body: workload.Body{Text: "${id"}}), "column 1: the placeholder has no end"},
		{one(workload.Request{Body: workload.Body{Text: "${random:x}"}}), "the length must be from 0 to"},
		{one(workload.Request{Body: workload.Body{Text: "${random:99999999999}"}}), "the length must be from 0 to"},
		{one(workload.Request{Body: workload.Body{Text: "${row.a}"}}), "needs a feeder"},
		{one(workload.Request{Path: "/${id}"}), "in a body only"},
		{one(workload.Request{Name: "r", Headers: map[string]string{"X": "${id}"}}), "class r: header X"},
		{one(workload.Request{Weight: -1}), "the weight is -1"},
		{one(workload.Request{Name: "a,b"}), "letters, digits"},
		{one(workload.Request{Body: workload.Body{Text: strings.Repeat("x", 1000), Copies: 100_000}}), "body: 100000 copies take more than 16 MiB; lower repeat"},
		{one(workload.Request{Body: workload.Body{Text: "${what}", Copies: 2}}), "unknown placeholder ${what}"},
		{one(workload.Request{Body: workload.Body{Corpus: "f"}}), "corpus f: there are no bodies"},
		{Spec{Load: of(workload.Request{Name: "a"}, workload.Request{Name: "a"})}, "class a occurs twice"},
		{Spec{Load: of(make([]workload.Request, 257)...)}, "there may be 256"},
		{one(workload.Request{Headers: map[string]string{"X": "a\nb"}}), "line break"},
		{Spec{Load: of(workload.Request{Headers: map[string]string{"X": "${row.a}"}}), Rows: &Rows{columns: []string{"a"}, rows: [][]string{{"\r\n"}}}}, "line break"},
		{Spec{Load: of(workload.Request{Body: workload.Body{Text: "${row.a}"}}), Rows: &Rows{columns: []string{"a"}, rows: [][]string{{strings.Repeat("x", 1<<20)}}}}, "more than 256 MiB"},
		{Spec{Load: workload.Load{Keys: &workload.Keys{Count: -1}}}, "the number of keys is -1"},
		{Spec{Load: workload.Load{Keys: &workload.Keys{Zipf: -1}}}, "exponent"},
		{Spec{Load: of(workload.Request{Body: workload.Body{Text: "${row.x}"}}), Rows: &Rows{columns: []string{"a", "b"}, rows: [][]string{{"", ""}}}}, "it has a, b"},
	} {
		if _, err := Build(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
}

// Headers are bounded while a request is built, those without placeholders as well.
func TestHeadersAreBounded(t *testing.T) {
	r := workload.Request{Headers: map[string]string{"A": "12", "B": "${random:16777216}"}}
	b := builder{spec: Spec{Load: of(r)}, rng: rand.New(rand.NewPCG(1, 2))}
	p, err := b.parse(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = "header A: the headers of this load's requests take more than 1024 MiB"
	b.headers = maxHeaders - 1
	if _, err := b.headerOf(p); err == nil || !strings.Contains(err.Error(), want) || b.headers != maxHeaders+1 {
		t.Errorf("%v after %d bytes", err, b.headers)
	}
	delete(r.Headers, "B")
	if _, err := b.parse(r); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

func TestFeederErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{second(ReadCSV(strings.NewReader(""))), "is empty"},
		{second(ReadCSV(strings.NewReader("a,b\n"))), "no rows"},
		{second(ReadCSV(strings.NewReader("a,b\n1\n"))), "wrong number of fields"},
		{second(ReadNDJSON(strings.NewReader("{\"a\":1}\n[]\n"))), "line 2 is not a JSON object"},
		{second(ReadNDJSON(strings.NewReader("{\"a\":1}\n{}\n"))), `line 2 has no field "a"`},
		{second(ReadBodies(strings.NewReader("\n"))), "no bodies"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", tt.err, tt.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzTemplate(f *testing.F) {
	f.Add(`{"id":"${run}-${id}","k":"${key}","$$":"${random:3}"}`)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 || strings.Contains(s, "random") {
			return // a long random text takes long to build and tests nothing else
		}
		Build(Spec{Load: of(workload.Request{Path: "/", Body: workload.Body{Text: s}})})
	})
}

// Whatever a feeder contains, a JSON template yields JSON.
func FuzzRows(f *testing.F) {
	f.Add("a\n\"x\"\"\"\n", "{\"a\":\"\\n\"}")
	f.Fuzz(func(t *testing.T, text, lines string) {
		for _, rows := range []*Rows{first(ReadCSV(strings.NewReader(text))), first(ReadNDJSON(strings.NewReader(lines)))} {
			if rows == nil || rows.Len() > 100 {
				continue
			}
			c, err := Build(Spec{Rows: rows, Load: of(workload.Request{Headers: map[string]string{"Content-Type": "application/json"}, Body: workload.Body{Text: `"${row.0}"`}})})
			if err != nil {
				continue
			}
			for _, r := range c.Requests[:rows.Len()] {
				if !json.Valid(r.Body) {
					t.Fatalf("%q is no JSON", r.Body)
				}
			}
		}
	})
}

func first[T any](v T, err error) T {
	if err != nil {
		var none T
		return none
	}
	return v
}

// Processes that each take every n-th request together send the same requests as one process.
func TestShare(t *testing.T) {
	const processes, takes = 3, 40
	one := &Corpus{Requests: make([]Request, 7)}
	var want, got [takes * processes]int
	for i := range want {
		want[i], _ = one.Take()
	}
	for k := range processes {
		c := &Corpus{Requests: one.Requests}
		c.Share(k, processes)
		for i := range takes {
			got[k+i*processes], _ = c.Take()
		}
	}
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
