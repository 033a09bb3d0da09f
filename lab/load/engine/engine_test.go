package engine

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
	"dyno/lab/workload"
)

func work(t testing.TB) Work {
	t.Helper()
	c, err := corpus.Build(corpus.Spec{Run: "r", Seed: 5, Load: workload.Load{Keys: &workload.Keys{Count: 10}, Requests: []workload.Request{
		{Name: "get", Path: "/${key}", Check: &workload.Check{Status: []int{200}, JSON: []workload.JSONTest{{Path: "a.b", Equals: 1.5}}}},
		{Name: "post", Weight: 2, Path: "/", Headers: map[string]string{"Accept": "x"}, Body: workload.Body{Text: `{"id":"${id}","r":"${random:5}"}`}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return Work{URL: "http://127.0.0.1:1/", Engine: Std, Corpus: c, Pipeline: 1}
}

// Work is the same in another process.
func TestEncode(t *testing.T) {
	w := work(t)
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Corpus.Requests, w.Corpus.Requests) || !reflect.DeepEqual(got.Corpus.Classes, w.Corpus.Classes) || got.URL != w.URL || got.Engine != w.Engine {
		t.Error("the requests differ")
	}
	if d, err := got.Driver(); err != nil || d.Engine() != "std" {
		t.Errorf("%v, %v", d, err)
	}
	w.Corpus.Supply = &corpus.Supply{}
	if _, err := w.Encode(); err == nil || !strings.Contains(err.Error(), "load.once") {
		t.Error(err)
	}
}

func flow(t testing.TB) Work {
	t.Helper()
	rows, err := corpus.ReadCSV(strings.NewReader("name\nann\nbob\n"))
	if err != nil {
		t.Fatal(err)
	}
	return Work{URL: "http://127.0.0.1:1/", Corpus: &corpus.Corpus{}, Flow: &corpus.Spec{Rows: rows, Run: "r", Seed: 1 << 63, Load: workload.Load{URL: "http://127.0.0.1:1", Steps: []workload.Step{
		{Request: workload.Request{Name: "login", Path: "/${row.name}"}, Think: time.Second, Save: map[string]workload.Save{"token": {Matches: "t=(.)"}}},
		{Request: workload.Request{Name: "buy", Headers: map[string]string{"X": "${key}"}, Check: &workload.Check{Status: []int{201}}}, URL: "http://localhost:2/${token}"},
	}, Schedule: workload.Schedule{Kind: workload.Closed}}}}
}

// Flows are the same in another process, with their rows and patterns; and what is loaded is known.
func TestEncodeFlow(t *testing.T) {
	w := flow(t)
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got.Flow, w.Flow) {
		t.Fatalf("%+v, %v", got.Flow, err)
	}
	if d, err := got.Driver(); err != nil || d.Engine() != "flows" {
		t.Errorf("%v, %v", d, err)
	}
	if hosts, err := got.Hosts(); err != nil || strings.Join(hosts, " ") != "127.0.0.1 localhost" {
		t.Errorf("it loads %v, %v", hosts, err)
	}
	got.Flow.Load.Steps[1].URL = "http://${token}/"
	if hosts, err := got.Hosts(); err == nil {
		t.Errorf("a host that is not known: %v", hosts)
	}
	if _, err := Decode(packed(t, `{"url":"http://h/","classes":[],"requests":[],"flow":{"Rows":{"columns":["a","b"],"rows":[["x"]]}}}`)); err == nil {
		t.Error("a row with too few fields was taken")
	}
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The content of a certificate authority's file goes along.
func TestEncodeCA(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := work(t)
	w.URL, w.TLS = "https://127.0.0.1:1/", nethttp.TLS{CAFile: file}
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil || string(got.TLS.CA) != "no certificate" || got.TLS.CAFile != "" {
		t.Errorf("%+v, %v", got.TLS, err)
	}
	if _, err := got.Driver(); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Error(err)
	}
}

// Several processes that take every n-th request send the same requests as one.
func TestShare(t *testing.T) {
	const processes, takes = 3, 40
	one := &corpus.Corpus{Requests: make([]corpus.Request, 7)}
	var want, got [takes * processes]int
	for i := range want {
		want[i], _ = one.Take()
	}
	for k := range processes {
		c := &corpus.Corpus{Requests: one.Requests}
		c.Share(k, processes)
		for i := range takes {
			got[k+i*processes], _ = c.Take()
		}
	}
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	b, err := work(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	if b, err = flow(f).Encode(); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(packed(f, `{"url":"http://h/","call":"a.B/C","descriptors":"aGFsbG8=","classes":[{}],"requests":[{}]}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := Decode(b)
		if err != nil {
			return
		}
		w.TLS.CAFile = ""
		w.Driver()
	})
}
