package escape

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func parsed(t *testing.T) *Listing {
	t.Helper()
	f, err := os.Open("testdata/m2.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	l.Packages = []Package{
		{Path: "example.com/svc/store", Name: "store", Dir: "/home/me/svc/store"},
		{Path: "example.com/svc/cmd/svcd", Name: "main", Dir: "/home/me/svc/cmd/svcd"},
	}
	return l
}

func TestParse(t *testing.T) {
	l := parsed(t)
	for _, tt := range []struct {
		at   place
		want []Escape
	}{
		{place{"example.com/svc/store", "store.go", 10}, []Escape{{35, "make([]byte, n) escapes to heap", "non-constant size"}}},
		{place{"example.com/svc/store", "store.go", 8}, []Escape{{31, "make([]byte, n) escapes to heap", "assign: kept = ~r0"}}},
		{place{"example.com/svc/store", "store.go", 13}, []Escape{
			{36, "&errors.errorString{...} escapes to heap", "return: return ~r0"}, {47, `"refused" escapes to heap`, ""}}},
		{place{"example.com/svc/cmd/svcd", "main.go", 22}, []Escape{{12, "moved to heap: n", "return: return &n (line 24)"}}},
		{place{"example.com/svc/cmd/svcd", "main.go", 38}, []Escape{{16, "append(s, x...) escapes to heap", "assign: s = append(s, x...)"}}},
		{place{"example.com/svc/cmd/svcd", "main.go", 40}, []Escape{{5, "a escapes to heap", ""}, {9, "b escapes to heap", ""}}},
	} {
		entry := l.lines[tt.at]
		if entry == nil {
			t.Errorf("%v: nothing was found", tt.at)
		} else if !reflect.DeepEqual(entry.escapes, tt.want) {
			t.Errorf("%v:\n got %+v\nwant %+v", tt.at, entry.escapes, tt.want)
		}
	}
	if got := l.lines[place{"example.com/svc/store", "store.go", 13}].inlined; !reflect.DeepEqual(got, map[string][]int{"New": {36}}) {
		t.Errorf("inlined on line 13: %v", got)
	}
}

// Parse finds the same escapes without explanations, which -m does not print.
func TestParseWithoutExplanations(t *testing.T) {
	l, err := Parse(strings.NewReader("# p\n./a.go:3:4: &T{...} escapes to heap\n./a.go:5:2: moved to heap: x\n./a.go:6:2: x does not escape\n"))
	if err != nil || len(l.lines) != 2 {
		t.Fatalf("%v, %v", l.lines, err)
	}
}

func TestSplitSymbol(t *testing.T) {
	for symbol, want := range map[string][2]string{
		"net/http.(*conn).serve":                                   {"net/http", "(*conn).serve"},
		"main.main.func1":                                          {"main", "main.func1"},
		"gopkg.in/yaml%2ev3.Unmarshal":                             {"gopkg.in/yaml%2ev3", "Unmarshal"},
		"dyno/parts/queue.(*Ring[go.shape.*uint8]).Put":            {"dyno/parts/queue", "(*Ring).Put"},
		"dyno/parts/queue.New[dyno/services/notify.lane]":          {"dyno/parts/queue", "New"},
		"slices.SortFunc[go.shape.[]main.x,go.shape.int].func1":    {"slices", "SortFunc.func1"},
		"atomic.(*Pointer[go.shape.struct { os.mu sync.Mutex }]).": {"atomic", "(*Pointer)."},
		"room": {"", "room"},
		"":     {"", ""},
		"[":    {"", ""},
	} {
		if pkg, name := splitSymbol(symbol); pkg != want[0] || name != want[1] {
			t.Errorf("%q: %q and %q, want %q", symbol, pkg, name, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile("testdata/m2.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(seed))
	f.Add("# p\nC:\\a.go:3:4: x escapes to heap in f:\nC:\\a.go:3:4:     from x (")
	f.Add("a.go:1:1: moved to heap: ")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for p, entry := range l.lines {
			if p.line < 1 || len(entry.escapes) > mostEscapes {
				t.Errorf("%v holds %d escapes", p, len(entry.escapes))
			}
			for _, e := range entry.escapes {
				if !strings.Contains(e.What, " to heap") {
					t.Errorf("%v: %q is not an escape", p, e.What)
				}
			}
			if _, ok := l.files[p.of()]; !ok {
				t.Errorf("%v has no file", p)
			}
		}
	})
}
