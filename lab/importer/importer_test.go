package importer

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/scenario"
	"dyno/lab/workload"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden reads one file of each form, and compares the scenario, and the list of what was
// taken and left out, with the files in the folder. Secrets in the inputs contain s3cr3t or
// s3cret.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.*")
	if err != nil || len(inputs) != 8 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(filepath.Dir(in)), func(t *testing.T) {
			got := convert(t, in, Options{})
			if s := string(got.Scenario) + shown(got); strings.Contains(s, "s3cr3t") || strings.Contains(s, "s3cret") || strings.Contains(s, "czNjcmV0") {
				t.Errorf("a secret got through:\n%s", s)
			}
			same(t, filepath.Join(filepath.Dir(in), "scenario.yaml"), got.Scenario)
			same(t, filepath.Join(filepath.Dir(in), "report.txt"), []byte(shown(got)))
		})
	}
}

func convert(t *testing.T, in string, o Options) *Result {
	t.Helper()
	text, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	form, err := FormOf("", in, text)
	if err != nil {
		t.Fatal(err)
	}
	load, err := form.Read(text, form.Files(filepath.Dir(in)))
	if err != nil {
		t.Fatal(err)
	}
	o.Name, o.Source, o.Rows, o.Bodies = form.Name, form.What, "x.rows.ndjson", "x.bodies.ndjson"
	got, err := Convert(load, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func shown(r *Result) string {
	var out strings.Builder
	for _, line := range r.Taken {
		out.WriteString("took " + line + "\n")
	}
	for _, o := range r.Left {
		out.WriteString("left " + Text(o) + "\n")
	}
	for _, n := range r.Notes {
		out.WriteString("note " + n + "\n")
	}
	for _, f := range r.Files {
		fmt.Fprintf(&out, "file %s, secret %v, %d lines\n", f.Name, f.Secret, bytes.Count(f.Data, []byte("\n")))
	}
	return out.String()
}

func same(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./lab/importer -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; look at it, and if it is right: go test ./lab/importer -update\ngot:\n%s", path, got)
	}
}

// TestSecretsAreKeptApart: with the option, secrets are in the rows, and only there.
func TestSecretsAreKeptApart(t *testing.T) {
	got := convert(t, "testdata/curl/input.txt", Options{Secrets: true})
	if len(got.Files) != 1 || !got.Files[0].Secret {
		t.Fatalf("files %+v", got.Files)
	}
	for _, secret := range []string{`"access_token":"s3cr3t"`, `"authorization":"Bearer s3cret-value"`, `"cookie":"session=s3cret; theme=dark"`} {
		if !bytes.Contains(got.Files[0].Data, []byte(secret)) {
			t.Errorf("the rows lack %s: %s", secret, got.Files[0].Data)
		}
	}
	if s := string(got.Scenario) + shown(got); strings.Contains(s, "s3cr") {
		t.Errorf("a secret got into the scenario:\n%s", s)
	}
	for _, use := range []string{"access_token=${row.access_token}", "authorization: ${row.authorization}", "feeder"} {
		if !bytes.Contains(got.Scenario, []byte(use)) {
			t.Errorf("the scenario lacks %s", use)
		}
	}
}

func TestHostTargetAndStaticFiles(t *testing.T) {
	got := convert(t, "testdata/har/input.har", Options{Host: "shop.example.com", Target: "http://127.0.0.1:8080/shop/", NoStatic: true})
	if bytes.Contains(got.Scenario, []byte("app.js")) {
		t.Error("a static file is there in spite of NoStatic")
	}
	s, err := scenario.Parse("x", got.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if s.Target.URL != "http://127.0.0.1:8080" || s.Load.Requests[0].Path != "/shop/" {
		t.Errorf("target %q, first path %q", s.Target.URL, s.Load.Requests[0].Path)
	}
	load := &Load{Requests: []Request{{Method: "GET", URL: "http://a/"}}}
	for _, o := range []Options{{Host: "b"}, {Target: "127.0.0.1:8080"}, {Target: "http://x/?a=1"}} {
		if _, err := Convert(load, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := Convert(&Load{}, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("no request: %v", err)
	}
}

// TestKinds: in a mix, requests have the values that the file has; pauses and possible secrets are
// left out.
func TestKinds(t *testing.T) {
	for in, want := range map[string][]string{
		"har-flow/input.har": {"took 1x POST /pay\n", "left Authorization: it may be a secret", "left 4 pauses:"},
	} {
		got := convert(t, "testdata/"+in, Options{Kind: Mix})
		for _, w := range want {
			if s := shown(got); !strings.Contains(s, w) {
				t.Errorf("%s: got\n%s\nwant %s", in, s, w)
			}
		}
		if s, err := scenario.Parse("x", got.Scenario); err != nil || len(s.Load.Steps) > 0 {
			t.Errorf("%s: flows, %v", in, err)
		}
	}
	got := convert(t, "testdata/urls/input.txt", Options{Kind: Flows})
	if s, err := scenario.Parse("x", got.Scenario); err != nil || len(s.Load.Steps) == 0 {
		t.Errorf("a list of URLs in turn: %v", err)
	}
}

// TestFlowLimits: a value that no step saves, too many steps and long pauses do not make a scenario
// invalid.
func TestFlowLimits(t *testing.T) {
	load := &Load{Flows: true}
	load.Add(Request{Method: "POST", URL: "http://other/login", Flow: Flow{Save: []Save{{Name: "token", From: workload.Save{JSON: "token"}}}}})
	load.Add(Request{Method: "GET", URL: "http://a/" + markOf("token")})
	for range 300 {
		load.Add(Request{Method: "GET", URL: "http://a/", Flow: Flow{Think: time.Second}})
	}
	got, err := Convert(load, Options{Name: "many"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"left GET of a URL: no request before it in the flow saves token", "left the last 44 requests: a flow has at most 256 steps", "note pauses of 4m15s in all were shortened to 10s"} {
		if !strings.Contains(shown(got), want) {
			t.Errorf("got\n%s\nwant %s", shown(got), want)
		}
	}
}

// TestFieldsOfTheConnection: header fields that change a connection are dropped, with a note.
func TestFieldsOfTheConnection(t *testing.T) {
	load := &Load{}
	load.Add(Request{Method: "GET", URL: "http://a/", Header: []Field{{Name: "Connection", Value: "close"}, {Name: "Content-Length", Value: "0"}}})
	load.Add(Request{Method: "GET", URL: "http://a/b", Header: []Field{{Name: "connection", Value: "keep-alive"}}})
	got, err := Convert(load, Options{Name: "x"})
	if err != nil || fmt.Sprint(got.Notes) != "[the field Connection: close was dropped: the load generator writes its own]" {
		t.Errorf("%v, notes %v", err, got.Notes)
	}
}

// TestManyURLs: thousands of URLs of one form become one kind of request, and each URL has a row.
func TestManyURLs(t *testing.T) {
	load := &Load{}
	for i := range 3000 {
		load.Add(Request{Method: "GET", URL: fmt.Sprintf("http://a/users/%d/orders?id=%d&x=y", i%1000, i)})
		load.Add(Request{Method: "GET", URL: fmt.Sprintf("http://a/files/6ba7b810-9dad-41d1-80b4-%012x", i%10)})
	}
	load.Add(Request{Method: "GET", URL: "http://a/health"})
	got, err := Convert(load, Options{Name: "many", Rows: "many.rows.ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse("x", got.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Request{
		{Name: "GET-users-v1-orders", Weight: 3000, Method: "GET", Path: "/users/${row.v1}/orders?id=${row.v2}&x=y"},
		{Name: "GET-files-v3", Weight: 3000, Method: "GET", Path: "/files/${row.v3}"},
		{Name: "GET-health", Method: "GET", Path: "/health"},
	}
	if fmt.Sprint(s.Load.Requests) != fmt.Sprint(want) {
		t.Errorf("classes\n%v\nwant\n%v", s.Load.Requests, want)
	}
	if n := bytes.Count(got.Files[0].Data, []byte("\n")); n != 3000 {
		t.Errorf("%d rows", n)
	}
}

// TestManyBodies: requests that differ only by their bodies become one kind with a corpus.
func TestManyBodies(t *testing.T) {
	load := &Load{}
	for i := range 300 {
		load.Add(Request{Method: "POST", URL: "http://a/", Body: fmt.Sprintf("{\"n\": %d,\n \"t\": \"${x}\"}", i)})
	}
	got, err := Convert(load, Options{Name: "many", Rows: "r", Bodies: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != 1 || !bytes.HasPrefix(got.Files[0].Data, []byte("{\"n\":0,\"t\":\"${x}\"}\n{\"n\":1,")) || !bytes.Contains(got.Scenario, []byte("corpus: b")) {
		t.Errorf("files %v\n%s", got.Files, got.Scenario)
	}
	if got, err = Convert(load, Options{Name: "many"}); err != nil || !strings.Contains(shown(got), "45 kinds of requests") {
		t.Errorf("without a file: %v\n%s", err, shown(got))
	}
}

// FuzzConvert: whatever requests an input has, the parser accepts the scenario, and no secret
// header gets into it.
func FuzzConvert(f *testing.F) {
	f.Add("GET", "http://a/x?token=y&b=${c}", "Cookie", "k=v", "a$$b")
	f.Add("POST", "/päth?q=ä b", "Accept", "${row.x}", "{\"p\":\"${\"}")
	f.Add("put", "http://u:p@[::1]:80", "x-api-key", "\u2028", "\r\n# a: [b")
	f.Fuzz(func(t *testing.T, method, url, name, value, body string) {
		load := &Load{}
		flow := Flow{Save: []Save{{Name: "token", From: workload.Save{JSON: "a.b"}, Value: value}}, Think: time.Duration(len(body)) * time.Second}
		r := Request{Method: method, URL: url, Body: body, Name: value, Flow: flow}
		if h := (Field{Name: name, Value: value}); h.Valid() {
			r.Header = append(r.Header, h, Field{Name: "Authorization", Value: "s3cret-" + value})
		}
		load.Add(r)
		load.Add(Request{Method: "GET", URL: "http://a/"})
		load.Add(Request{Method: "GET", URL: "http://a/" + markOf("token") + "?q=" + markOf("token"), Body: markOf("token")})
		for _, o := range []Options{{}, {Secrets: true, Rows: "r.ndjson"}, {Kind: Flows}, {Kind: Flows, Secrets: true, Rows: "r.ndjson"}} {
			got, err := Convert(load, o)
			if err != nil {
				t.Fatalf("%v: %+v", err, load.Requests)
			}
			if bytes.Contains(got.Scenario, []byte("s3cret-"+value)) && !strings.Contains(url+name+body, "s3cret-") {
				t.Errorf("a secret got into the scenario:\n%s", got.Scenario)
			}
		}
	})
}
