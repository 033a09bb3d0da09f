package agents

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
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

func packedOf(t testing.TB, s *corpus.Spec) []byte {
	t.Helper()
	b, err := pack(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sent returns a load as another process decodes it.
func sent(t testing.TB, s *corpus.Spec) *corpus.Spec {
	t.Helper()
	got, err := unpack(packedOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Another process builds the same requests from a packed load.
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

// Another process runs the same flows, with their rows and patterns, and knows which hosts they
// go to.
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

// Bodies and rows that are not UTF-8 arrive byte for byte. Columns that the load does not name
// are not sent. Any other text that is not UTF-8 is refused, and the error names it.
func TestPackBytes(t *testing.T) {
	rows, err := corpus.ReadCSV(strings.NewReader("gr\xf6\xdfe,password,n\nf\xfcnf,secret,<1>\nelf,hidden,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := mix()
	s.Rows, s.Load.Requests[1].Body.Text = rows, "\x00\xff<${row.gr\xf6\xdfe}>${row.2}"
	got := sent(t, s)
	_, want, err := engine.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, requests, err := engine.New(got); err != nil || !reflect.DeepEqual(requests.Requests, want.Requests) {
		t.Errorf("the requests differ: %v", err)
	}
	if value, ok := got.Rows.Value(0, "password"); !ok || value != "" {
		t.Errorf("the password %q was sent", value)
	}
	if value, _ := s.Rows.Value(0, "password"); value != "secret" || !strings.HasPrefix(s.Load.Requests[1].Body.Text, "\x00\xff") {
		t.Error("packing changed the load")
	}
	flow := shopping(t)
	flow.Load.Steps[1].Body.Text = "\xff${token}"
	if got := sent(t, flow); !reflect.DeepEqual(got, flow) {
		t.Errorf("%+v, want %+v", got, flow)
	}
	for want, change := range map[string]func(*workload.Load){
		"header X-A: it is not UTF-8":          func(l *workload.Load) { l.Headers = map[string]string{"X-A": "\xff"} },
		"step buy: path: it is not UTF-8":      func(l *workload.Load) { l.Steps[1].Path = "/\xe4" },
		"corpus b?.txt: it is not UTF-8":       func(l *workload.Load) { l.Steps[0].Body.Corpus = "b\xff.txt" },
		"url: it is not UTF-8, and agents tak": func(l *workload.Load) { l.URL += "/\xff" },
	} {
		s := shopping(t)
		change(&s.Load)
		if _, err := pack(s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A load that agents would refuse is refused before it is sent.
func TestPackedSize(t *testing.T) {
	var out bytes.Buffer
	b := &bounded{out: &out, most: 1 << 20}
	if _, err := b.Write(make([]byte, 1<<20)); err != nil || out.Len() != 1<<20 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	if _, err := b.Write([]byte("x")); err == nil || out.Len() != 1<<20 || !strings.Contains(err.Error(), "agents take up to 1 MiB") {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	s := mix()
	s.Load.Headers = map[string]string{"X": strings.Repeat("<&>", 1000)}
	z, err := gzip.NewReader(bytes.NewReader(packedOf(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || len(text) > 4000 {
		t.Errorf("a header of 3000 bytes takes %d, %v", len(text), err)
	}
}

// The memory that a load's rows and headers take counts toward an agent's limit.
func TestWorkSize(t *testing.T) {
	anywhere := func(string) error { return nil }
	flow := shopping(t)
	rows, err := corpus.ReadCSV(strings.NewReader("name\n" + strings.Repeat("x", 1000) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	flow.Rows = rows
	headers := mix()
	headers.Load.Requests = headers.Load.Requests[1:2]
	headers.Load.Requests[0].Headers["X"] = strings.Repeat("x", 1000)
	for _, s := range []*corpus.Spec{flow, headers} {
		packed := packedOf(t, s)
		w, err := makeWork(someKey, packed, anywhere, anywhere)
		if err != nil || w.size < len(packed)+1000 {
			t.Errorf("%+v takes %d bytes, %v", w, w.size, err)
		}
	}
}

// The packed load contains the content of the certificate authority's file.
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

// An agent refuses a load that it could not send, or that would take too much memory.
func TestMakeWorkRefuses(t *testing.T) {
	anywhere := func(string) error { return nil }
	for text, want := range map[string]string{
		`{"load":{"url":"http://h/"},"rows":{"columns":["YQ==","Yg=="],"rows":[["eA=="]]}}`: "row 1 has 1 fields of 2",
		`{"load":{"url":"http://h/","pipeline":-1}}`:                                        "below 0",
		`{"load":{"url":"http://h/","kind":"jobs"}}`:                                        "cannot be split",
		`{"load":{"url":"http://h/","kind":"grpc"}}`:                                        "names no call",
		`{"load":{"url":"http://h/","kind":"grpc","grpc":{"call":"a.B/C"}}}`:                "no descriptors",
		`{"load":{"kind":"flows","url":"http://h/"}}`:                                       "from 1 to 256 steps",
		`{"load":{"url":"/only/a/path"}}`:                                                   "names no host",
		`{"load":{"url":"http://h/"},"surprise":1}`:                                         "unknown field",
		`{"load":{"url":"http://h/","requests":[{}]}}`:                                      "0 texts of 1 bodies",
		// 400 copies of a row of 1 MB
		`{"load":{"url":"http://h/","requests":[{"body":{"copies":400}}]},"texts":["JHtyb3cuYX0="],"rows":{"columns":["YQ=="],"rows":[["` + strings.Repeat("eHh4", 1<<20/3) + `"]]}}`: "MiB",
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

// Each text makes a single request; a mix makes thousands, which would take the fuzzer seconds.
func FuzzMakeWork(f *testing.F) {
	f.Add(`{"load":{"url":"http://h/a","requests":[{"method":"PUT","body":{"copies":2,"array":true},"check":{"status":[200],"json":[{"path":"*.a","equals":[1]}]}}]},"texts":["JHtpZH0="],"run":"r","seed":7}`)
	f.Add(`{"load":{"kind":"flows","url":"http://h","steps":[{"name":"a","path":"/${row.n}","save":{"t":{"matches":"(.)"}}},{"url":"http://i/${t}"}]},"texts":["",""],"rows":{"columns":["bg=="],"rows":[["MQ=="]]}}`)
	f.Add(`{"load":{"kind":"grpc","url":"http://h/","grpc":{"call":"a.B/C"}},"descriptors":"aGFsbG8="}`)
	f.Add(`{"load":{"url":"wss://h/","requests":[{"body":{"corpus":"c"}}]},"texts":[""],"bodies":{"c":["YQ=="]},"ca":"YQ=="}`)
	f.Add(`{}`)
	anywhere := func(string) error { return nil }
	f.Fuzz(func(t *testing.T, text string) {
		unpack([]byte(text))
		makeWork(someKey, packed(t, text), anywhere, anywhere)
	})
}
