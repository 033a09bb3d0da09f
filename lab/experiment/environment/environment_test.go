package environment

import (
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/scenario"
)

// A program's ready.url may contain fields of its own ready line, which is not known yet when the
// program starts.
func TestReadyURLKnowsItsOwnLine(t *testing.T) {
	s := &Testbed{programs: &Programs{}, fields: map[string]string{}, scratch: t.TempDir()}
	spec, err := s.process("target", scenario.Process{Command: []string{"x"},
		Ready: scenario.Ready{Line: true, URL: "http://${target.listen}/healthz"}})
	if err != nil {
		t.Fatal(err)
	}
	url, err := spec.ReadyURL(map[string]string{"listen": "127.0.0.1:1"})
	if err != nil || url != "http://127.0.0.1:1/healthz" {
		t.Errorf("asks %q, %v", url, err)
	}
	if _, err := (&Testbed{programs: &Programs{}, fields: map[string]string{}}).Expand("x", "${target.listen}"); err == nil {
		t.Error("a field without an owner was expanded")
	}
}

// Each process has an empty folder of its own, which is removed afterwards with its content.
func TestScratch(t *testing.T) {
	s := &Testbed{programs: &Programs{}, fields: map[string]string{}, scratch: filepath.Join(t.TempDir(), "scratch")}
	folders := map[string]bool{}
	for _, name := range []string{"sink", "target"} {
		spec, err := s.process(name, scenario.Process{Command: []string{"x"}, Args: []string{"--data", "${scratch}"}, Env: map[string]string{"DATA": "${scratch}"}})
		if err != nil {
			t.Fatal(err)
		}
		dir := spec.Command[2]
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Fatalf("%s: %v, %v", dir, entries, err)
		}
		if !filepath.IsAbs(dir) || spec.Env[0] != "DATA="+dir {
			t.Errorf("folder %q, environment %q", dir, spec.Env)
		}
		if err := os.WriteFile(filepath.Join(dir, "log"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		folders[dir] = true
	}
	if len(folders) != 2 {
		t.Errorf("folders %v, want one each", folders)
	}
	s.Down()
	if _, err := os.Stat(s.scratch); !os.IsNotExist(err) {
		t.Errorf("the folders are still there: %v", err)
	}
}

// TestTemplate checks that the load's own placeholders and every $$ stay, since the load expands
// the text again.
func TestTemplate(t *testing.T) {
	s := new(Programs).Running("http://h")
	for text, want := range map[string]string{
		"${target.url}/${row.v1}?a=$${x}&b=$$$$&c=$5&n=${n}": "http://h/${row.v1}?a=$${x}&b=$$$$&c=$5&n=${n}",
		"$${id} ${id}":        "$${id} ${id}",
		"${token} $$${token}": "${token} $$${token}",
	} {
		if got, err := s.Template("body", text, []string{"n", "token"}); err != nil || got != want {
			t.Errorf("%q became %q, %v; want %q", text, got, err, want)
		}
	}
	for _, wrong := range []string{"${what}", "${", "${n}", "${token}"} {
		if _, err := s.Template("body", wrong, nil); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}
