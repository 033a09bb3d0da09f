package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module of the given files.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test/m\n\ngo 1.21\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuildAndStart(t *testing.T) {
	dir := module(t, map[string]string{"cmd/hello/main.go": "package main\n\nfunc main() { println(\"hello from it\") }\n"})
	out := filepath.Join(t.TempDir(), "bin")
	binary, err := Build(t.Context(), dir, "./cmd/hello", out)
	if err != nil {
		t.Fatal(err)
	}
	if binary != filepath.Join(out, "hello") {
		t.Errorf("the binary is %s", binary)
	}
	p := start(t, Spec{Command: []string{binary}})
	ended(t, p)
	if p.LogTail(1) != "hello from it" {
		t.Errorf("it said %q", p.LogTail(1))
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("Build left %v", left)
	}
}

func TestBuildFails(t *testing.T) {
	dir := module(t, map[string]string{
		"bad/main.go": "package main\n\nfunc main() { undefinedOne(); undefinedTwo() }\n",
		"lib/lib.go":  "package lib\n",
	})
	tests := []struct {
		pkg  string
		want []string
	}{
		{"./bad", []string{"undefinedOne", "undefinedTwo", "main.go:3"}},
		{"./lib", []string{"one main package"}},
		{"./absent", []string{"./absent", "exit code 1"}},
		{"./...", []string{"not one package"}},
		{"-toolexec=x", []string{"not one package"}},
		{"", []string{"not one package"}},
	}
	for _, tt := range tests {
		t.Run(tt.pkg, func(t *testing.T) {
			out := t.TempDir()
			_, err := Build(t.Context(), dir, tt.pkg, out)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if left, _ := os.ReadDir(out); len(left) != 0 {
				t.Errorf("Build left %v", left)
			}
		})
	}
}

func TestBuildStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, t.TempDir(), ".", t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
}

func TestProgramName(t *testing.T) {
	for _, tt := range []struct{ dir, pkg, want string }{
		{"/src/app", ".", "app"},
		{"/src/app/cmd", "..", "app"},
		{"/src/app", "./services/cmd/ordersd", "ordersd"},
		{"/src/app", "../other", "other"},
		{"/src/app", "example.test/m/cmd/x", "x"},
		{"/src/app", "/abs/y", "y"},
	} {
		if got, err := programName(tt.dir, tt.pkg); got != tt.want || err != nil {
			t.Errorf("programName(%q, %q) = %q, %v, want %q", tt.dir, tt.pkg, got, err, tt.want)
		}
	}
	if _, err := programName("/", "."); err == nil {
		t.Error("the root was taken for a program")
	}
}
