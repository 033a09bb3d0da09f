package corpus

import (
	"strings"
	"testing"

	"dyno/lab/workload"
)

// Fill escapes values for the place where they stand, and a flow keeps its row and its key.
func TestLiveEscapes(t *testing.T) {
	rows, err := ReadCSV(strings.NewReader("name\na b\nc/d\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLive(Spec{Rows: rows, Load: workload.Load{Keys: &workload.Keys{Count: 1000}}, Run: "run"})
	if err != nil {
		t.Fatal(err)
	}
	saved := []string{"token"}
	first, second := l.Values(1), l.Values(2)
	for _, v := range []*Values{first, second} {
		v.Saved["token"] = `"x&y/"`
	}
	url, err := l.URL("http://h/${token}/${row.name}?t=${token}", saved)
	if err != nil {
		t.Fatal(err)
	}
	json, _ := l.Body(`{"t":"${token}","id":"${id}","run":"${run}$$"}`, map[string]string{"content-type": "application/json"}, saved)
	form, _ := l.Body("t=${token}", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, saved)
	plain, _ := l.Header("${token}", saved)
	for _, tt := range []struct {
		of   *Values
		in   Template
		want string
	}{
		{first, url, "http://h/%22x&y%2F%22/a%20b?t=%22x%26y%2F%22"},
		{second, url, "http://h/%22x&y%2F%22/c%2Fd?t=%22x%26y%2F%22"},
		{second, json, `{"t":"\"x\u0026y/\"","id":"0000000000000002","run":"run$"}`},
		{first, form, "t=%22x%26y%2F%22"},
		{first, plain, `"x&y/"`},
	} {
		if got := string(tt.of.Fill(nil, tt.in)); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	key, _ := l.Header("${key} ${random:4}", nil)
	a, b := string(first.Fill(nil, key)), string(first.Fill(nil, key))
	if a[:strings.Index(a, " ")] != b[:strings.Index(b, " ")] || len(a) != len(b) {
		t.Errorf("%q and %q", a, b)
	}
	if _, err := l.Header("${token}", nil); err == nil {
		t.Error("a value that is not saved was accepted")
	}
}
