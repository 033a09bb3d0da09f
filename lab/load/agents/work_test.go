package agents

import (
	"bytes"
	"compress/gzip"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/workload"
)

func mix() *corpus.Spec {
	return &corpus.Spec{Run: "r", Seed: 1 << 63, Load: workload.Load{URL: "http://127.0.0.1:1/", Engine: engine.Std, Keys: &workload.Keys{Count: 10}, Requests: []workload.Request{
		{Name: "get", Path: "/${key}", Check: &workload.Check{Status: []int{200}, JSON: []workload.JSONTest{{Path: "a.b", Equals: 1.5}}}},
		{Name: "post", Weight: 2, Path: "/", Headers: map[string]string{"Accept": "${random:3}"}, Body: workload.Body{Text: `{"id":"${id}","r":"${random:5}"}`}},
		{Name: "file", Body: workload.Body{Corpus: "bodies.txt"}},
	}}, Bodies: map[string][][]byte{"bodies.txt": {[]byte("a"), {0xff}}}}
}

func shopping(t testing.TB) *corpus.Spec {
	t.Helper()
	rows, err := corpus.ReadCSV(strings.NewReader("name\nann\nbob\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &corpus.Spec{Rows: rows, Run: "r", Load: workload.Load{Kind: workload.Flows, URL: "http://127.0.0.1:1", Steps: []workload.Step{
		{Request: workload.Request{Name: "login", Path: "/${row.name}"}, Think: time.Second, Save: map[string]workload.Save{"token": {Matches: "t=(.)"}}},
		{Request: workload.Request{Name: "buy", Headers: map[string]string{"X": "${key}"}, Check: &workload.Check{Status: []int{201}}}, URL: "http://localhost:2/${token}"},
	}, Schedule: workload.Schedule{Kind: workload.Closed}}}
}

// sent is a load as another process reads it.
func sent(t testing.TB, s *corpus.Spec) *corpus.Spec {
	t.Helper()
	b, err := pack(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Another process builds the same requests.
func TestPack(t *testing.T) {
	s := mix()
	got := sent(t, s)
	if !reflect.DeepEqual(got, s) {
		t.Errorf("%+v, want %+v", got, s)
	}
	d, requests, err := engine.New(got)
	if err != nil || d.Engine() != "std" {
		t.Fatalf("%v, %v", d, err)
	}
	_, want, err := engine.New(s)
	if err != nil || !reflect.DeepEqual(requests.Requests, want.Requests) || !reflect.DeepEqual(requests.Classes, want.Classes) {
		t.Errorf("the requests differ: %v", err)
	}
	s.Load.Once = true
	if _, err := pack(s); err == nil || !strings.Contains(err.Error(), "load.once") {
		t.Error(err)
	}
	s.Load.Once, s.Load.Deliveries = false, "http://127.0.0.1:1/receipts"
	if _, err := pack(s); err == nil || !strings.Contains(err.Error(), "receipts") {
		t.Error(err)
	}
}

// Flows are the same in another process, with their rows and patterns; and what is loaded is known.
func TestPackFlows(t *testing.T) {
	s := shopping(t)
	got := sent(t, s)
	if !reflect.DeepEqual(got, s) {
		t.Errorf("%+v, want %+v", got, s)
	}
	if d, _, err := engine.New(got); err != nil || d.Engine() != "flows" {
		t.Errorf("%v, %v", d, err)
	}
	if hosts, err := engine.Hosts(got); err != nil || strings.Join(hosts, " ") != "127.0.0.1 localhost" {
		t.Errorf("it loads %v, %v", hosts, err)
	}
	got.Load.Steps[1].URL = "http://${token}/"
	if hosts, err := engine.Hosts(got); err == nil {
		t.Errorf("a host that is not known: %v", hosts)
	}
}

// The content of a certificate authority's file goes along.
func TestPackCA(t *testing.T) {
	s := mix()
	s.Load.URL, s.CA = "https://127.0.0.1:1/", []byte("no certificate")
	if _, _, err := engine.New(sent(t, s)); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Error(err)
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

// What an agent could not send, or would need more than its memory for, it refuses.
func TestMakeWorkRefuses(t *testing.T) {
	anywhere := func(string) error { return nil }
	for text, want := range map[string]string{
		`{"load":{"url":"http://h/"},"rows":{"columns":["a","b"],"rows":[["x"]]}}`: "row 1 has 1 fields of 2",
		`{"load":{"url":"http://h/","pipeline":-1}}`:                               "below 0",
		`{"load":{"url":"http://h/","kind":"jobs"}}`:                               "cannot be split",
		`{"load":{"url":"http://h/","kind":"grpc"}}`:                               "names no call",
		`{"load":{"url":"http://h/","kind":"grpc","grpc":{"call":"a.B/C"}}}`:       "no descriptors",
		`{"load":{"kind":"flows","url":"http://h/"}}`:                              "from 1 to 256 steps",
		`{"load":{"url":"/only/a/path"}}`:                                          "names no host",
		`{"load":{"url":"http://h/"},"surprise":1}`:                                "unknown field",
		// 400 copies of a row of 1 MB
		`{"load":{"url":"http://h/","requests":[{"body":{"text":"${row.a}","copies":400}}]},"rows":{"columns":["a"],"rows":[["` + strings.Repeat("x", 1<<20) + `"]]}}`: "MiB",
	} {
		if _, err := makeWork(someKey, packed(t, text), anywhere, anywhere); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %v, want %q", text, err, want)
		}
	}
	nowhere := func(string) error { return errors.New("not permitted") }
	if _, err := makeWork(someKey, packed(t, `{"load":{"url":"http://h/"}}`), nowhere, nowhere); err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Error(err)
	}
}

// The texts make one request each: a mix makes thousands, which takes a fuzzer seconds.
func FuzzMakeWork(f *testing.F) {
	f.Add(`{"load":{"url":"http://h/a","requests":[{"method":"PUT","body":{"text":"${id}","copies":2,"array":true},"check":{"status":[200],"json":[{"path":"*.a","equals":[1]}]}}]},"run":"r","seed":7}`)
	f.Add(`{"load":{"kind":"flows","url":"http://h","steps":[{"name":"a","path":"/${row.n}","save":{"t":{"matches":"(.)"}}},{"url":"http://i/${t}"}]},"rows":{"columns":["n"],"rows":[["1"]]}}`)
	f.Add(`{"load":{"kind":"grpc","url":"http://h/","grpc":{"call":"a.B/C"}},"descriptors":"aGFsbG8="}`)
	f.Add(`{"load":{"url":"wss://h/","requests":[{"body":{"corpus":"c"}}]},"bodies":{"c":["YQ=="]},"ca":"YQ=="}`)
	f.Add(`{}`)
	anywhere := func(string) error { return nil }
	f.Fuzz(func(t *testing.T, text string) {
		unpack([]byte(text))
		makeWork(someKey, packed(t, text), anywhere, anywhere)
	})
}
