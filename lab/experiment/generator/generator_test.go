package generator

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// A driver receives a load with the content of its files. The placeholders that the driver fills
// in itself, and each $$, stay as they are written; the scenario's load does not change.
func TestResolve(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "body.json"), []byte("${target.url} $${token} ${id}"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := &environment.Programs{Scenario: &scenario.Scenario{Root: root}}
	b, s := New(programs), programs.Running("h")
	flow := func(body workload.Body) scenario.Load {
		return scenario.Load{Feeder: &workload.Feeder{File: "f"}, Steps: []workload.Step{
			{Request: workload.Request{Name: "login"}, Save: map[string]workload.Save{"token": {JSON: "t"}}},
			{Request: workload.Request{Name: "buy", Path: "/${token}", Body: body}},
		}}
	}
	l := flow(workload.Body{File: "body.json"})
	got, err := b.resolve(s, l)
	want := flow(workload.Body{Text: "h $${token} ${id}"})
	if want.Feeder = nil; err != nil || !reflect.DeepEqual(got, want) || l.Steps[1].Body.File == "" {
		t.Errorf("%+v, %v", got, err)
	}
	for body, says := range map[workload.Body]string{
		{Text: "${other}"}: "step buy: body: unknown placeholder ${other} (known here: target.url)",
		{Text: "${n}"}:     "step buy: body: unknown placeholder ${n}",
		{File: "none"}:     "step buy: body_file none: ",
	} {
		if _, err := b.resolve(s, flow(body)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	calls := scenario.Load{GRPC: &workload.Call{Call: "a.B/C", Proto: []string{"p"}, ProtoPath: []string{"q"}, Descriptors: "d"}, Schedule: workload.Schedule{Kind: workload.File, File: "f"}}
	if got, err := b.resolve(s, calls); err != nil || !reflect.DeepEqual(got.GRPC, &workload.Call{Call: "a.B/C"}) || !reflect.DeepEqual(got.Schedule, workload.Schedule{Kind: workload.File}) || calls.GRPC.Descriptors != "d" {
		t.Errorf("%+v, %v", got, err)
	}
	copies := scenario.Load{Requests: []workload.Request{{Body: workload.Body{Text: "${n} ${target.url}", Copies: 2}}}}
	if got, err := b.resolve(s, copies); err != nil || got.Requests[0].Body.Text != "${n} h" {
		t.Errorf("%+v, %v", got, err)
	}
}
