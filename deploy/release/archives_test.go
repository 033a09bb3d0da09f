package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type build struct {
	ID, Main, Binary    string
	Env, Flags, LDFlags []string
	ModTimestamp        string `yaml:"mod_timestamp"`
	Goos, Goarch        []string
}

func builds(t *testing.T) []build {
	t.Helper()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Builds []build }
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Builds
}

// The archives have every program, for each system, with flags that leave nothing of the machine.
func TestArchivesHaveEveryProgram(t *testing.T) {
	var have []string
	for _, b := range builds(t) {
		have = append(have, strings.TrimPrefix(b.Main, "./"))
		if b.Binary != "bin/"+path.Base(b.Main) || b.ModTimestamp == "" || !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) {
			t.Errorf("%s: %+v", b.ID, b)
		}
		if !slices.Equal(b.Goos, []string{"linux", "darwin"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
			t.Errorf("%s is built for %v on %v", b.ID, b.Goos, b.Goarch)
		}
	}
	if !slices.Equal(have, programs) {
		t.Errorf("the archives have %v, want %v", have, programs)
	}
	for _, pattern := range []string{"../../cmd/*/main.go", "../../services/cmd/*/main.go", "../../services/*/cmd/*/main.go"} {
		folders, err := filepath.Glob(pattern)
		if err != nil || len(folders) == 0 {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, f := range folders {
			if folder := filepath.ToSlash(filepath.Dir(f))[len("../../"):]; !slices.Contains(programs, folder) {
				t.Errorf("%s is a program, and not released", folder)
			}
		}
	}
}

// With the flags of the archives, a program has the same bytes from any folder.
func TestArchivesAreReproducible(t *testing.T) {
	b := builds(t)[0]
	var made [][]byte
	for range 2 {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module example.com/small\n", "main.go": "package main\n\nfunc main() { panic(1) }\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{"build", "-o", "small", "-ldflags", strings.Join(b.LDFlags, " ")}, b.Flags...)
		cmd := exec.Command("go", append(args, "-buildvcs=false")...) // the folder is no repository
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=off"), b.Env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		program, err := os.ReadFile(filepath.Join(dir, "small"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(program, []byte(dir)) {
			t.Errorf("the program names %s", dir)
		}
		made = append(made, program)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two folders give two programs")
	}
}
