package importer

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// TestScript: a script's scenario starts its tool, with the target that the user named.
func TestScript(t *testing.T) {
	for _, test := range []struct {
		script    Script
		url, note string
		args      []string
	}{
		{Script{Tool: "k6", Path: "load/buy.js"}, "http://127.0.0.1:8080", "assumed: write the URL to which buy.js sends", []string{"load/buy.js"}},
		{Script{Tool: "k6", Path: "buy.js", Target: "https://127.0.0.1:1/shop/"}, "https://127.0.0.1:1", "__ENV.BASE_URL", []string{"--url", "${target.url}/shop", "buy.js"}},
		{Script{Tool: "locust", Path: "-u$$s.py"}, "http://127.0.0.1:8080", "--host", []string{"--url", "${target.url}", "./-u$$$$s.py"}},
	} {
		text, err := test.script.Scenario()
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse("x", text)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"--from", test.script.Tool, "--sessions", "${sessions}", "--warmup", "${warmup}", "--duration", "${duration}"}, test.args...)
		if d := s.Load.Driver; s.Mode != record.KindCapacity || s.Target.URL != test.url || d == nil || !slices.Equal(d.Command, []string{"dyno", "windows"}) || !slices.Equal(d.Args, args) {
			t.Errorf("%+v: %s", test.script, text)
		}
		if !strings.Contains(string(text), test.note) {
			t.Errorf("%s: no note %q", text, test.note)
		}
	}
	for _, target := range []string{"127.0.0.1:8080", "ftp://a", "http://a/?q=1", "http://u:p@a"} {
		if _, err := (Script{Tool: "k6", Path: "a.js", Target: target}).Scenario(); err == nil {
			t.Errorf("the target %s was accepted", target)
		}
	}
	for file, want := range map[string]string{"a.js": "k6", "a.py": "locust", "a.txt": "locust"} {
		if form, err := FormOf("", file, []byte("from locust import HttpUser")); err != nil || form.Name != want || !form.IsScript() {
			t.Errorf("%s: %v, %v", file, form, err)
		}
	}
}

// FuzzScript: whatever a script is called, the parser accepts the scenario, and the tool receives
// that name.
func FuzzScript(f *testing.F) {
	f.Add("a b.js", "http://127.0.0.1:8080")
	f.Add("\x80", "")
	f.Add("#: [\"\n- ${x}$$.py", "http://[::1]:80/ä/%20${y}")
	f.Fuzz(func(t *testing.T, path, target string) {
		for _, tool := range []string{"k6", "locust"} {
			text, err := Script{Tool: tool, Path: path, Target: target}.Scenario()
			if err != nil {
				continue
			}
			s, err := scenario.Parse("x", text)
			if err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			got := strings.TrimPrefix(s.Load.Driver.Args[len(s.Load.Driver.Args)-1], "./")
			if plain := strings.TrimPrefix(filepath.ToSlash(path), "./"); !strings.Contains(path, "$") && got != plain {
				t.Errorf("the script %q became %q", plain, got)
			}
		}
	})
}
