package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/workload"
)

// TestParseEveryField reads a scenario that sets every kind of field.
func TestParseEveryField(t *testing.T) {
	text, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("everything.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	status, body := []int{202}, workload.Body{Text: `{"id":"${id}","key":"${key}","name":"${row.name}"}`}
	want := &Scenario{
		Name: "everything", Description: "Sets every field.\n", Mode: record.KindLadder,
		Target: Target{Debug: "http://${target.debug}", CPUs: 1.5, Process: Process{
			Build: "./cmd/x", Args: []string{"--listen", "127.0.0.1:0", "--workers", "8", "--fast", "true", "--data", "${scratch}"},
			Env: map[string]string{"GOGC": "200"}, Dir: "testdata", Ready: Ready{Line: true, URL: "http://${target.debug}/readyz", Timeout: 5 * time.Second}}},
		Dependencies: []Dependency{{Name: "sink", Process: Process{Command: []string{"./sink", "--delay"}, Args: []string{"5ms"}}}, {Name: "fill", Process: Process{Command: []string{"./fill"}, Ready: Ready{Exit: true}}}},
		Setup: []Request{{Method: "PUT", URL: "http://${target.listen}/x", Headers: map[string]string{"X-Number": "5"},
			Body: `{"url":"http://${sink.listen}/"}`, Expect: []int{200, 201}},
			{URL: "http://${target.listen}/x/${n}", Body: "${n}", Repeat: 10}},
		Load: Load{
			URL: "http://${target.listen}/", Headers: map[string]string{"Content-Type": "application/json"},
			Feeder: &workload.Feeder{Program: workload.Program{Build: "./cmd/users", Args: []string{"--rows", "10"}}, Format: "csv"}, Keys: &workload.Keys{Count: 10000, Zipf: 0.8},
			Requests: []workload.Request{
				{Name: "read", Weight: 3, Method: "GET", Path: "/v1/${key}", Headers: map[string]string{"Accept": "*/*"}, Body: body},
				{Name: "write", Method: "POST", Body: body, Check: &workload.Check{Status: status, JSON: []workload.JSONTest{{Path: "a.b", Equals: "c"}, {Path: "d", Exists: true}}}},
			},
			Check:  workload.Check{Status: status, Header: map[string]string{"Content-Type": "json"}},
			Engine: "raw", Connections: 8, Pipeline: 2, Timeout: 250 * time.Millisecond,
			Schedule: workload.Schedule{Kind: workload.Constant, Seed: 7}, MaxRate: 30000, Deliveries: "http://${sink.debug}/receipts",
		},
		SLO: record.SLO{On: record.OnDelivery, Latency: map[string]float64{"p99": 100, "max": 1500}, Errors: 0.001, Gauges: map[string]float64{"depth": 0.5}},
		Variants: []Variant{
			{Name: "plain", Change: "as on the first day", Build: "./plain", Args: []string{"--plain"}},
			{Name: "tuned", Why: "because", Args: []string{"--assembly", "tuned"}, Env: map[string]string{"GOGC": "off", "B": "1"}, Undo: []string{"--slow"}},
		},
		Measure: Measure{MaxRate: 20000, Length: 10 * time.Second, Warmup: 2 * time.Second, Hold: time.Minute, Rounds: 6},
		Path:    "everything.yaml", Text: string(text),
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got\n%+v\nwant\n%+v", s, want)
	}
}

// TestDefaults checks that fields that a file leaves out stay zero, and that its mode follows from
// the others.
func TestDefaults(t *testing.T) {
	const head = "name: x\ntarget: {build: ./x}\n"
	for _, c := range []struct{ text, mode string }{
		{head + "load: {url: http://x/, schedule: {rate: 5}}", record.KindLoad},
		{head + "load: {url: http://x/, schedule: {kind: closed}, think: 5ms}", record.KindLoad},
		{head + "load: {url: http://x/}\nslo: p99=1s", record.KindCapacity},
		{head + "load: {url: http://x/}\nslo: p99=1s\nvariants: [{name: a}, {name: b}]", record.KindLadder},
		{head + "load: {url: http://x/}\nslo: p99=1s\nmode: compare\nvariants: [{name: a}, {name: b}]", record.KindCompare},
		{head + "load: {kind: jobs, args: ['${rate}']}\nmeasure: {rates: [1]}\nsweep: {axes: [{name: a, values: [1]}], args: ['${a}']}", record.KindSweep},
		{"name: x\nload: {url: http://x/}\nslo: p99=1s\nmode: compare\nvariants: [{name: a, url: 'http://x:1'}, {name: b, url: 'http://x:2'}]", record.KindCompare},
	} {
		s, err := Parse("x.yaml", []byte(c.text))
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		if s.Mode != c.mode {
			t.Errorf("mode %s, want %s, of\n%s", s.Mode, c.mode, c.text)
		}
		if s.Measure.Length != 0 || s.Load.Connections != 0 || !s.Target.Ready.AwaitLine() {
			t.Errorf("defaults were filled in: %+v", s)
		}
	}
}

func TestAliasesAndMergeKeys(t *testing.T) {
	const text = `
name: x
target: &t
  build: ./x
  env: &env {A: "1", B: "2"}
companions:
  - {<<: *t, name: one, env: {<<: *env, B: "3"}}
  - {<<: [{args: [a]}, *t], name: two}
load: {url: http://x/}
slo: p99=1s
`
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	one, two := s.Dependencies[0], s.Dependencies[1]
	if one.Build != "./x" || one.Env["A"] != "1" || one.Env["B"] != "3" {
		t.Errorf("the first companion is %+v", one)
	}
	if two.Build != "./x" || len(two.Args) != 1 || two.Env["B"] != "2" {
		t.Errorf("the second companion is %+v", two)
	}
}

func TestStarter(t *testing.T) {
	s, err := Parse("starter.yaml", Starter())
	if err != nil {
		t.Fatal(err)
	}
	if s.Mode != record.KindCapacity {
		t.Errorf("mode %s", s.Mode)
	}
	Starter()[0] = 'X'
	if bytes.HasPrefix(Starter(), []byte("X")) {
		t.Error("callers share the starter's bytes")
	}
	// The examples must parse as well: a user takes the # away.
	text := regexp.MustCompile(`(?m)^#(\S|  )`).ReplaceAllString(string(Starter()), "$1")
	text = strings.Replace(text, "mode: capacity", "mode: ladder", 1)
	if s, err = Parse("starter.yaml", []byte(text)); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(s.Dependencies) == 0 || len(s.Setup) == 0 || len(s.Variants) < 2 || s.Measure.Budget == 0 || s.Target.Debug == "" {
		t.Errorf("something is still commented out: %+v", s)
	}
}

// TestScenarios reads every scenario of the repository and checks its name and its schema's path.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.yaml")
	beside, err2 := filepath.Glob("../../scenarios/peers/*.yaml")
	if err != nil || err2 != nil || len(files) == 0 || len(beside) == 0 {
		t.Fatalf("no scenarios: %v, %v", err, err2)
	}
	for _, file := range append(files, beside...) {
		s, err := Open(file)
		if err != nil {
			t.Error(err)
			continue
		}
		up, prefix := "../", ""
		if filepath.Base(filepath.Dir(file)) == "peers" {
			up, prefix = "../../", "peers-"
		}
		if !strings.HasPrefix(s.Text, "# yaml-language-server: $schema="+up+"lab/scenario/schema.json\n") {
			t.Errorf("%s does not name its schema for editors", file)
		}
		if s.Name != prefix+strings.TrimSuffix(filepath.Base(file), ".yaml") {
			t.Errorf("%s is called %s inside", file, s.Name)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), up, "lab/scenario/schema.json")); err != nil {
			t.Error(err)
		}
	}
}

func TestRoot(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "module", "scenarios")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	text := []byte("name: x\ntarget: {build: ./x}\nload: {url: http://x/}\nslo: p99=1s\n")
	for _, name := range []string{filepath.Join(dir, "module", "go.mod"), filepath.Join(deep, "x.yaml"), filepath.Join(dir, "x.yaml")} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(filepath.Join(deep, "x.yaml"))
	if err != nil || s.Root != filepath.Join(dir, "module") {
		t.Errorf("root %v, %v; want the folder of go.mod", s, err)
	}
	if got := s.Resolve("data/x.csv"); got != filepath.Join(dir, "module", "data", "x.csv") {
		t.Errorf("a relative path resolves to %s", got)
	}
	if got := s.Resolve("/etc/x.csv"); got != "/etc/x.csv" {
		t.Errorf("an absolute path resolves to %s", got)
	}
	if s, err = Open(filepath.Join(dir, "x.yaml")); err != nil || s.Root != dir {
		t.Errorf("root %v, %v; want the file's own folder", s, err)
	}
	if _, err := Open(filepath.Join(dir, "none.yaml")); err == nil {
		t.Error("a file that is not there was read")
	}
}
