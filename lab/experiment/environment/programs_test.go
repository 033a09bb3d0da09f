package environment

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dyno/lab/scenario"
)

// Two programs of the same name are built separately: otherwise an A/B of ./old/server and
// ./new/server would be an A/A.
func TestProgramsOfTheSameName(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n")
	for _, version := range []string{"old", "new"} {
		write(version+"/server/main.go", "package main\n\nfunc main() { println(\""+version+"\") }\n")
	}
	variants := []scenario.Variant{{Name: "A", Build: "./old/server"}, {Name: "B", Build: "./new/server"}}
	b := &Programs{Scenario: &scenario.Scenario{Root: root, Variants: variants}, Variants: variants, Say: func(string) {}}
	if err := b.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for pkg, says := range map[string]string{"./old/server": "old\n", "./new/server": "new\n"} {
		out, err := exec.Command(b.Command(pkg, nil, nil)[0]).CombinedOutput()
		if err != nil || string(out) != says {
			t.Errorf("the program of %s says %q, %v; want %q", pkg, out, err, says)
		}
	}
}
