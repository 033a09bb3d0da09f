package corpus

import (
	"encoding/json"
	"strings"
	"testing"
)

func compile(t testing.TB, path string, equals any, exists bool) jsonTest {
	t.Helper()
	test, err := compileTest(path, equals, exists)
	if err != nil {
		t.Fatal(err)
	}
	return test
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		path   string
		equals any
		exists bool
		answer string
		units  int
		want   int
	}{
		{"result", nil, true, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`, 1, 0},
		{"result", nil, true, `{"id":1,"result":null}`, 1, 1},
		{"result", nil, true, `{"id":1,"error":{"code":-32000}}`, 1, 1},
		{"error", nil, false, `{"id":1,"result":null}`, 1, 0},
		{"error.code", -32000, false, ` { "error" : { "code" : -3.2e4 } } `, 1, 0},
		{"error.code", -32000, false, `{"error":5}`, 1, 1},
		{"result.status", "yes", false, `{"result":{"status":"y\u0065s"}}`, 1, 0},
		{"result.status", "yes", false, `{"result":{"st\u0061tus":"yes"}}`, 1, 0},
		{"result.status", "yes", false, `{"result":{"status":"no","status":"yes"}}`, 1, 0},
		{"ok", true, false, `{"ok":true}`, 1, 0},
		{"ok", true, false, `{"ok":"true"}`, 1, 1},
		{"n", 1000000, false, `{"n":1e6}`, 1, 0},
		{"list", []any{1, "a"}, false, `{"list":[1.0,"a"]}`, 1, 0},
		{"result", nil, true, `{"result":1} x`, 1, 1},
		{"result", nil, true, `{"result":01}`, 1, 1},
		{"result", nil, true, `{"result":1,}`, 20, 20},
		{"result", nil, true, ``, 20, 20},

		{"*.result", nil, true, `[{"result":1},{"result":"x"},{"result":{}}]`, 3, 0},
		{"*.result", nil, true, `[{"result":1},{"error":{}},{"result":null}]`, 3, 2},
		{"*.result", nil, true, `[{"result":1},{"error":{}},{"result":null}]`, 1, 1},
		{"*.result", nil, true, `[{"result":1}]`, 20, 19},
		{"*.result", nil, true, `[]`, 1, 1},
		{"*.result", nil, true, `[{"result":1},{"result":1},{}]`, 2, 1},
		{"*.result", nil, true, `{"error":{"code":-32600}}`, 20, 20},
		{"*.result", nil, true, `[{"result":1},{"result":1]`, 2, 2},
		{"*.error", nil, false, `[{"result":1},5]`, 2, 0},
		{"*", "ok", false, `["ok","no"]`, 2, 1},
		{"result.*.ok", true, false, `{"result":[{"ok":true},{"ok":false}],"more":[1,{"a":[]}]}`, 2, 1},
		{"result.*.ok", true, false, `{"result":[{"ok":true}]`, 1, 1},
	} {
		if got := jsonFailures([]jsonTest{compile(t, c.path, c.equals, c.exists)}, []byte(c.answer), c.units); got != c.want {
			t.Errorf("%s of %s, %d units: %d failures, want %d", c.path, c.answer, c.units, got, c.want)
		}
	}
}

// A member that fails two tests counts as one error.
func TestFailuresOfSeveralTests(t *testing.T) {
	tests := []jsonTest{compile(t, "*.a", 1, false), compile(t, "*.b", 1, false)}
	answer := `[{"a":1,"b":1},{"a":2,"b":2},{"a":2,"b":1},{"a":1,"b":1}]`
	if got := jsonFailures(tests, []byte(answer), 4); got != 2 {
		t.Errorf("%d failures, want 2", got)
	}
}

func TestCompileRefusesTwoArrays(t *testing.T) {
	if _, err := compileTest("*.logs.*.address", nil, true); err == nil {
		t.Error("a path with two * was accepted")
	}
}

func TestField(t *testing.T) {
	for _, c := range []struct {
		answer string
		path   []string
		want   string
	}{
		{`{"jsonrpc":"2.0","result":[{"id":"x"}],"id":"a"}`, []string{"id"}, `"a"`},
		{`[{"id":7},{"id":8}]`, []string{"*", "id"}, `7`},
		{`[]`, []string{"*", "id"}, ``},
		{`5`, []string{"id"}, ``},
	} {
		if got, err := JSONField([]byte(c.answer), c.path...); err != nil || string(got) != c.want {
			t.Errorf("%v of %s: %s, %v; want %s", c.path, c.answer, got, err, c.want)
		}
	}
}

func TestEach(t *testing.T) {
	for _, c := range []struct{ answer, path, want string }{
		{`[{"result":1},{"error":{}},{"result":"x"}]`, "*.result", `1 "x"`},
		{`{"result":{"transactions":["a","b"],"n":1}}`, "result.transactions.*", `"a" "b"`},
		{`{"result":null}`, "result.transactions.*", ``},
		{`[1,2`, "*", `1 2`},
		{``, "*", ``},
	} {
		var got []string
		EachJSONField([]byte(c.answer), func(value []byte) { got = append(got, string(value)) }, strings.Split(c.path, ".")...)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s of %s: %s, want %s", c.path, c.answer, got, c.want)
		}
	}
}

// The scanner accepts what encoding/json accepts, up to the scanner's maximum depth.
func FuzzFailures(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,{"b":"\u00e9\n"}],"c":null}`, `[[],{},true]`, `"\ud800"`, `-`, `{"a"}`, `[1 2]`, "\x00", `1.`, `[,]`} {
		f.Add(s)
	}
	valid := []jsonTest{compile(f, "nothing.here", nil, false)}
	each := []jsonTest{compile(f, "*.nothing", nil, false)}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Count(s, "[")+strings.Count(s, "{") > maxDepth {
			return
		}
		if got := jsonFailures(valid, []byte(s), 1) == 0; got != json.Valid([]byte(s)) && !strings.Contains(s, "nothing") {
			t.Errorf("%q: valid %v", s, got)
		}
		var array []any
		want := json.Unmarshal([]byte(s), &array) == nil && array != nil && len(array) >= 1
		if got := jsonFailures(each, []byte(s), 1) == 0; got != want && !strings.Contains(s, "nothing") {
			t.Errorf("%q: an array %v", s, got)
		}
	})
}

const hash = `"0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"`

func answers(n int) []byte {
	one := `{"jsonrpc":"2.0","id":"00000000000000ff","result":` + hash + `}`
	return []byte("[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]")
}

func TestFailuresAllocateNothing(t *testing.T) {
	answer, tests := answers(20), []jsonTest{compile(t, "*.result", nil, true), compile(t, "*.error", nil, false)}
	if n := testing.AllocsPerRun(100, func() { jsonFailures(tests, answer, 20) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkFailures(b *testing.B) {
	answer, tests := answers(20), []jsonTest{compile(b, "*.result", nil, true)}
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		jsonFailures(tests, answer, 20)
	}
}
